"""Words that run code while Lean reads a declaration or leave a hole, and the same words where they do not."""

from __future__ import annotations

import pytest

from ekiden_blueprint import Project, lex, masked, parse
from ekiden_blueprint.programs import programs
from ekiden_blueprint.rules import check
from servers.blueprint.lean_texts import HEAD


def running(text: str) -> list[str]:
    code = masked(text, lex(text), strings=True)
    return [code[slice(*span)] for span in programs(code)]


def rules_of(declaration: str) -> set[str]:
    found = check(Project([parse(HEAD + declaration, "Main.lean")]))
    return {finding.rule for finding in found if finding.rule in ("BP215", "BP216") or finding.rule.startswith("BP9")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lemma a : p := unsafe f x", ["unsafe"]),
        ("lemma a : p := (unsafe f x)", ["unsafe"]),
        ("@[simp] unsafe def a := 1", ["unsafe"]),
        ("lemma a : p := add x, unsafe y", ["unsafe"]),
        ("lemma a : p := foo (add x, unsafe y)", ["unsafe"]),
        ("lemma a : p := g (aesop) (add x, unsafe y)", ["unsafe"]),
        ("lemma a : p := by aesop (add safe (by exact unsafe f))", ["unsafe"]),
        ("lemma a : p := by aesop (add safe f) (config := unsafe c)", ["unsafe"]),
        ("lemma a : p := by aesop (add safe (pattern := [unsafe f]) g)", ["unsafe"]),
        ("lemma a : p := by aesop\n  exact unsafe f", ["unsafe"]),
        ("@[foo (aesop unsafe)] lemma a : p := q", ["unsafe"]),
        ("@[simps (config := unsafe c)] lemma a : p := q", ["unsafe"]),
        ("lemma a : p := by run_tac foo", ["run_tac"]),
        ("lemma a : p := by_elab foo", ["by_elab"]),
        ("lemma a : p := f (eval% foo)", ["eval%"]),
        ('def a := include_str "../secret"', ["include_str"]),
        ('def a := include_str"x"', ["include_str"]),
        ('lemma a : p := by\n  dbg_trace "x"\n  simp', ["dbg_trace"]),
        ('def a := f (dbg_trace "x"; 1)', ["dbg_trace"]),
        ("lemma a : p := by aesop (add safe tactic evil)", ["tactic"]),
        ("lemma a : p := by aesop? (rule_sets := [A]) (add norm f, 50% tactic evil)", ["tactic"]),
        ("@[aesop safe tactic] def a := 1", ["tactic"]),
        ("@[simp, local aesop unsafe 50% tactic] def a := 1", ["tactic"]),
        ("lemma a : p := by linarith (config := { oracle := evil })", ["oracle"]),
        ("lemma a : p := by linarith (config := { «oracle» := evil })", ["«oracle»"]),
        ("lemma a : p := by nlinarith! (preprocessors := [evil]) [h]", ["preprocessors"]),
        ("lemma a : p := by linarith +splitNe (discharger := evil)", ["discharger"]),
        ("lemma a : p := by linarith (config := ⟨evil, true⟩)", ["config"]),
        ("lemma a : p := by linarith (config := evil)", ["config"]),
        ("lemma a : p := by solve_by_elim* (config := { discharge := evil })", ["discharge"]),
        ("def a : Linarith.LinarithConfig := {}", ["LinarithConfig"]),
    ],
)
def test_a_word_that_runs_code_is_found(text: str, words: list[str]) -> None:
    assert running(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "lemma a : p := by aesop (add unsafe f)",
        "lemma a : p := by aesop (add norm f, unsafe 50% [g, (by simp)], unsafe h)",
        "lemma a : p := by aesop? (config := { warnOnNonterminal := false }) (add unsafe apply h)",
        "lemma a : p := by aesop (rule_sets := [A, B]) (add safe [x], unsafe [constructors 50%, cases 50%])",
        "lemma a : p := by aesop (erase unsafe foo)",
        "lemma a : p := by aesop_cat (add unsafe f)",
        "lemma a : p := by continuity (add unsafe f)",
        "@[aesop unsafe 50% apply] lemma a : p := q",
        "@[simp, aesop (rule_sets := [A, B]) unsafe [constructors 50%]] lemma a : p := q",
        "@[local aesop [safe cases, unsafe apply]] lemma a : p := q",
        "lemma a (tactic : p) : p := tactic",
        "lemma a : p := by aesop (config := { useDefaultSimpSet := false }) (add safe (by simp))",
        "lemma a : p := by linarith (config := { splitNe := true })",
        "lemma a : p := by linarith (transparency := .default)",
        "lemma a : p := by simp (config := cfg) (disch := positivity)",
        "structure A where\n  oracle : Nat := 1\n  discharge : Nat",
        "lemma a : f { oracle := 1 } = 1 := q",
        "lemma a : f (proc := 2) = 1 := q",
        "lemma a : x.unsafe = «unsafe» := h.by_elab",
        'lemma a : p := f "unsafe" -- run_tac',
        "lemma a_unsafe : run_tac' = unsafe_f := q",
    ],
)
def test_the_same_word_elsewhere_is_none(text: str) -> None:
    assert running(text) == []


