"""Questions that are answered with rows."""

from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.queries.asking import Question, answer
from ekiden_store.queries.row_filter import RowFilter
from servers.store.test_stats import filled, lost_tree, proved_tree

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return filled(
        tmp_path / "store",
        *proved_tree("a", run_id="r"),
        *lost_tree("b", run_id="r"),
        Step(theorem_name="c", kind="tool_call", run_id="s", timestamp_ms=1, tool_output=f"Key {SECRET}"),
    )


def asked(store: Store, **question: Any) -> list[dict[str, Any]]:
    with store.snapshot() as snapshot:
        return answer(snapshot, Question(**question)).reader.read_all().to_pylist()


def test_pages_hold_every_row_once_and_without_secrets(store: Store):
    seen: list[str] = []
    cursor = ""
    with store.snapshot() as snapshot:
        everything = set(snapshot.dataset().to_table().column("row_id").to_pylist())
        while True:
            found = answer(snapshot, Question(limit=3, cursor=cursor))
            seen += found.reader.read_all().column("row_id").to_pylist()
            if not (cursor := found.next_cursor):
                break
    assert (len(seen), set(seen)) == (len(everything), everything)
    assert SECRET not in str(asked(store))
    assert [row["tool_output"] for row in asked(store, text="KEY G")] == ["Key [redacted:github_token]"]


def test_rows_are_chosen_by_what_they_say(store: Store):
    assert {row["theorem_name"] for row in asked(store, rows=RowFilter(runs=("r",)))} == {"a", "b"}
    assert asked(store, text="nothing says this") == []
    assert asked(store, rows=RowFilter(theorems=("c",)), columns=("kind", "step")) == [{"kind": "tool_call", "step": 0}]


def test_samples_and_unique_rows_are_those_of_the_library(store: Store):
    assert len(asked(store, sample=2, seed=1)) == 2
    assert asked(store, sample=2, seed=1) == asked(store, sample=2, seed=1)
    assert sorted(row["theorem_name"] for row in asked(store, sample=1, each="theorem")) == ["a", "b", "c"]
    assert sorted(row["theorem_name"] for row in asked(store, unique=("theorem_name",))) == ["a", "b", "c"]
    assert len(asked(store, unique=("theorem_name",), limit=2)) == 2


def test_tactics_proofs_and_pairs_come_with_the_state_before(store: Store):
    proofs = asked(store, show="proofs")
    assert [(step["proof"], step["theorem"]) for step in proofs] == [(0, "a")] * len(proofs)
    assert all(step["state"] for step in proofs)
    assert asked(store, show="proofs", min_steps=len(proofs) + 1) == []
    tactics = asked(store, show="tactics", rows=RowFilter(labels=("positive",)))
    assert {step["tactic"] for step in proofs} <= {step["tactic"] for step in tactics}
    pairs = asked(store, show="pairs", failed=True)
    assert all(pair["positive"] != pair["negative"] for pair in pairs)
    needle = tactics[0]["tactic"].upper()
    assert asked(store, show="tactics", rows=RowFilter(labels=("positive",)), text=needle, limit=1) == tactics[:1]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"columns": ("nope",)}, "no column 'nope'"),
        ({"unique": ("nope",)}, "no column 'nope'"),
        ({"sample": 1, "unique": ("kind",)}, "A sample and unique rows cannot be had together"),
        ({"sample": 1, "show": "tactics"}, "A sample can be had of rows alone, not of tactics"),
        ({"columns": ("kind",), "show": "pairs"}, "Columns can be had of rows alone"),
        ({"each": "label"}, "Say how many rows are wanted for each label"),
        ({"cursor": "1,2,x"}, "A page needs a limit"),
        ({"cursor": "x", "limit": 1}, "no such cursor: 'x'"),
        ({"show": "proofs", "rows": RowFilter(labels=("positive",))}, "Proofs are chosen by run, attempt and theorem"),
    ],
)
def test_what_cannot_be_asked_is_refused(store: Store, question: dict[str, Any], reason: str):
    with pytest.raises(StoreError, match=reason):
        asked(store, **question)
