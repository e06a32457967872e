from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_patch import PatchError, apply_patch, parse_patch
from ekiden_patch.matching import LineTable


def patch(*body: str) -> str:
    return "\n".join(("*** Begin Patch", *body, "*** End Patch"))


def applied(text: str, *body: str) -> str:
    return apply_patch(text, parse_patch(patch(*body))).text


def refusal(text: str, *body: str) -> PatchError:
    with pytest.raises(PatchError) as caught:
        applied(text, *body)
    return caught.value


@pytest.mark.parametrize(
    ("lines", "wanted", "level", "places"),
    [
        (["a ", "a", " a", "a"], ["a"], "exact", [1, 3]),
        (["a ", " a", "a\u2028"], ["a"], "right_trimmed", [0, 2]),
        ([" a ", "b"], ["a"], "trimmed", [0]),
        (["“a” – b\u00a0c", "d"], ["\"a\" - b c"], "folded", [0]),
        (["a", "b", "a", "b"], ["a", "b"], "exact", [0, 2]),
        (["x", "x", "x"], ["x", "x"], "exact", [0, 1]),
    ],
)  # fmt: skip
def test_the_closest_level_at_which_there_is_a_place_wins(
    lines: list[str], wanted: list[str], level: str, places: list[int]
) -> None:
    assert LineTable(lines).find(wanted) == (level, places)


@pytest.mark.parametrize("other", ["a\x1f", "a\u200b", "a\ufeff", "b", "e\u0301"])
def test_what_is_no_blank_and_no_twin_does_not_match(other: str) -> None:
    assert LineTable(["a", "\u00e9"]).find([other]) is None


LINES = st.lists(st.sampled_from(["a", "b", "a ", " b", "", "–", "-"]), max_size=12)


FOLDS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    lambda line: line.rstrip(),
    lambda line: line.strip(),
    lambda line: line.strip().replace("–", "-"),
)


@given(LINES, st.lists(st.sampled_from(["a", "b", "", "-"]), min_size=1, max_size=3), st.integers(0, 12))
def test_places_are_those_of_a_plain_scan(lines: list[str], wanted: list[str], start: int) -> None:
    starts = range(start, len(lines) - len(wanted) + 1)
    expected: list[int] = []
    for fold in FOLDS:
        folded = [fold(line) for line in wanted]
        expected = expected or [at for at in starts if [fold(line) for line in lines[at : at + len(wanted)]] == folded]
    found = LineTable(lines).find(wanted, start)
    assert (found[1] if found else []) == expected


def test_ambiguous_lines_are_refused_with_the_places() -> None:
    error = refusal("f\n  sorry\ng\n  sorry\n", "@@", "-  sorry", "+  simp")
    assert error.code == "ambiguous"
    assert error.details == {
        "patch_line": 2,
        "count": 2,
        "candidates": [{"line": 2, "text": "  sorry"}, {"line": 4, "text": "  sorry"}],
    }
    assert error.message == (
        "Chunk from line 2 of the patch: its old lines match 2 places: line 2 ('  sorry'), line 4 ('  sorry'). Add "
        "context lines, or a '@@' header that stands in the file once, until one place is left."
    )


def test_a_refusal_lists_a_few_of_many_places() -> None:
    error = refusal("x\n" * 500, "-x")
    assert (error.details["count"], "and 492 more" in error.message, len(error.message) < 600) == (500, True, True)


def test_a_closer_match_is_not_ambiguous_with_a_looser_one() -> None:
    assert applied(" a\na\n", "-a", "+b") == " a\nb\n"


def test_a_header_that_stands_in_the_file_once_settles_which_place_is_meant() -> None:
    assert (
        applied("f\n  sorry\ng\n  sorry\nh\n  sorry\n", "@@ g", "-  sorry", "+  simp")
        == "f\n  sorry\ng\n  simp\nh\n  sorry\n"
    )


def test_a_header_that_stands_in_the_file_twice_is_refused_where_it_leaves_two_places() -> None:
    error = refusal("g\n  x\ng\n  x\n", "@@ g", "-  x", "+  y")
    assert error.code == "ambiguous"
    assert error.details["candidates"] == [{"line": 2, "text": "  x"}, {"line": 4, "text": "  x"}]