@pytest.mark.parametrize(
    ("declaration", "rule"),
    [
        ("lemma a : p := by all_goals stop", "BP901"),
        ("lemma a : p := by simp <;> stop", "BP901"),
        ("lemma a : p := by\n  constructor\n  .stop", "BP901"),
        ("lemma a : p := by\n  · try stop", "BP901"),
        ("lemma a : p := by iterate 3 stop", "BP901"),
        ("lemma a : p := by\n  simp; plausible", "BP901"),
        ("lemma a : p := by repeat' plausible", "BP901"),
        ("lemma a : p := by first | simp | stop", "BP901"),
        ("lemma a : p := by { stop cases h : x }", "BP901"),
        ("lemma a : (by\n  stop have x : q := r) := s", "BP901"),
        ("lemma a : p := f (by\n  admit\n  : p)", "BP901"),
        ("def a : p := f x where finally\n  stop by_cases h : q", "BP901"),
        ("lemma a : p := f (← `(tactic| { stop cases h : x }))", "BP901"),
        ("lemma a : p := by any_goals apply?", "BP901"),
        ("lemma a : p := by rw? at h", "BP901"),
        ("lemma a : (by admit : p) = q := r", "BP901"),
        ("lemma a : p := by\n  exact (by all_goals admit : p)", "BP901"),
        ("lemma a : p := by decide +native", "BP902"),
        ("lemma a : p := by decide +«native»", "BP902"),
        ("lemma a : p := by decide (native := true)", "BP902"),
        ("lemma a : p := by decide (config := { native := !false })", "BP902"),
        ("lemma a : p := by decide (config := { kernel := false, «native» := Bool.true })", "BP902"),
        ("lemma a : p := by simp; native_decide", "BP902"),
        ("lemma a : p := Lean.«ofReduceBool» x y z", "BP902"),
        ("def a := 1 where\n  @[implemented_by f] g := 1", "BP903"),
        ("def a := by\n  let rec @[extern f] g := 1\n  exact g", "BP903"),
        ("@[local implemented_by f] def a := 1", "BP903"),
        ('@[simp] @[extern "c, d"] def a := 1', "BP903"),
        ("lemma a : p := by aesop (add safe tactic evil)", "BP903"),
        ("lemma a : p := set_option debug.skipKernelTC true in q", "BP910"),
        ("lemma a : p := by set_option /- in -/ compiler.x false in simp", "BP910"),
        ("lemma a : (set_option pp.all true in p) := q", "BP910"),
        ("lemma a : p := by\n  set_option «maxHeartbeats» 0 in simp", "BP910"),
    ],
)
def test_what_leaves_a_hole_or_trusts_more_than_the_kernel_is_reported(declaration: str, rule: str) -> None:
    assert rule in rules_of(declaration)


@pytest.mark.parametrize(
    "declaration",
    [
        "lemma a (stop : Nat) : f (stop := 3) = { stop := 1, start := 2 } := q",
        "lemma a {stop : Nat} {x plausible : Nat} : stop + 1 = plausible := q",
        "lemma a : p := by\n  intro stop\n  exact ⟨stop, by simp⟩",
        "lemma a : (stop + 1) * 2 = 0 := q",
        "lemma a {stop x : Nat} (plausible y z : Nat) : ∀ {stop _h : Nat}, f := q",
        "lemma a\n    {stop x : Nat} : stop = x := q",
        "lemma a : p := fun {admit x : Nat} => f {\n  stop := 1\n  plausible := 2 }",
        "structure A where\n  stop : Nat\n  start : Nat\n  slim_check x : Nat",
        "lemma a (admit : Nat) : f (admit := 1) = h.admit := q",
        "structure A where\n  native : Bool\n  (extern implemented_by csimp : Nat)",
        "lemma a (extern : Nat) (init : Nat) : extern = f (implemented_by := init) := q",
        "lemma a : x + native = native + y := q",
        "lemma a : p := by decide (config := { native := false })",
        "lemma a : p := by simp -native",
        "lemma a : «stop» = «native_decide» + «admit» := q",
        "lemma a : p := by aesop (add unsafe 20% apply f)",
        "@[aesop unsafe 20% apply] lemma a : p := q",
    ],
)
def test_names_arguments_and_fields_of_the_same_spelling_are_none_of_these(declaration: str) -> None:
    assert rules_of(declaration) == set()


@pytest.mark.parametrize("name", ["csimp", 'export "f"', "init f", "macro foo", "simproc", "command_elab foo"])
@pytest.mark.parametrize(
    "declaration", ["@[{0}] def a := 1", "def a := 1 where\n  @[{0}] g := 1", "def a := by\n  let rec @[{0}] g := 1"]
)
def test_an_attribute_that_is_not_allowed_is_reported_anywhere_in_a_node(name: str, declaration: str) -> None:
    found = check(Project([parse(HEAD + declaration.format(name), "Main.lean")]))
    assert "BP812" in {finding.rule for finding in found}


@pytest.mark.parametrize("command", ["#eval f", "initialize f", "builtin_initialize f", "run_cmd f", "run_meta f"])
def test_a_command_that_runs_code_ends_the_node_and_is_reported(command: str) -> None:
    found = check(Project([parse(f"{HEAD}lemma a : p := by\n  simp\n  {command}", "Main.lean")]))
    assert "BP810" in {finding.rule for finding in found}
