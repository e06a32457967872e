"""`ekiden cayley scan` as a user types it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from command_line import Done, ekiden

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str | Path) -> Done:
    return ekiden("cayley", "scan", *arguments)


def test_a_scan_prints_pairs_refuted_and_seconds(tmp_path: Path) -> None:
    laws = tmp_path / "laws.txt"
    laws.write_text("x = x\nx = y\nx ◇ y = y ◇ x\n", encoding="utf-8")
    result = run(laws, "--out", tmp_path / "out")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "9 ordered pairs of 3 laws"
    assert lines[1].startswith("3 refuted (33.33 %) with ")
    assert lines[2].endswith(" seconds")
    assert (tmp_path / "out" / "refuted.npy").exists()


def test_json_output_is_the_report_alone(tmp_path: Path) -> None:
    laws = tmp_path / "laws.txt"
    laws.write_text("x = x\nx = y", encoding="utf-8")
    result = run(laws, "--out", tmp_path / "out", "--json", "--parquet", "--time-limit", "60")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads((tmp_path / "out" / "scan.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = y\nx = (y\n", "laws.txt:2: Cannot read the law 'x = (y'"),
        ("x = y\n\nx = x\n", "laws.txt:2: Cannot read the law ''"),
        ("", "holds no laws"),
    ],
)
def test_a_malformed_file_names_its_line_and_exits_2(tmp_path: Path, text: str, message: str) -> None:
    laws = tmp_path / "laws.txt"
    laws.write_text(text, encoding="utf-8")
    result = run(laws, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_file_and_a_folder_that_cannot_be_written_exit_2(tmp_path: Path) -> None:
    laws = tmp_path / "laws.txt"
    laws.write_text("x = x\n", encoding="utf-8")
    assert run(tmp_path / "none.txt", "--out", tmp_path / "out").exit_code == 2
    assert run(laws, "--out", laws).exit_code == 2
