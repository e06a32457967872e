"""Codex's own `apply_patch` is the oracle: asked with generated cases where it is installed, recorded elsewhere."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from codex_patches import BY_HAND, TARGET, VERSION, Case, Outcome, ask_codex, codex_programs, generated, recorded
from ekiden_patch import INTENDED_DIFFERENCES, Patch, PatchError, apply_patch, check_target, parse_patch

WHY_NOT = f"Codex {VERSION} is not here: no folder in EKIDEN_TEST_AGENTS holds it, nor is it on the PATH"
OTHER_FILES = {"file_operation", "several_files", "wrong_file"}
BATCHES, BATCH = 10, 510


def ours(case: Case) -> Outcome:
    """Apply a patch as Codex would."""
    try:
        patch = parse_patch(case.patch)
        check_target(patch, [TARGET])
        return Outcome(apply_patch(case.text, patch, ambiguity="first").text, "")
    except PatchError as error:
        return Outcome(None, error.code)


def difference(case: Case, codex: str | None) -> str | None:
    """Return the name of the intended difference on which we part from Codex, "unexplained", or None where we agree."""
    mine = ours(case)
    if mine.text == codex:
        return None
    if codex is None and mine.text is not None and is_unnamed(case):
        return "unnamed_file"
    if codex is not None and mine.refusal in OTHER_FILES:
        return "no_environment" if "*** Environment ID:" in case.patch else "one_file"
    return "unexplained"


def is_unnamed(case: Case) -> bool:
    """Tell whether the patch does not start on its file in the line after its first marker."""
    lines = case.patch.splitlines()
    first = next(index for index, line in enumerate(lines) if "*** Begin Patch" in line)
    return not lines[first + 1].strip().startswith("*** Update File: ")


def named(case: Case) -> Case:
    """Return the case with its file named in the line after the first marker."""
    lines = case.patch.split("\n")
    first = next(index for index, line in enumerate(lines) if "*** Begin Patch" in line) + 1
    while not lines[first].strip():
        del lines[first]
    if not lines[first].strip().startswith("*** Update File: "):
        lines.insert(first, f"*** Update File: {TARGET}")
    return Case(case.kind, case.text, "\n".join(lines))


def parted(cases: list[Case], codex: list[str | None]) -> Counter[str]:
    """Count the intended differences, and fail with the first unexplained one."""
    names: Counter[str] = Counter()
    for case, text in zip(cases, codex, strict=True):
        if name := difference(case, text):
            assert name != "unexplained", (case, text, ours(case))
            names[name] += 1
    assert set(names) <= {each.name for each in INTENDED_DIFFERENCES}
    return names


@pytest.fixture(scope="module")
def codex() -> Path:
    program = codex_programs().get(VERSION)
    if program is None:
        pytest.skip(WHY_NOT)
    return program


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(100, 100 + BATCHES))
def test_a_generated_patch_does_to_a_file_what_codex_does(codex: Path, seed: int) -> None:
    cases = list(generated(seed, BATCH))
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(partial(ask_codex, codex), cases))
    texts = [outcome.text for outcome in outcomes]
    names = parted(cases, texts)
    unnamed = [case for case, text in zip(cases, texts, strict=True) if difference(case, text) == "unnamed_file"]
    assert [ask_codex(codex, named(case)).text for case in unnamed] == [ours(case).text for case in unnamed]
    assert sum(text is not None for text in texts) > BATCH / 3
    assert names.total() < BATCH / 20


@pytest.mark.slow
def test_the_recorded_answers_are_codexs(codex: Path) -> None:
    by_hand = [(case, text) for case, text in recorded() if case.kind.startswith("hand: ")]
    assert [case for case, _ in by_hand] == list(BY_HAND)
    assert [(case.kind, ask_codex(codex, case).text) for case, _ in by_hand] == [
        (case.kind, text) for case, text in by_hand
    ]


def test_a_recorded_patch_does_to_a_file_what_codex_did() -> None:
    cases = recorded()
    assert len(cases) >= 400
    parted([case for case, _ in cases], [text for _, text in cases])


@pytest.mark.parametrize(
    ("case", "text"), [pytest.param(case, text, id=case.kind) for case, text in recorded()[: len(BY_HAND)]]
)
def test_a_patch_made_by_hand_does_to_a_file_what_codex_did(case: Case, text: str | None) -> None:
    assert ours(case).text == text


# Codex's side of each was asked of the program; `slow` asks it again.
FILE = "a\nb\na\n"
BODY = ("@@", "-b", "+B")
UNNAMED = Case("unnamed_file", FILE, "\n".join(("*** Begin Patch", *BODY, "*** End Patch")))
BLANK_FIRST = Case(
    "unnamed_file", FILE, "\n".join(("*** Begin Patch", "", f"*** Update File: {TARGET}", *BODY, "*** End Patch"))
)
TWO_FILES = Case(
    "one_file",
    FILE,
    "\n".join(
        ("*** Begin Patch", f"*** Update File: {TARGET}", *BODY, "*** Add File: new.lean", "+x", "*** End Patch")
    ),
)
MOVED = Case(
    "one_file",
    FILE,
    "\n".join(("*** Begin Patch", f"*** Update File: {TARGET}", f"*** Move to: ./{TARGET}", *BODY, "*** End Patch")),
)
ENVIRONMENT = Case(
    "no_environment",
    FILE,
    "\n".join(("*** Begin Patch", "*** Environment ID: far", f"*** Update File: {TARGET}", *BODY, "*** End Patch")),
)
AMBIGUOUS = Case(
    "ambiguous_lines",
    FILE,
    "\n".join(("*** Begin Patch", f"*** Update File: {TARGET}", "@@", "-a", "+A", "*** End Patch")),
)
ADDITION = Case(
    "addition_under_header",
    FILE,
    "\n".join(("*** Begin Patch", f"*** Update File: {TARGET}", "@@ b", "+c", "*** End Patch")),
)
DIFFERENT = {
    UNNAMED: (None, "a\nB\na\n"),
    BLANK_FIRST: (None, "a\nB\na\n"),
    TWO_FILES: ("a\nB\na\n", "file_operation"),
    ENVIRONMENT: ("a\nB\na\n", "file_operation"),
    AMBIGUOUS: ("A\nb\na\n", "ambiguous"),
    ADDITION: ("a\nb\na\nc\n", "a\nb\nc\na\n"),
}


def careful(case: Case) -> str:
    """Return what we make of a case when ambiguity is refused, or the code of the refusal."""
    try:
        return apply_patch(case.text, parsed(case), ambiguity="refuse").text
    except PatchError as error:
        return error.code


def parsed(case: Case) -> Patch:
    patch = parse_patch(case.patch)
    check_target(patch, [TARGET])
    return patch


@pytest.mark.parametrize(
    ("case", "expected"), [pytest.param(case, each[1], id=case.kind) for case, each in DIFFERENT.items()]
)
def test_an_intended_difference_is_as_documented(case: Case, expected: str) -> None:
    assert careful(case) == expected


def test_every_intended_difference_has_a_case_and_a_reason() -> None:
    assert {case.kind for case in DIFFERENT} == {each.name for each in INTENDED_DIFFERENCES}
    assert all(each.codex and each.ours and each.reason for each in INTENDED_DIFFERENCES)


def test_an_intended_difference_that_does_not_always_apply_is_gone_when_the_first_place_will_do() -> None:
    sometimes = {each.name for each in INTENDED_DIFFERENCES if each.applies != "always"}
    assert {case.kind: ours(case).text for case in DIFFERENT if case.kind in sometimes} == {
        case.kind: codex for case, (codex, _) in DIFFERENT.items() if case.kind in sometimes
    }


def test_where_nothing_is_ambiguous_a_careful_patch_does_what_codex_did() -> None:
    accepted = [case for case, _ in recorded() if ours(case).text is not None]
    plain = [case for case in accepted if all(chunk.old_lines or chunk.header is None for chunk in parsed(case).chunks)]
    careless = [(case, ours(case).text) for case in plain if careful(case) != "ambiguous"]
    assert [(case, careful(case)) for case, _ in careless] == careless
    assert len(careless) > 100


def test_moving_a_file_to_itself_loses_nothing() -> None:
    assert careful(MOVED) == "file_operation"


@pytest.mark.slow
def test_codex_does_on_an_intended_difference_what_is_documented(codex: Path) -> None:
    assert {case: ask_codex(codex, case).text for case in DIFFERENT} == {
        case: text for case, (text, _) in DIFFERENT.items()
    }
