"""Random and hostile patches against one node: what is accepted changes nothing outside what its owner may edit.

The check is made from the parts that a file was generated from, without the code that it checks: after each accepted
patch the frozen parts must all be there, byte for byte and in order, and nothing that begins a command of its own may
stand in a proof.
"""

import random
import re
from collections import Counter
from typing import NamedTuple

import pytest

from ekiden_blueprint import parse
from ekiden_patch import PatchError
from ekiden_patch.applying import apply_patch
from ekiden_patch.grammar import parse_patch
from ekiden_patch.guard import NodeGuard
from ekiden_policies.edit_scope import FileScope
from patch_scopes import HEADER, node, patch_between

SESSION = 25
"""Patches in a row on one file."""

STATEMENTS = (
    "(n : Nat) : n = n",
    ": let x := 1; x = 1",
    ": (fun x : Nat => x) 1 = 1",
    "(h : ∀ ε > 0, ∃ δ, δ < ε) (a : Nat := 2) : a = a",
    ': \'"\' = \'"\' ∧ "a := b" = "a := b"',
    ": have h := 1; h = h",
    "{α : Type _} (x' : α)\n    [DecidableEq α] :\n    x' = x' /- := by -/",
)
BODIES = (
    "by\n  sorry",
    "by\n  sorry_using [first_0]",
    "by\n  -- a note\n  sorry",
    "by\n  rfl",
    "by\n  have h : 1 = 1 := rfl\n\n  exact h",
    "rfl",
    "fun x =>\n  rfl",
    "by simp",
)
GOOD = (
    "  rfl",
    "  simp",
    "  exact h",
    "  have k : 2 = 2 := by\n    norm_num",
    "  sorry",
    "    done",
    "",
    "  -- a comment",
    "  · intro x",
    "  open Nat in simp",
    "  /- a note -/",
    '  exact "axiom"',
)
HOSTILE = (
    "  axiom cheat : False",
    "axiom cheat : False",
    "lemma cheat : False := sorry",
    "  lemma cheat : False := sorry",
    "  exact rfl axiom cheat : False",
    "/-",
    "-/",
    "/--",
    '"',
    "  '\"'",
    "«",
    "  local notation n = m => True",
    'macro "x" : tactic => `(tactic| sorry)',
    "variable (n : Empty)",
    "open Classical in",
    "set_option autoImplicit true in",
    "attribute [simp] first_0",
    "  instance : Inhabited False := ⟨sorry⟩",
    "@[simp]",
    '@[simp, blueprint "lem:x"]',
    "private",
    "section",
    "end",
    "namespace X",
    "#eval 1",
    "import Lean",
    "  where",
    "  @[simp] aux : True := trivial",
    '  (latexEnv := "theorem")',
    "  (statement := /-- other -/)",
    "  -/) (statement := /-- other",
    "]",
    ")",
    "by",
    "  sorry",
    "  | 0 => rfl",
    "rfl",
    "termination_by x",
    "\trfl",
    "\u2028axiom cheat : False",
    "  x := by",
    "deriving instance Repr for Nat",
    "mutual",
    "example : True := trivial",
    "opaque cheat : Nat",
)
PROSE = ("text", "-/", "/-", r"\cref{lem:first-0}", "∀", '"', "axiom x : False", ")", "]", "\n", "=", "\\")
TWISTS = (
    ("@[blueprint", "@[simp, blueprint"),
    ("@[blueprint", "@[local instance, blueprint"),
    ("@[blueprint", "open Classical in\n@[blueprint"),
    ("lemma aux", "theorem aux"),
    ("lemma aux", "instance aux"),
    ("lemma aux", "axiom aux"),
    ("lemma aux", "unsafe lemma aux"),
    ("lemma aux", "@[reducible] def aux"),
    ("lemma aux", "lemma Nat --"),
    ("lemma aux", "lemma target --"),
    ("lemma aux", "def Other.rfl --"),
    ("-/)", "-/) (x := 1)"),
    (" := ", " :="),
)
OWN_COMMANDS = re.compile(
    r"(?<![\w.])(?:axiom|notation|macro|variable|instance|example|opaque|attribute|namespace|section|mutual|import)"
    r"(?![\w.])|(?<=\n)[^\s|]"
)
OPENS_MEANING = re.compile(r"\s*(?:axiom|notation|macro|variable|instance|open(?! Nat in simp)|set_option|end)\b")
LOCKED_OUT = frozenset({"node_changed_outside", "changed_outside", "node_not_found"})


class Generated(NamedTuple):
    """A file, and the text around what the owner of its target may edit."""

    text: str
    frozen: tuple[str, ...]


def generated(draw: random.Random) -> Generated:
    """Return a file of a few nodes; the target's frozen text is known from how it is put together."""
    before = [
        node(f"first_{index}", draw.choice(STATEMENTS), draw.choice(BODIES)) for index in range(draw.randint(1, 3))
    ]
    after = [node(f"last_{index}", draw.choice(STATEMENTS), draw.choice(BODIES)) for index in range(draw.randint(0, 2))]
    statement, body = draw.choice(STATEMENTS), draw.choice(BODIES)
    title = draw.choice((("/--", " Title ", "-/"), ('"', "Title", '"')))
    start = "\n".join((HEADER, *before))
    frozen = (
        start,
        '@[blueprint "lem:target"\n  (statement := /--',
        "-/)\n  (proof := /--",
        f"-/)\n  (title := {title[0]}",
        f'{title[2]})\n  (latexEnv := "lemma")]\nlemma target {statement} :=',
        "".join(f"\n{each}" for each in after),
    )
    edited = ("\n", " Prose. ", " Proof. ", title[1], f" {body}\n")
    text = "".join(part for pair in zip(frozen, (*edited, ""), strict=True) for part in pair)
    return Generated(text, frozen)


