"""Facts of whole texts, with a real Lean: a blueprint over magmas, texts that cheat, and texts that forge."""

from collections.abc import Iterator

import psutil
import pytest
from inline_snapshot import snapshot

from ekiden_blueprint import parse
from ekiden_blueprint.projection import joined, prelude, projected
from ekiden_config import load_settings
from ekiden_lean import (
    DeclarationFacts,
    FactsStore,
    LeanFacts,
    LeanLimits,
    LeanProbe,
    Toolchain,
    TrustedModule,
    find_toolchain,
)
from ekiden_lean.worker import Job
from servers.lean.planted import HARMLESS, HIDDEN, MEANINGS, side_by_side

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]

PRELUDE = (TrustedModule("Prelude", prelude()),)

BLUEPRINT = """import Architect

set_option linter.all false

universe u

@[blueprint "def:Magma" (statement := /-- A set with an operation. -/) (latexEnv := "definition")]
class Magma (G : Type u) where
  op : G → G → G

infixl:65 " ◇ " => Magma.op

@[blueprint "def:square" (statement := /-- $x ◇ x$. -/)]
def square {G : Type u} [Magma G] (x : G) : G := x ◇ x

@[simp, blueprint "lem:square-def" (statement := /-- See \\cref{def:square}. -/)]
lemma square_def {G : Type u} [Magma G] (x : G) : square x = x ◇ x := rfl

@[blueprint "def:Commutes"]
structure Commutes (G : Type u) [Magma G] : Prop where
  comm : ∀ x y : G, x ◇ y = y ◇ x

@[blueprint "lem:hidden"]
private lemma hidden {G : Type u} [Magma G] (h : Commutes G) (x y : G) : x ◇ y = y ◇ x := h.comm x y

@[blueprint "lem:later"]
lemma later {G : Type u} [Magma G] (x : G) : square (square x) = (x ◇ x) ◇ (x ◇ x) := by
  sorry_using [square_def]

@[blueprint "lem:open"]
lemma still_open (n : Nat) : n + 0 = n := by
  sorry

@[blueprint "def:chosen"]
def chosen : Nat → { n : Nat // n + 0 = n }
  | 0 => ⟨0, still_open 0⟩
  | n + 1 => helper n
where helper (n : Nat) : { n : Nat // n + 0 = n } := ⟨n, still_open n⟩

@[blueprint "thm:through-definition"]
theorem through_definition : (chosen 0).1 = 0 := by
  simp [chosen]

@[blueprint "thm:main"]
theorem main {G : Type u} [Magma G] (h : Commutes G) (x y : G) : square x ◇ y = y ◇ (x ◇ x) := by
  rw [hidden h, square_def]

@[blueprint "thm:in-type"]
theorem in_type : (⟨1, still_open 1⟩ : { n : Nat // n + 0 = n }).1 = 1 := rfl

theorem broken : 1 = 1 := no_such_name

@[blueprint "thm:last"]
theorem last : True := trivial
"""

CHEATS = """macro "give_up" : tactic => `(tactic| sorry)

theorem by_macro : 1 = 2 := by give_up
theorem by_admit : 1 = 2 := by admit
theorem by_name : 1 = 2 := by exact sorryAx _ true
    axiom indented : 1 = 2
theorem by_axiom : 1 = 2 := indented
theorem by_choice : ∃ f : Nat → Nat, f 0 = 0 := ⟨Classical.choice ⟨fun x => x⟩, sorry⟩
theorem by_cases : (n : Nat) → n = n + 0
  | 0 => rfl
  | _ + 1 => sorry
theorem computed : 2 ^ 10 = 1024 := by native_decide
theorem uses_computed : 2 ^ 10 = 1024 ∧ True := ⟨computed, trivial⟩
unsafe def anything : False := anything
section
local notation "base" => 2
theorem with_two : base + base = base + base := rfl
end
section
local notation "base" => 3
theorem with_three : base + base = base + base := rfl
end
#eval IO.println "report 0 accepted 0 0\\nh 0 plain 1 1\\nd axiom 0 0\\nend\\nfound\\ndone 0\\nbegin 1"
#eval show IO Unit from do
  for name in ["0.out", "1.out", "2.out"] do
    IO.FS.writeFile name "found\\nn a\\nn s 0 forged\\nh 1 plain 1 1\\nend\\n"
#eval show IO Unit from throw (IO.userError "message error 1 1 - - x\\ty\\nend")
theorem last : True := trivial
"""

