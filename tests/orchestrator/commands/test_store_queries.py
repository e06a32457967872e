"""Questions that `ekiden store` answers with rows, as a user asks them."""

import json
from pathlib import Path

import pytest

from command_line import ekiden
from ekiden_store import Step, Store
from ekiden_store.arrow import pq

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with Store(folder).writer() as writer:
        writer.append(
            [
                Step(theorem_name="add_zero", kind="tactic", run_id="r1", state_pp="⊢ n + 0 = n", label="positive"),
                Step(theorem_name="add_zero", kind="tool_call", run_id="r1", step=1, tool_output=f"key {SECRET}"),
            ]
        )
    return folder


def test_sql_is_answered_as_a_table_as_json_as_csv_and_as_a_file(tmp_path: Path, folder: Path):
    query = "SELECT kind, step, tool_output FROM steps ORDER BY step"
    shown = ekiden("store", "sql", query, "--store", folder)
    assert (shown.exit_code, shown.stdout.splitlines()) == (
        0,
        [
            "kind       step  tool_output",
            "tactic        0",
            "tool_call     1  key [redacted:github_token]",
        ],
    )
    rows = [
        {"kind": "tactic", "step": 0, "tool_output": ""},
        {"kind": "tool_call", "step": 1, "tool_output": "key [redacted:github_token]"},
    ]
    lines = ekiden("store", "sql", query, "--store", folder, "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows
    told = ekiden("store", "sql", query, "--store", folder, "--csv").stdout
    assert told == "kind,step,tool_output\ntactic,0,\ntool_call,1,key [redacted:github_token]\n"
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        done = ekiden("store", "sql", query, "--store", folder, "--out", tmp_path / name)
        assert done.stdout == f"{tmp_path / name}: 2 rows\n"
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == rows
    assert (tmp_path / "a.csv").read_text() == told
    assert (tmp_path / "a.jsonl").read_text().splitlines() == lines


def test_a_query_that_cannot_be_answered_is_bad_input(tmp_path: Path, folder: Path):
    wrong = ekiden("store", "sql", "SELECT nope FROM steps", "--store", folder)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert 'Referenced column "nope" not found' in wrong.stderr
    unknown = ekiden("store", "sql", "SELECT 1", "--store", folder, "--out", tmp_path / "a.xlsx")
    assert (unknown.exit_code, "a name ends in .parquet, .csv or .jsonl" in unknown.stderr) == (2, True)
    twice = ekiden("store", "sql", "SELECT 1", "--store", folder, "--json", "--csv")
    assert (twice.exit_code, "Say one of --out, --json and --csv" in twice.stderr) == (2, True)
    nowhere = ekiden("store", "sql", "SELECT 1", "--store", folder, "--out", tmp_path / "none" / "a.csv")
    assert (nowhere.exit_code, "cannot be written: No such file or directory" in nowhere.stderr) == (2, True)


def test_rows_are_listed_a_page_at_a_time_and_without_secrets(folder: Path):
    first = ekiden("store", "query", "--limit", 1, "--store", folder)
    assert first.stdout.splitlines() == [
        "theorem   run  attempt  step  kind       what",
        "add_zero  r1               1  tool_call  () -> key [redacted:github_token]",
    ]
    cursor = first.stderr.split("--after ")[1].strip()
    second = ekiden("store", "query", "--limit", 1, "--after", cursor, "--store", folder)
    assert (second.stdout.splitlines()[1].split(), second.stderr) == (
        ["add_zero", "r1", "0", "tactic", "(root)", "=>", "⊢", "n", "+", "0", "=", "n", "[positive]"],
        "",
    )


def test_rows_are_filtered_sampled_and_written_to_files(tmp_path: Path, folder: Path):
    out = tmp_path / "rows.parquet"
    done = ekiden("store", "query", "--kind", "tactic", "--label", "positive", "--out", out, "--store", folder)
    assert (done.exit_code, done.stdout) == (0, f"{out}: 1 rows\n")
    assert pq.read_table(out).column_names[0] == "theorem_name"
    several = ("--kind", "tactic,tool_call", "--label", "positive, unknown", "--origin", "search,agent")
    both = ekiden("store", "query", *several, "--columns", "kind", "--csv", "--store", folder)
    assert both.stdout.split() == ["kind", "tool_call", "tactic"]
    sampled = ekiden("store", "query", "--sample", 1, "--each", "kind", "--columns", "kind", "--csv", "--store", folder)
    assert sorted(sampled.stdout.splitlines()) == ["kind", "tactic", "tool_call"]
    names = tmp_path / "names.txt"
    names.write_text("add_zero\n")
    none = ekiden("store", "query", "--without", names, "--store", folder)
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "There are no such rows.\n")
    told = ekiden("store", "query", "--show", "tactics", "--json", "--store", folder)
    assert (told.stdout, told.stderr) == ("", "There are no such rows.\nLeft out: 1 root\n")


def test_what_cannot_be_asked_is_bad_input(folder: Path):
    done = ekiden("store", "query", "--columns", "nope", "--store", folder)
    assert (done.exit_code, "There is no column 'nope'" in done.stderr) == (2, True)
    done = ekiden("store", "query", "--kind", "nope", "--store", folder)
    assert (done.exit_code, "There is no kind 'nope'. Say one or more of search_node" in done.stderr) == (
        2,
        True,
    )
