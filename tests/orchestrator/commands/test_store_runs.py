"""The runs of a store, and runs beside each other, as a user asks for them."""

import json
from pathlib import Path

import pytest

from command_line import ekiden
from ekiden_store import Step, Store


def proof(theorem: str, run: str, depth: int = 1, *, is_proved: bool = True) -> Step:
    return Step(
        theorem_name=theorem,
        kind="tactic",
        run_id=run,
        depth_from_root=depth,
        is_proof_complete=is_proved,
        cost_nanodollars=10_000_000,
        timestamp_ms=1_767_225_600_000,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with Store(folder).writer() as writer:
        for number in range(10):
            writer.append([proof(f"t{number}", "old", is_proved=number < 2), proof(f"t{number}", "new", 2)])
            writer.append([proof(f"t{number}", "half") for _ in range(number < 4)])
    return folder


def test_runs_are_listed(folder: Path):
    listed = ekiden("store", "runs", "--store", folder)
    assert listed.stdout.splitlines() == [
        "run   attempted  proved   share   cost  rows    last row (UTC)",
        "half          4       4  100.0%  $0.04     4  2026-01-01 00:00",
        "new          10      10  100.0%  $0.10    10  2026-01-01 00:00",
        "old          10       2   20.0%  $0.10    10  2026-01-01 00:00",
    ]
    assert [run["run"] for run in json.loads(ekiden("store", "runs", "--store", folder, "--json").stdout)] == [
        "half",
        "new",
        "old",
    ]


def test_runs_are_compared_and_what_the_figures_mean_is_said(folder: Path):
    told = ekiden("store", "compare", "old", "new", "--store", folder)
    assert (told.exit_code, told.stdout) == (
        0,
        """\
run  attempted  proved   share     95 %   cost  a proof
old         10       2   20.0%    6-51%  $0.10    $0.05
new         10      10  100.0%  72-100%  $0.10    $0.01

Proved, by the tactics of the shortest proof:
run  1   2
old  2   0
new  0  10

new against old, over 10 theorems asked of both:
  proved by both 2, by neither 0, by old alone 0, by new alone 8
  difference +80.0 points (95 %: +38.4 to +94.3); p = 0.0078 (McNemar)
  new proves more; chance alone hardly makes such a difference.
  by new alone: t2, t3, t4, t5, t6 and 3 more (--json names all)
""",
    )
    pair = json.loads(ekiden("store", "compare", "old", "new", "--store", folder, "--json").stdout)["pairs"][0]
    assert (pair["table"]["only_second"], len(pair["newly_proved"])) == (8, 8)


def test_a_partial_run_beside_a_full_one_is_said_to_be_one(tmp_path: Path, folder: Path):
    told = ekiden("store", "compare", "old", "half", "both=half,new", "--store", folder)
    assert (told.exit_code, "'half' cannot be compared with itself" in told.stderr) == (2, True)
    told = ekiden("store", "compare", "old", "half", "--store", folder).stdout
    assert "half against old, over 4 theorems asked of both:" in told
    assert "with fewer than 6 theorems apart none can be told" in told
    assert "left out: 6 theorems asked of old alone" in told
    assert "The runs were not asked the same theorems" in told
    asked = tmp_path / "asked.txt"
    asked.write_text("".join(f"t{number}\n" for number in range(20)))
    told = ekiden("store", "compare", "old", "half", "--store", folder, "--asked", asked).stdout
    assert "half     20          4       4  20.0%" in told
    assert "not asked the same" not in told


def test_what_cannot_be_compared_is_bad_input(folder: Path):
    for arguments, reason in (
        (["old"], "name two runs at least"),
        (["old", "old"], "'old' is named twice"),
        (["old", "=new"], "'=new' names no run"),
        (["old", "news"], "no run 'news' with attempts in the store; the nearest is 'new'"),
    ):
        done = ekiden("store", "compare", *arguments, "--store", folder)
        assert (done.exit_code, reason in done.stderr) == (2, True), done.stderr


def test_a_store_without_rows_lists_no_run(tmp_path: Path):
    Store(tmp_path / "store")
    done = ekiden("store", "runs", "--store", tmp_path / "store")
    assert (done.exit_code, done.stdout) == (0, "The store holds no rows yet.\n")
