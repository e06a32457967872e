from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_patches import generated
from ekiden_blueprint.spans import Span
from ekiden_patch import Applied, PatchError, Replacement, apply_patch, parse_patch


def patched(text: str, *body: str) -> Applied:
    return apply_patch(text, parse_patch("\n".join(("*** Begin Patch", *body, "*** End Patch"))))


def spliced(text: str, replacements: tuple[Replacement, ...]) -> str:
    for span, new_text in reversed(replacements):
        text = text[: span.start] + new_text + text[span.end :]
    return text


def test_a_replacement_covers_the_lines_that_change_and_no_others() -> None:
    assert patched("a\nb\nc\nd\n", "@@", " a", "-b", "+B", " c", "+C", " d") == Applied(
        "a\nB\nc\nC\nd\n", (Replacement(Span(2, 4), "B\n"), Replacement(Span(6, 6), "C\n"))
    )


def test_a_line_that_goes_and_comes_again_is_no_change() -> None:
    assert patched("a\nb\nc\n", "@@", "-a", "-b", "-c", "+a", "+B", "+c") == Applied(
        "a\nB\nc\n", (Replacement(Span(2, 4), "B\n"),)
    )


def test_context_alone_changes_nothing() -> None:
    assert patched("a\nb\n", " a", " b") == Applied("a\nb\n", ())


def test_context_that_matches_loosely_stays_as_the_file_has_it() -> None:
    assert patched("\ta – b  \nc\n", " a - b", "-c", "+d").text == "\ta – b  \nd\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("a\r\nb\r\n", "a\r\nX\r\n"),
        ("a\rb\r", "a\rX\r"),
        ("a\r\nb\n", "a\r\nX\r\n"),
        ("a\nb\r\n", "a\nX\n"),
        ("a\nb", "a\nX\n"),
        ("a\r\nb", "a\r\nX\r\n"),
    ],
)
def test_a_new_line_ends_as_the_first_line_of_the_file_does(text: str, new: str) -> None:
    assert patched(text, "-b", "+X").text == new


def test_the_last_line_gets_an_end_as_a_replacement_of_its_own() -> None:
    assert patched("a\nb\nc", "-a", "+A") == Applied(
        "A\nb\nc\n", (Replacement(Span(0, 2), "A\n"), Replacement(Span(5, 5), "\n"))
    )


def test_every_line_can_go() -> None:
    assert patched("a\nb\n", "-a", "-b") == Applied("", (Replacement(Span(0, 4), ""),))


def test_added_lines_alone_come_after_their_header_or_at_the_end() -> None:
    assert patched("a\nb\n", "@@ a", "+x", "@@", "+y").text == "a\nx\nb\ny\n"
    assert patched("a\nb\n", "@@ a", "+x", "*** End of File").text == "a\nb\nx\n"


def test_added_lines_under_a_header_that_stands_twice_are_refused() -> None:
    with pytest.raises(PatchError, match=r"^Chunk from line 2 of the patch: its header 'a' matches 2 places"):
        patched("a\na\n", "@@ a", "+x")


def test_added_lines_under_a_header_and_a_change_of_the_next_line_go_together() -> None:
    assert patched("a\nb\n", "@@ a", "+x", "@@", "-b", "+B") == Applied(
        "a\nx\nB\n", (Replacement(Span(2, 4), "x\nB\n"),)
    )


def test_a_second_section_changes_what_the_first_one_left() -> None:
    assert patched(
        "a\nb\nc\n", "*** Update File: f", "@@", "-c", "+C", "*** Update File: f", "@@", "-a", "@@", "-C", "+D"
    ) == Applied("b\nD\n", (Replacement(Span(0, 2), ""), Replacement(Span(4, 6), "D\n")))


def test_line_separators_of_unicode_end_no_line() -> None:
    assert patched("a\u2028b\x0cc\x85d\n", "-a\u2028b\x0cc\x85d", "+x\u2028y").text == "x\u2028y\n"


@given(st.integers(0, 2**32))
def test_the_replacements_are_the_change_and_are_minimal_and_apart(seed: int) -> None:
    for case in generated(seed, 5):
        try:
            applied = apply_patch(case.text, parse_patch(case.patch), ambiguity="first")
        except PatchError:
            continue
        assert spliced(case.text, applied.replacements) == applied.text
        ends = [0, *(each.span.end for each in applied.replacements)]
        assert all(
            end <= each.span.start <= each.span.end for end, each in zip(ends, applied.replacements, strict=False)
        )
        assert all(case.text[each.span.start : each.span.end] != each.new_text for each in applied.replacements)


TEXTS = st.lists(st.text(alphabet="abé -–\t", max_size=4), max_size=12)


@given(TEXTS, TEXTS, st.sampled_from(["\n", "\r\n"]))
def test_a_patch_made_from_two_texts_makes_the_second_of_the_first(old: list[str], new: list[str], end: str) -> None:
    body = ["@@"]
    for tag, begin, until, there, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        mark = " " if tag == "equal" else "-"
        body += [mark + line for line in old[begin:until]]
        body += ["+" + line for line in new[there:to] if tag != "equal"]
    if len(body) == 1:
        return
    applied = patched("".join(line + end for line in old), *body)
    assert applied.text == "".join(line + (end if old else "\n") for line in new)


@given(TEXTS, st.integers(0, 11))
def test_a_refused_patch_and_an_applied_one_never_touch_the_lines_before_the_chunk(lines: list[str], at: int) -> None:
    numbered = [f"{number}{line}" for number, line in enumerate(lines)]
    if at >= len(numbered):
        return
    text = "".join(f"{line}\n" for line in numbered)
    applied = patched(text, "@@", f"-{numbered[at]}", "+new")
    before = sum(len(line) + 1 for line in numbered[:at])
    assert applied.replacements == (Replacement(Span(before, before + len(numbered[at]) + 1), "new\n"),)
