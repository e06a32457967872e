"""Answers that try to be accepted without a proof.

Each is written in the shape of a public attack on the SAIR judge or of a weakness found in it. What the scan for banned
words does not stop, the exact checker must refuse or leave to Lean: none may be accepted.
"""

from typing import NamedTuple

import pytest

from ekiden_judge import ErrorCode, Problem, judge_answer
from ekiden_judge.exact import ExactChecker
from ekiden_judge.verdict import Claim
from ekiden_magma import Variable
from ekiden_magma.certificate import EquationalProof, Step, to_json

TRUE = Problem(id="t", eq1_id=38, eq2_id=42, equation1="x ◇ x = x ◇ y", equation2="x ◇ y = x ◇ z")
FALSE = Problem(id="f", eq1_id=4, eq2_id=65, equation1="x = x ◇ y", equation2="x = y ◇ (x ◇ (y ◇ x))")

PROOF = """\
import JudgeProblem

def submission : Goal := by
  intro G _ h
  intro x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
"""
TABLE = """\
import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
"""
REPORT = 'JUDGE_REPORT {"nonce": "0", "target": "submission", "axioms": [], "direct_declarations": []}'


X, Y, Z = (Variable(name) for name in "xyz")


def judged(problem: Problem, verdict: Claim, code: str) -> ErrorCode:
    return judge_answer(problem, verdict, code, checker=ExactChecker()).error_code


def proof(*tactics: str) -> str:
    """A true answer with other tactics after the introduction."""
    return "import JudgeProblem\n\ndef submission : Goal := by\n  intro G _ h\n" + "".join(f"  {t}\n" for t in tactics)


def swapped(text: str, old: str, new: str) -> str:
    """A good answer with one place changed."""
    assert old in text
    return text.replace(old, new, 1)


def test_the_answers_that_the_attacks_start_from_are_good():
    assert (judged(TRUE, "true", PROOF), judged(FALSE, "false", TABLE)) == ("ACCEPTED", "ACCEPTED")


CERTIFICATE = EquationalProof(TRUE.law1, TRUE.law2, (Step(0, (X, Y), reverse=True), Step(0, (X, Z))))


class Attack(NamedTuple):
    code: str
    expected: ErrorCode
    problem: Problem = TRUE
    verdict: Claim = "true"


def on_table(code: str, expected: ErrorCode) -> Attack:
    return Attack(code, expected, FALSE, "false")


