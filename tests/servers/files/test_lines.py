"""Logs that only grow."""

from pathlib import Path

import pytest

from ekiden_files import FilesError, append_line, read_lines


def test_a_log_that_is_not_there_is_empty(tmp_path: Path):
    assert read_lines(tmp_path / "log") == []


@pytest.mark.parametrize("sync", [False, True])
def test_lines_come_back_in_order(tmp_path: Path, sync: bool):
    log = tmp_path / "log"
    lines: list[dict[str, object]] = [{"a": 1}, {"text": "two\nlines, ü"}, {"big": "x" * 200_000}, {"b": None}]
    for line in lines:
        append_line(log, line, sync=sync)
    assert read_lines(log) == lines


@pytest.mark.parametrize(
    "tail",
    [b"{", b'{"b":', b'{"b": 2}', b"\0" * 70_000, b"\0\0\0\n", b"[1]\n", b'{"b": "' + b"x" * 200_000],
    ids=lambda tail: f"{tail[:8]!r}{len(tail)}",
)
@pytest.mark.parametrize("before", [[], [{"a": 1}], [{"a": "y" * 70_000}, {"a": 2}]], ids=["none", "one", "two"])
def test_a_last_line_that_was_never_finished_is_left_out_and_goes_with_the_next(
    tmp_path: Path, before: list[dict[str, object]], tail: bytes
):
    log = tmp_path / "log"
    for line in before:
        append_line(log, line)
    with log.open("ab") as file:
        file.write(tail)
    assert read_lines(log) == before
    append_line(log, {"next": True})
    assert read_lines(log) == [*before, {"next": True}]


def test_damage_before_the_end_is_told_with_its_place(tmp_path: Path):
    log = tmp_path / "log"
    log.write_text('{"a": 1}\nnonsense\n{"b": 2}\n')
    with pytest.raises(FilesError, match=r"log:2: this line of the log is damaged"):
        read_lines(log)