def interiors(text: str, frozen: tuple[str, ...]) -> list[str] | None:
    """Return what stands between the frozen parts; None when they are not all there in order."""
    if not text.startswith(frozen[0]) or not text.endswith(frozen[-1]):
        return None
    at, end = len(frozen[0]), len(text) - len(frozen[-1])
    found: list[str] = []
    for part in frozen[1:-1]:
        start = text.find(part, at, end)
        if start < 0:
            return None
        found.append(text[at:start])
        at = start + len(part)
    return [*found, text[at:end]]


def mutated(draw: random.Random, text: str, frozen: tuple[str, ...]) -> str:
    """Return a text with a few changes: in one part that may be edited, or anywhere."""
    if draw.random() < 0.3:
        return with_lines_changed(draw, text)
    parts = interiors(text, frozen)
    assert parts is not None
    index = draw.choice((0, 0, 1, 2, 3, 4, 4, 4))
    if index == 0:
        parts[0] = with_helper(draw, parts[0])
    elif index == 4:
        parts[4] = with_lines_changed(draw, parts[4])
    else:
        at = draw.randrange(len(parts[index]) + 1)
        words = "".join(draw.choice(PROSE) for _ in range(draw.randint(1, 2)))
        parts[index] = parts[index][:at] + words + parts[index][at + draw.randint(0, 4) :]
    return "".join(part for pair in zip(frozen, (*parts, ""), strict=True) for part in pair)


def with_helper(draw: random.Random, area: str) -> str:
    """Return a helper area with a helper more, with one less, or with lines of another kind."""
    helper = node(f"aux_{draw.randrange(999)}", draw.choice(STATEMENTS), draw.choice(BODIES))
    move = draw.random()
    if move < 0.4:
        return f"\n{helper}{area}"
    if move < 0.6:
        old, new = draw.choice(TWISTS)
        return f"\n{helper.replace(old, new, 1)}{area}"
    if move < 0.7:
        return "\n"
    return with_lines_changed(draw, f"\n{helper}{area}")


def with_lines_changed(draw: random.Random, text: str) -> str:
    """Return a text of which some lines were inserted, rewritten or deleted."""
    lines = text.split("\n")
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at = draw.randrange(len(lines))
        new = draw.choice(GOOD if draw.random() < 0.6 else HOSTILE)
        move = draw.random()
        if move < 0.4:
            lines.insert(at, new)
        elif move < 0.7:
            lines[at] = new
        elif move < 0.8 and len(lines) > 1:
            del lines[at]
        else:
            cut = draw.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + draw.choice(PROSE) + lines[at][cut + draw.randint(0, 3) :]
    return "\n".join(lines)


def fuzz(seed: int, patches: int) -> Counter[str]:
    """Try patches; return how many were accepted and how many refused with which code."""
    draw = random.Random(seed)
    outcomes: Counter[str] = Counter()
    while outcomes.total() < patches:
        text, frozen = generated(draw)
        guard = NodeGuard(FileScope("Main.lean", "target"), text)
        for _ in range(SESSION):
            patch = patch_between(text, mutated(draw, text, frozen), draw.choice((0, 1, 3)))
            outcome, new_text = attempt(guard, text, patch)
            outcomes[outcome] += 1
            assert outcome not in LOCKED_OUT, f"no patch is accepted any more after\n{text}"
            if outcome == "accepted":
                check(new_text, frozen, patch)
                text = new_text
    return outcomes


def attempt(guard: NodeGuard, text: str, patch: str) -> tuple[str, str]:
    """Return how a patch fares, and the text after it."""
    try:
        view = guard.view(text)
        applied = guard.fitted(view, apply_patch(text, parse_patch(patch), ambiguity="first"))
    except PatchError as error:
        return error.code, text
    violations = guard.judge(view, applied.text, applied.replacements)
    return ("refused: " + violations[0].code, text) if violations else ("accepted", applied.text)


def check(text: str, frozen: tuple[str, ...], patch: str) -> None:
    """Look at an accepted text without the code that accepted it."""
    parts = interiors(text, frozen)
    assert parts is not None, f"frozen text was changed by\n{patch}"
    helpers, body = parts[0], parts[-1]
    assert not OWN_COMMANDS.search(bare(body)), f"a command got into the proof by\n{patch}"
    for line in bare(helpers).split("\n"):
        assert not OPENS_MEANING.match(line), patch
    assert parse(text).problems == (), patch


def bare(code: str) -> str:
    """Return code without its strings and comments, the nested ones too."""
    code = re.sub(r'"[^"\n]*"', "", code)
    while (shorter := re.sub(r"/-(?:(?!/-|-/).)*?-/", "", code, flags=re.DOTALL)) != code:
        code = shorter
    return re.sub(r"--.*", "", code)


def test_accepted_patches_leave_frozen_text_alone() -> None:
    outcomes = fuzz(1, 500)
    assert outcomes["accepted"] > 50
    assert len(outcomes) > 8, "the patches meet too few of the rules"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_thousand_accepted_patches_leave_frozen_text_alone() -> None:
    outcomes = fuzz(2, 20_000)
    assert outcomes["accepted"] > 2_000
    assert len(outcomes) > 12, "the patches meet too few of the rules"