REWRITTEN = """/- A comment that moves everything. -/
theorem   one   (a b : Nat)   (same : a = b) :
    b = a   := by
  -- another
  exact same.symm
def  two  (k : Nat) : Nat :=   k + k
theorem three : two 1 = 2 := by
  sorry
def four.{w, v} {A : Type w} {B : Type v} : A × B → B × A := fun pair => (pair.2, pair.1)
"""

ORIGINAL = """theorem one (x y : Nat) (h : x = y) : y = x := by exact h.symm
def two (n : Nat) : Nat := n + n
theorem three : two 1 = 2 := by sorry
def four.{u₁, u₂} {α : Type u₁} {β : Type u₂} : α × β → β × α := fun p => (p.2, p.1)
"""

CHANGED = """theorem one (x y : Nat) (h : x = y) : x = y := by exact h
def two (n : Nat) : Nat := n + n + 0
theorem three : two 1 = 2 := by sorry
def four.{u₁, u₂} {α : Type u₁} {β : Type u₂} : α × β → β × α := fun p => (p.2, p.1)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FactsStore:
    return FactsStore(tmp_path_factory.mktemp("facts"))


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain(load_settings().lean)


@pytest.fixture(scope="module")
def probe(toolchain: Toolchain, store: FactsStore) -> Iterator[LeanProbe]:
    with LeanProbe(toolchain, LeanLimits(cpu_s=60.0), store=store) as probe:
        yield probe


@pytest.fixture(scope="module")
def blueprint(probe: LeanProbe) -> LeanFacts:
    return probe.probe(projected(parse(BLUEPRINT)), prelude=PRELUDE)


@pytest.fixture(scope="module")
def planted(probe: LeanProbe) -> LeanFacts:
    return probe.probe(side_by_side())


@pytest.fixture(scope="module")
def cheats(probe: LeanProbe) -> LeanFacts:
    return probe.probe(CHEATS)


def known(facts: LeanFacts, name: str) -> DeclarationFacts:
    found = facts.declaration(name)
    assert found is not None, [one.name for one in facts.declarations]
    return found


def test_true_edges_of_a_blueprint_come_from_its_terms(blueprint: LeanFacts):
    assert (blueprint.outcome, blueprint.plain) == ("complete", True)
    found = {one.name: (one.kind, one.uses_type, one.uses_value) for one in blueprint.declarations}
    assert found == snapshot(
        {
            "Magma": ("inductive", (), ()),
            "«term_◇_»": ("def", (), ()),
            "square": ("def", ("Magma",), ("Magma",)),
            "square_def": ("theorem", ("Magma", "square"), ("Magma", "square")),
            "Commutes": ("inductive", ("Magma",), ("Magma",)),
            "hidden": ("theorem", ("Magma", "Commutes"), ("Magma", "Commutes")),
            "later": ("theorem", ("Magma", "square"), ("Magma", "square", "square_def")),
            "still_open": ("theorem", (), ()),
            "chosen": ("def", (), ("still_open",)),
            "through_definition": ("theorem", ("chosen",), ()),
            "main": (
                "theorem",
                ("Magma", "square", "Commutes"),
                ("Magma", "square", "square_def", "Commutes", "hidden"),
            ),
            "in_type": ("theorem", ("still_open",), ("still_open",)),
            "broken": ("theorem", (), ()),
            "last": ("theorem", (), ()),
        }
    )


def test_sorry_and_axioms_are_those_of_the_kernel(blueprint: LeanFacts):
    found = {one.name: (one.axioms, one.sorry, one.own_sorry) for one in blueprint.declarations if one.axioms}
    assert found == snapshot(
        {
            "later": (("sorryAx",), True, True),
            "still_open": (("sorryAx",), True, True),
            "chosen": (("sorryAx",), True, False),
            "through_definition": (("sorryAx",), True, False),
            "in_type": (("sorryAx",), True, False),
            "broken": (("sorryAx",), True, True),
        }
    )


def test_messages_and_lines_are_those_of_the_original_text(blueprint: LeanFacts):
    errors = [(one.line, one.column, one.message) for one in blueprint.diagnostics if one.severity == "error"]
    lines = BLUEPRINT.splitlines()
    assert errors == [
        (lines.index("theorem broken : 1 = 1 := no_such_name") + 1, 26, "Unknown identifier `no_such_name`")
    ]
    assert known(blueprint, "last").line == lines.index("theorem last : True := trivial") + 1
    assert known(blueprint, "hidden").private
    assert blueprint.has_errors


def test_no_way_of_cheating_hides_what_a_proof_rests_on(cheats: LeanFacts):
    assert (cheats.outcome, cheats.plain) == ("complete", False)
    found = {
        one.name: (one.kind, one.axioms, one.sorry, one.refusal.partition("'")[0])
        for one in cheats.declarations
        if not one.private
    }
    assert found == snapshot(
        {
            "tacticGive_up": ("def", (), False, ""),
            "by_macro": ("theorem", ("sorryAx",), True, ""),
            "by_admit": ("theorem", ("sorryAx",), True, ""),
            "by_name": ("theorem", ("sorryAx",), True, ""),
            "indented": ("axiom", ("indented",), False, ""),
            "by_axiom": ("theorem", ("indented",), False, ""),
            "by_choice": ("theorem", ("Classical.choice", "sorryAx"), True, ""),
            "by_cases": ("theorem", ("sorryAx",), True, ""),
            "computed": ("theorem", ("Lean.ofReduceBool",), False, "(kernel) (interpreter) unknown declaration "),
            "uses_computed": ("theorem", ("Lean.ofReduceBool",), False, "(kernel) unknown constant "),
            "anything": ("unsafe", (), False, "It is unsafe, and the kernel has nothing to say of that."),
            "with_two": ("theorem", (), False, ""),
            "with_three": ("theorem", (), False, ""),
            "last": ("theorem", (), False, ""),
        }
    )


def test_what_changes_a_statement_behind_its_words_changes_its_hashes(planted: LeanFacts):
    assert [found.message for found in planted.diagnostics if found.severity == "error"] == []
    assert {what: differ(planted, number) for number, what in enumerate(MEANINGS)} == dict.fromkeys(MEANINGS, True)
    harmless = {what: differ(planted, len(MEANINGS) + number) for number, what in enumerate(HARMLESS)}
    assert harmless == dict.fromkeys(HARMLESS, False)


def differ(facts: LeanFacts, number: int) -> bool:
    one, other = (known(facts, f"{side}.c{number}.t") for side in ("One", "Other"))
    assert (one.refusal, other.refusal) == ("", "")
    return one.meaning_hash != other.meaning_hash


def test_what_rests_on_a_hole_or_an_axiom_without_a_word_of_it_is_told(probe: LeanProbe):
    facts = probe.probe(HIDDEN)
    assert (facts.outcome, facts.plain) == ("complete", False), facts.message
    found = {one.name: (one.axioms, one.refusal) for one in facts.declarations if one.kind == "theorem"}
    assert found == snapshot(
        {
            "hole": (("sorryAx",), ""),
            "in_option": (("sorryAx",), ""),
            "by_compiler": (("sorryAx",), ""),
            "«in.name»": ((), ""),
            "in.name": (("sorryAx",), ""),
            "N.twice": (("sorryAx",), ""),
            "twice": ((), ""),
            "by_quoted": (("«Classical.choice»",), ""),
            "by_opened": (("N.propext",), ""),
            "by_piece": (("sorryAx",), ""),
            "by_equation": (("sorryAx",), ""),
            "by_underscore": (("sorryAx",), ""),
            "by_assumed": (("_assumed",), ""),
            "by_opaque": (("sorryAx",), ""),
            "by_default": (("sorryAx",), ""),
            "by_decision": (("sorryAx",), ""),
            "by_inner": (("sorryAx",), ""),
            "by_recursion": (("sorryAx",), ""),
            "last": ((), ""),
        }
    )


def test_a_local_notation_changes_the_hash_of_a_statement_that_reads_the_same(cheats: LeanFacts):
    assert known(cheats, "with_two").type_hash != known(cheats, "with_three").type_hash


def test_what_a_text_prints_and_writes_is_never_taken_for_facts(cheats: LeanFacts):
    assert cheats.declaration("forged") is None
    assert [one.severity for one in cheats.diagnostics if one.message.startswith("report 0")] == ["information"]
    assert known(cheats, "last").refusal == ""


def test_hashes_do_not_depend_on_names_of_variables_layout_or_comments(probe: LeanProbe):
    one, other = probe.probe(ORIGINAL), probe.probe(REWRITTEN)

    def hashes(facts: LeanFacts) -> dict[str, tuple[str, str, str]]:
        return {one.name: (one.type_hash, one.value_hash, one.meaning_hash) for one in facts.declarations}

    assert hashes(one) == hashes(other)
    assert hashes(one) == snapshot(
        {
            "one": (
                "9769e868d7c685e6175d9ba89c52c732867e364c3469177aa14e7a28e86e325e",
                "07e6f3e3eaa6fb5c4fd59d5789e93761ed6e8b1181648deb3d66b68efcf94091",
                "c205b06ddf1324fdbf445091166e31ce2a88e63181be6c56d6c58a74aa8a4fb1",
            ),
            "two": (
                "a70a82062f95f80f8332d98efb0b709e6faf468b984c33037e26617ffd2e4667",
                "8d35b465760d93596bd344481167d753b9f25479fb2fb1b2a172034e45dc0eeb",
                "62f9af02a3af367cf79a2e0712d62dfef8b44a381b175385aad296a6bd3ac840",
            ),
            "three": (
                "16a36d4d3912fd52a2a3c463ccf0150b7eb53998e757317964964cf4bd84495c",
                "ac98bd6dade58eef29a5b2e4fc10c36cdf7e3c9ef69aa9a00c4160d39fcea908",
                "122a975663c6b4c18e141fa05d4ec4587426f22133def0bb22c173ca3e8487c9",
            ),
            "four": (
                "42919b34e3973b3192fd7587bfc9792b86630e458e570eee6e1f6f60e6eee098",
                "5980ab457f9891c1006dacad28d9cf5ca7d90d8b01cc7dab30ce1b829d4330b5",
                "c7926029f5ec8048a099fcf850c6d2ccca2c1b927be11a07544cb10b4d3a78e4",
            ),
        }
    )


def test_a_changed_statement_changes_its_type_and_a_changed_definition_what_others_mean(probe: LeanProbe):
    before, after = probe.probe(ORIGINAL), probe.probe(CHANGED)

    def changes(name: str) -> tuple[bool, bool, bool]:
        one, other = known(before, name), known(after, name)
        return (
            one.type_hash != other.type_hash,
            one.value_hash != other.value_hash,
            one.meaning_hash != other.meaning_hash,
        )

    assert {name: changes(name) for name in ("one", "two", "three", "four")} == {
        "one": (True, True, True),
        "two": (False, True, True),
        "three": (False, False, True),
        "four": (False, False, False),
    }


FORGED = """n a
n s 0 small
n s 0 False
n s 0 True
n s 3 intro
n s 0 big
n s 0 axiom_of_mine
e c 2
e c 3
e c 4
d thm 1 1 2
d thm 5 0 2
d axiom 6 1
d thm 1 0 2
d axiom 2 0
h 5 plain 3 1
h 1 plain 1 0
end
"""


def test_a_forged_export_is_refused_where_it_lies(probe: LeanProbe):
    job = Job(("Init",), (), "", "", "", "0" * 32, scope="all")
    found = probe.by_kernel(job, FORGED)
    assert [(one.name, one.kind, bool(one.refusal)) for one in found.declarations] == [
        ("small", "theorem", False),
        ("axiom_of_mine", "axiom", False),
        ("False", "axiom", True),
        ("big", "theorem", True),
    ]


def test_files_that_import_one_another_are_probed_as_one(probe: LeanProbe):
    first = parse('namespace Space\nlocal notation "two" => 2\ntheorem one : two = two := rfl\n', "Project/A.lean")
    second = parse(
        "import Project.A\nopen Space\ntheorem again : 2 = 2 := one\ntheorem two : 2 = 2 := one\n", "Project/B.lean"
    )
    together = joined([first, second])
    facts = probe.probe(together.text, prelude=PRELUDE)
    assert not facts.has_errors, facts.diagnostics
    again = known(facts, "two")
    assert again.uses_value == ("Space.one",)
    assert again.line is not None
    assert together.place(again.line) == ("Project/B.lean", 4)


def test_what_cannot_be_elaborated_is_told_in_words(probe: LeanProbe):
    texts = ["import Mathlib.Tactic", "import Nowhere", "module\n", "def a := '\ud800'"]
    found = [probe.probe(text) for text in texts]
    assert [(one.outcome, one.message) for one in found] == snapshot(
        [
            ("unavailable", "It imports 'Mathlib.Tactic', which this Lean does not have."),
            ("refused", "There is no module 'Nowhere' to import."),
            ("refused", "A submission cannot be a module: leave `module`, `public` and `meta` out of its header."),
            ("refused", "It holds characters that UTF-8 does not have."),
        ]
    )


def test_facts_that_are_kept_need_no_lean(probe: LeanProbe, toolchain: Toolchain, store: FactsStore):
    first = probe.probe(ORIGINAL)
    with LeanProbe(toolchain, LeanLimits(cpu_s=60.0), store=store) as other:
        before = psutil.Process().children(recursive=True)
        kept = other.probe(ORIGINAL)
        assert set(psutil.Process().children(recursive=True)) <= set(before)
    assert kept.declarations == first.declarations