def test_of_several_headers_only_those_after_the_place_make_another_one() -> None:
    assert applied("g\ng\n  x\n  x\n", "@@ g", "-  x", "+  y") == "g\ng\n  y\n  x\n"
    error = refusal("g\n  x\ng\ng\n  x\n  x\ng\n", "@@ g", "-  x")
    assert error.details["candidates"] == [{"line": 2, "text": "  x"}, {"line": 5, "text": "  x"}]


def test_a_header_that_stands_in_the_file_twice_is_enough_where_it_leaves_one_place() -> None:
    assert applied("by\n  x\nby\n  y\n", "@@ by", "-  y", "+  z") == "by\n  x\nby\n  z\n"


def test_the_chunk_before_and_the_end_of_the_file_settle_which_place_is_meant() -> None:
    assert applied("a\nb\na\n", "@@", "-b", "@@", "-a", "+c") == "a\nc\n"
    assert applied("a\nb\na\n", "@@", "-a", "+c", "*** End of File") == "a\nb\nc\n"


def test_lines_that_are_not_there_are_refused_with_the_nearest_region() -> None:
    error = refusal(
        "def f := 1\n\ntheorem foo : 1 = 1 := by\n  simp\n  rfl\n",
        "@@",
        " theorem foo : 1 = 1 := by",
        "-  simpa",
        " ",
        "   rfl",
    )
    assert error.code == "lines_not_found"
    assert error.details["nearest_line"] == 3
    assert error.details["differences"] == [{"line": 4, "expected": r"'  simpa\n'", "found": "'  simp'"}]
    assert error.message.endswith(
        r"is line 3: at line 4 expected '  simpa\n', found '  simp'. Copy the lines from the file as they are."
    )


def test_what_cannot_be_seen_is_spelled_out_in_a_refusal() -> None:
    assert r"expected 'sim\u200bp x', found 'simp x'" in refusal("simp x\n", "-sim\u200bp x").message


def test_lines_unlike_any_in_the_file_are_refused_without_a_region() -> None:
    assert refusal("a\nb\n", "-zzz").details == {"patch_line": 2, "from_line": 1, "expected": "zzz"}


def test_a_header_that_is_not_there_is_refused_with_the_nearest_line() -> None:
    error = refusal("theorem foo : True := by\n  sorry\n", "@@ theorem foo", "-  sorry")
    assert (error.code, error.details["nearest"]) == (
        "header_not_found",
        [{"line": 1, "text": "theorem foo : True := by"}],
    )


@pytest.mark.parametrize("body", [("@@", "-b", "@@", "-a"), ("@@ b", "-a"), ("@@ b", " c", "@@ a", " b")])
def test_chunks_out_of_order_are_refused_with_where_they_stand(body: tuple[str, ...]) -> None:
    error = refusal("a\nb\nc\n", *body)
    assert (error.code, error.details["lines"]) == ("out_of_order", [1])


def test_lines_before_the_end_of_the_file_are_refused_with_where_they_stand() -> None:
    error = refusal("a\nb\n", "-a", "*** End of File")
    assert (error.code, error.details["lines"]) == ("not_at_end_of_file", [1])


def test_a_refusal_of_a_large_file_stays_small() -> None:
    text = "".join(f"theorem lemma_{number} : {number} = {number} := by rfl\n" for number in range(15_000))
    error = refusal(text, "@@", *(f"-theorem lemma_{number} : {number} = 0 := by rfl" for number in range(40)))
    assert len(error.message) < 3000


@given(st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=6), st.integers(0, 5))
def test_a_patch_is_refused_exactly_when_its_lines_stand_in_several_places(lines: list[str], at: int) -> None:
    window = lines[at % len(lines) :][:2]
    body = [f"-{line}" for line in window]
    places = [index for index in range(len(lines)) if lines[index : index + len(window)] == window]
    text = "".join(f"{line}\n" for line in lines)
    if len(places) > 1:
        assert refusal(text, *body).code == "ambiguous"
    else:
        assert applied(text, *body) == "".join(
            f"{line}\n" for line in lines[: places[0]] + lines[places[0] + len(window) :]
        )
