import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_patch import Chunk, Patch, PatchError, PatchLine, check_target, parse_patch


def patch(*body: str) -> str:
    return "\n".join(("*** Begin Patch", *body, "*** End Patch"))


def refusal(text: str) -> PatchError:
    with pytest.raises(PatchError) as caught:
        parse_patch(text)
    return caught.value


def test_a_patch_is_read_into_chunks_with_the_lines_where_they_stand() -> None:
    text = patch(
        "*** Update File: Main.lean",
        "@@ theorem foo",
        " by",
        "-  sorry",
        "+  simp",
        "",
        "@@",
        "+end",
        "*** End of File",
        "",
        "@@",
        "-x",
    )
    assert parse_patch(text) == Patch(
        path="Main.lean",
        chunks=(
            Chunk(
                header="theorem foo",
                lines=(
                    PatchLine("context", "by", 4),
                    PatchLine("removed", "  sorry", 5),
                    PatchLine("added", "  simp", 6),
                    PatchLine("context", "", 7),
                ),
                at_end_of_file=False,
                number=3,
            ),
            Chunk(header=None, lines=(PatchLine("added", "end", 9),), at_end_of_file=True, number=8),
            Chunk(header=None, lines=(PatchLine("removed", "x", 13),), at_end_of_file=False, number=12),
        ),
    )


def test_old_and_new_lines_share_the_context() -> None:
    (chunk,) = parse_patch(patch("@@", " a", "-b", "+B", " c")).chunks
    assert (chunk.old_lines, chunk.new_lines) == (("a", "b", "c"), ("a", "B", "c"))


def test_the_file_and_the_first_marker_may_be_left_out() -> None:
    assert parse_patch(patch("-a", "+b")) == Patch(
        (Chunk(None, (PatchLine("removed", "a", 2), PatchLine("added", "b", 3)), False, 2),), None
    )


@pytest.mark.parametrize(
    "dressed",
    [
        "\n\n  {}  \n",
        "<<EOF\n{}\nEOF",
        "<<'EOF'\n{}\nEOF\n",
        '<<"EOF"\n{}\nEOF',
        "\u2028{}\u00a0",
    ],
)
def test_what_stands_around_a_patch_does_not_matter(dressed: str) -> None:
    plain = patch("*** Update File: f", "@@", "-a", "+b")
    assert [(chunk.old_lines, chunk.new_lines) for chunk in parse_patch(dressed.format(plain)).chunks] == [
        (("a",), ("b",))
    ]


def test_line_numbers_count_what_stands_before_the_patch() -> None:
    assert refusal("\n\n<<EOF\n" + patch("@@", "-a", "junk") + "\nEOF").details == {"patch_line": 7}


def test_markers_may_be_padded_on_the_right_and_indented_ones_are_lines_of_the_file() -> None:
    (chunk,) = parse_patch(
        patch("  *** Update File: f  ", "@@  ", " @@", " *** End of File", "+x", "*** End of File ")
    ).chunks
    assert (chunk.old_lines, chunk.at_end_of_file) == (("@@", "*** End of File"), True)


def test_only_line_feeds_end_the_lines_of_a_patch() -> None:
    (chunk,) = parse_patch(patch("@@", "-a\u2028b\x0cc\x0bd\re\x85f", "+g").replace("\n", "\r\n")).chunks
    assert (chunk.old_lines, chunk.new_lines) == (("a\u2028b\x0cc\x0bd\re\x85f",), ("g",))


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "no_begin_marker", 1),
        ("```\n" + patch("@@", "-a") + "\n```", "no_begin_marker", 1),
        ("*** Begin Patch", "no_end_marker", 1),
        ("*** Begin Patch\n@@\n-a", "no_end_marker", 3),
        (patch("@@", "-a", "*** End Patch", "x"), "misplaced_end_marker", 5),
        (patch(), "no_chunks", None),
        (patch("*** Update File: f"), "no_chunks", 2),
        (patch("*** Update File: f", "*** End of File"), "no_chunks", 2),
        (patch("@@"), "empty_chunk", 2),
        (patch("@@", "@@", "-a"), "empty_chunk", 3),
        (patch("@@", "*** End of File"), "empty_chunk", 3),
        (patch("@@", "-a", "junk"), "bad_line", 4),
        (patch("@@", "-a", "*** End of File", "-b"), "bad_line", 5),
        (patch("@@", "-a", "*** End of File", "*** End of File"), "bad_line", 5),
        (patch("junk"), "bad_header", 2),
        (patch("*** Update File:", "-a"), "bad_header", 2),
        (patch("*** Add File: f", "+a"), "file_operation", 2),
        (patch("*** Delete File: f"), "file_operation", 2),
        (patch("*** Update File: f", "*** Move to: g", "-a"), "file_operation", 3),
        (patch("*** Environment ID: far", "*** Update File: f", "-a"), "file_operation", 2),
        (patch("*** Update File: f", "-a", "*** Update File: g", "-a"), "several_files", 4),
    ],
)
def test_a_broken_patch_is_refused_with_a_code_and_the_line(text: str, code: str, line: int | None) -> None:
    error = refusal(text)
    assert (error.code, error.details.get("patch_line")) == (code, line)


def test_a_refusal_shows_the_line_and_the_way_out() -> None:
    assert refusal(patch("@@", "-a", "theorem foo")).message == (
        "Line 4 of the patch is 'theorem foo'; a line of a chunk starts with ' ', '-' or '+', and only a new chunk "
        "('@@') or the end of the patch can follow."
    )


def test_a_second_section_of_the_same_file_is_told_apart() -> None:
    parsed = parse_patch(patch("*** Update File: f", "-a", "*** Update File: ./f", "-b"))
    assert [(chunk.section, chunk.old_lines) for chunk in parsed.chunks] == [(0, ("a",)), (1, ("b",))]


@pytest.mark.parametrize("path", ["Main.lean", "./Main.lean", "docs/../Main.lean", "/work/Main.lean"])
def test_a_patch_may_name_its_file_by_any_of_its_names(path: str) -> None:
    check_target(parse_patch(patch(f"*** Update File: {path}", "-a")), ["Main.lean", "/work/Main.lean"])


def test_a_patch_that_names_another_file_is_refused() -> None:
    with pytest.raises(PatchError, match=r"updates 'Other\.lean', but only 'Main\.lean' can be edited") as caught:
        check_target(parse_patch(patch("*** Update File: Other.lean", "-a")), ["Main.lean"])
    assert (caught.value.code, caught.value.details) == ("wrong_file", {"path": "Other.lean", "target": "Main.lean"})


PIECES = ["*** Begin Patch\n", "*** End Patch", "*** Update File: f\n", "@@\n", "-a\n", *"*@ +-ab\n\r\t\u2028"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_is_read_into_full_chunks_or_refused(text: str) -> None:
    try:
        parsed = parse_patch(text)
    except PatchError:
        return
    assert parsed.chunks
    assert all(chunk.lines for chunk in parsed.chunks)