ATTACKS: dict[str, Attack] = {
    # Placeholders and code that runs while Lean compiles: stopped by the scan of the text.
    "sorry": Attack(proof("sorry"), "BANNED_PLACEHOLDER"),
    "sorry, dotted": Attack(proof("exact Lean.Parser.Tactic.sorry"), "BANNED_PLACEHOLDER"),
    "sorryAx": Attack(proof("exact sorryAx _ false"), "BANNED_PLACEHOLDER"),
    "sorryAx under a local name": Attack(proof("let s := @sorryAx", "exact s _ false"), "BANNED_PLACEHOLDER"),
    "admit": Attack(proof("admit"), "BANNED_PLACEHOLDER"),
    "forged report by dbg_trace": Attack(proof(f"exact dbg_trace {REPORT!r}; sorryAx _"), "BANNED_PLACEHOLDER"),
    "forged report by trace": Attack(proof(f"trace {REPORT!r}", "exact sorryAx _"), "BANNED_PLACEHOLDER"),
    "forged report by run_tac": Attack(
        proof('run_tac IO.FS.writeFile "/dev/stderr" "JUDGE_REPORT"'), "BANNED_PLACEHOLDER"
    ),
    "forged report by initialize": Attack(f"initialize IO.println {REPORT!r}\n{PROOF}", "BANNED_PLACEHOLDER"),
    "forged report by #eval": Attack(f"{PROOF}#eval IO.println {REPORT!r}\n", "BANNED_PLACEHOLDER"),
    "macro in the block": Attack(
        proof('macro "win" : tactic => `(tactic| exact h)', "win"), "BANNED_PLACEHOLDER"
    ),
    "elab_rules in the block": Attack(proof("elab_rules : tactic | `(tactic| x) => pure ()"), "BANNED_PLACEHOLDER"),
    "new syntax": Attack('syntax "win" : tactic\n' + PROOF, "BANNED_PLACEHOLDER"),
    "unsafeCast": Attack(proof("exact unsafeCast ()"), "BANNED_PLACEHOLDER"),
    "implemented_by": Attack(f"@[implemented_by x] def f := 1\n{PROOF}", "BANNED_PLACEHOLDER"),
    "wrong table with sorryAx": on_table(
        swapped(TABLE, "decideFin!", "exact sorryAx _"), "BANNED_PLACEHOLDER"
    ),
    # Commands around a good answer that change what it means, or run code.
    "kernel check switched off": Attack(f"set_option debug.skipKernelTC true\n{PROOF}", "NEEDS_LEAN"),
    "warnings switched off": Attack(f"set_option warningAsError false in\n{PROOF}", "NEEDS_LEAN"),
    "option inside the block": Attack(swapped(PROOF, "intro G", "set_option hygiene false in intro G"), "NEEDS_LEAN"),
    "Goal redefined by a notation": Attack(
        swapped(PROOF, "def", 'local notation "Goal" => True\ndef'), "NEEDS_LEAN"
    ),
    "operator redefined by a notation": on_table(
        swapped(TABLE, "def", 'local infix:65 " ◇ " => fun a _ => a\ndef'), "NEEDS_LEAN"
    ),
    "finOpTable redefined": on_table(
        swapped(TABLE, "def", "def finOpTable (_ : String) (a _ : Fin 2) := a\ndef"), "NEEDS_LEAN"
    ),
    "decideFin! redefined": on_table(
        swapped(TABLE, "def", "@[tactic decideFin] def win : Lean.Elab.Tactic.Tactic := fun _ => pure ()\ndef"),
        "NEEDS_LEAN",
    ),
    "instance declared before": on_table(
        swapped(TABLE, "def", "instance : Magma (Fin 2) := ⟨fun a _ => a⟩\ndef"), "NEEDS_LEAN"
    ),
    "another namespace": Attack(swapped(PROOF, "def", "namespace Mine\ndef") + "end Mine\n", "NEEDS_LEAN"),
    "report command replaced": Attack(
        f"@[command_elab judgeReport] def win := fun _ => pure ()\n{PROOF}", "NEEDS_LEAN"
    ),
    "run_cmd": Attack(f"{PROOF}run_cmd IO.println {REPORT!r}\n", "NEEDS_LEAN"),
    "init attribute": Attack(f"@[init] def go : IO Unit := IO.println {REPORT!r}\n{PROOF}", "NEEDS_LEAN"),
    "foreign import": Attack(f"import Lean\n{PROOF}", "NEEDS_LEAN"),
    "import of the report module": Attack(f"import JudgeSupport.Inspect\n{PROOF}", "NEEDS_LEAN"),
    "open of a namespace with other names": Attack(swapped(PROOF, "def", "open Lean.Grind\ndef"), "NEEDS_LEAN"),
    "include before": Attack(swapped(PROOF, "def", "variable (x : False)\ninclude x\ndef"), "NEEDS_LEAN"),
    # Axioms.
    "own axiom": Attack("import JudgeProblem\naxiom win : Goal\ndef submission : Goal := win\n", "NEEDS_LEAN"),
    "submission is an axiom": Attack("import JudgeProblem\naxiom submission : Goal\n", "NEEDS_LEAN"),
    "axiom after a good proof": Attack(f"{PROOF}axiom win : False\n", "NEEDS_LEAN"),
    "axiom in a section of the block": Attack(
        swapped(PROOF, "  intro x", "  section\n  axiom f : False\n  end\n  intro x"), "NEEDS_LEAN"
    ),
    "Classical.choice": Attack(proof("exact Classical.choice ⟨fun x y z => h x y⟩"), "NEEDS_LEAN"),
    # Terms that look like proofs.
    "lcProof": Attack(proof("exact lcProof"), "NEEDS_LEAN"),
    "mkSorryProof": Attack(proof("exact Lean.Meta.mkSorryProof"), "NEEDS_LEAN"),
    "admitGoal": Attack(proof("exact Lean.Elab.admitGoal"), "NEEDS_LEAN"),
    "native_decide": Attack(proof("native_decide"), "NEEDS_LEAN"),
    "stop": Attack(proof("stop"), "NEEDS_LEAN"),
    "panic": Attack(proof('exact panic! "x"'), "NEEDS_LEAN"),
    "ofReduceBool": Attack(proof("exact Lean.ofReduceBool _ _ rfl"), "NEEDS_LEAN"),
    "diverging let rec": Attack(proof("let rec f : False := f", "exact f.elim"), "NEEDS_LEAN"),
    "suffices False": Attack(proof("suffices f : False from f.elim", "exact this"), "NEEDS_LEAN"),
    "shadowed instance": Attack(proof("haveI : Magma G := ⟨fun a _ => a⟩", "intro x y z", "rfl"), "NEEDS_LEAN"),
    "change to another instance": Attack(proof("change ∀ x y z : G, x = x", "intro x y z", "rfl"), "NEEDS_LEAN"),
    "failing proof in show_term": Attack(proof("intro x y z", "show_term rfl"), "NEEDS_LEAN"),
    "empty block": Attack(proof(), "NEEDS_LEAN"),
    # A good proof, then something hidden.
    "second submission": Attack(f"{PROOF}\ndef submission : Goal := by\n  intro G _ h\n  rfl\n", "NEEDS_LEAN"),
    "first submission wrong": Attack(
        proof("intro x y z", "rfl") + PROOF.removeprefix("import JudgeProblem"), "NEEDS_LEAN"
    ),
    "carriage return, then an axiom": Attack(f"{PROOF}\raxiom win : False", "NEEDS_LEAN"),
    "carriage return inside": Attack(swapped(PROOF, "\n  intro x", "\r  intro x"), "NEEDS_LEAN"),
    "line separator, then a second submission": Attack(f"{PROOF}\u2028def submission : Goal := win", "NEEDS_LEAN"),
    "line separator inside": Attack(swapped(PROOF, "\n  intro x", "\u2028  intro x"), "NEEDS_LEAN"),
    "next line character inside": Attack(swapped(PROOF, "\n  intro x", "\u0085  intro x"), "NEEDS_LEAN"),
    "form feed for a blank": Attack(swapped(PROOF, "intro x", "intro\fx"), "NEEDS_LEAN"),
    "no-break space for a blank": Attack(swapped(PROOF, "intro x", "intro\u00a0x"), "NEEDS_LEAN"),
    "tab for a blank": Attack(swapped(PROOF, "intro x", "intro\tx"), "NEEDS_LEAN"),
    "NUL at the end": Attack(f"{PROOF}\0", "NEEDS_LEAN"),
    "byte order mark": Attack(f"\ufeff{PROOF}", "NEEDS_LEAN"),
    "zero width space": Attack(swapped(PROOF, "submission", "sub\u200bmission"), "NEEDS_LEAN"),
    "unclosed comment at the end": Attack(f"{PROOF}/- ", "NEEDS_LEAN"),
    "unclosed nested comment": Attack(f"{PROOF}/- /- -/", "NEEDS_LEAN"),
    "proof inside a comment": Attack(f"/-\n{PROOF}-/\nimport JudgeProblem\n", "NEEDS_LEAN"),
    "proof behind a line comment": Attack(swapped(PROOF, "  exact", "  -- exact"), "NEEDS_LEAN"),
    "comment that ends early": Attack(swapped(PROOF, "  intro x", "  /- -/ stop -/\n  intro x"), "NEEDS_LEAN"),
    "string opened in a comment": Attack(
        swapped(PROOF, "  intro x", '  /- " -/ stop /- " -/\n  intro x'), "NEEDS_LEAN"
    ),
    "junk on the last line": Attack(f"{PROOF}end", "NEEDS_LEAN"),
    # Letters that look like others.
    "Cyrillic sorry": Attack(proof("s\u043erry"), "NEEDS_LEAN"),
    "sorry reversed by an override": Attack(proof("\u202eyrros\u202c"), "NEEDS_LEAN"),
    "Cyrillic variable": Attack(swapped(PROOF, "(h x z)", "(h \u0445 z)"), "NEEDS_LEAN"),
    "full-width digits in a table": on_table(swapped(TABLE, "[[0,0]", "[[\uff10,\uff10]"), "NEEDS_LEAN"),
    "Arabic digits for the order": on_table(swapped(TABLE, "refine ⟨Fin 2", "refine ⟨Fin \u0662"), "NEEDS_LEAN"),
    # Statements that are not the goal.
    "theorem of another name": Attack(swapped(PROOF, "submission", "submission'"), "NEEDS_LEAN"),
    "other type": Attack(swapped(PROOF, "Goal", "True"), "NEEDS_LEAN"),
    "parameter": Attack(swapped(PROOF, "submission", "submission (f : False)"), "NEEDS_LEAN"),
    "universe": Attack(swapped(PROOF, "submission", "submission.{u}"), "NEEDS_LEAN"),
    "partial": Attack(swapped(PROOF, "def", "partial def"), "NEEDS_LEAN"),
    "opaque": Attack(swapped(PROOF, "def", "opaque"), "NEEDS_LEAN"),
    "private": Attack(swapped(PROOF, "def", "private def"), "NEEDS_LEAN"),
    # Proofs in the standard shape that are wrong: decided, without Lean.
    "instance of the wrong terms": Attack(swapped(PROOF, "(h x z)", "(h z x)"), "LEAN_REJECTED"),
    "wrong direction": Attack(swapped(PROOF, "Eq.symm (h x y)", "h x y"), "LEAN_REJECTED"),
    "steps that end elsewhere": Attack(swapped(PROOF, "(h x z)", "(h x y)"), "LEAN_REJECTED"),
    "hypothesis as the goal": Attack(proof("exact h"), "NEEDS_LEAN"),
    "variables in another order": Attack(swapped(PROOF, "intro x y z", "intro x z y"), "LEAN_REJECTED"),
    "rfl": Attack(proof("intro x y z", "exact rfl"), "LEAN_REJECTED"),
    # Tables in the standard shape that are wrong.
    "one element": on_table(TABLE.replace("Fin 2", "Fin 1").replace("[[0,0],[1,1]]", "[[0]]"), "LEAN_REJECTED"),
    "table that breaks law 1": on_table(swapped(TABLE, "[[0,0],[1,1]]", "[[0,1],[1,0]]"), "LEAN_REJECTED"),
    "table that satisfies both laws": on_table(TABLE, "LEAN_REJECTED")._replace(
        problem=FALSE.model_copy(update={"equation2": "x = x ◇ (y ◇ x)"})
    ),
    "table too short for its order": on_table(TABLE.replace("Fin 2", "Fin 3"), "NEEDS_LEAN"),
    "two orders": on_table(swapped(TABLE, "refine ⟨Fin 2", "refine ⟨Fin 3"), "NEEDS_LEAN"),
    "refutation for the verdict true": Attack(TABLE, "LEAN_REJECTED", FALSE, "true"),
    "proof for the verdict false": Attack(PROOF, "LEAN_REJECTED", TRUE, "false"),
    "certificate in JSON with a wrong step": Attack(
        swapped(to_json(CERTIFICATE), '"reverse":true', '"reverse":false'), "LEAN_REJECTED"
    ),
    "JSON that is no certificate": Attack('{"table":[[0,0],[1,1]]}', "LEAN_REJECTED"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_never_accepted(name: str):
    attack = ATTACKS[name]
    assert judged(attack.problem, attack.verdict, attack.code) == attack.expected
