"""The store's tools, called by a client in memory over a store in a folder."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from ekiden_config import default_settings
from ekiden_kit.build import build_server
from ekiden_store import Step, Store
from ekiden_store.server import SERVER
from tool_answers import answer, refusal

SECRET = "ghp_" + "a1B2" * 9

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[Client]:
    packaged = default_settings()
    store = packaged.store.model_copy(update={"folder": str(folder)})
    async with Client(build_server([SERVER], packaged.model_copy(update={"store": store}))) as client:
        yield client


def proof(theorem: str, attempt: str) -> list[dict[str, Any]]:
    shared = {"theorem_name": theorem, "kind": "tactic", "run_id": "r", "attempt_id": attempt}
    return [
        {**shared, "step": 0, "state_id": 0, "state_pp": f"⊢ {theorem}", "label": "positive"},
        {
            **shared, "step": 1, "state_id": 1, "parent_state_id": 0, "tactic_applied": "simp", "label": "positive",
            "depth_from_root": 1, "is_proof_complete": True, "outcome": "ok",
        },
        {
            **shared, "step": 2, "state_id": 2, "parent_state_id": 0, "tactic_applied": "omega",
            "state_before": f"⊢ {theorem}", "depth_from_root": 1, "outcome": "failed", "failure_kind": "omega_failed",
        },
    ]  # fmt: skip


async def test_attempts_are_stored_counted_and_shown_as_a_tree(tmp_path: Path) -> None:
    async with served(tmp_path / "store") as client:
        stored = await answer(client, "trajectory_append", steps=proof("p", "a1") + proof("q", "a2"))
        assert len(stored["row_ids"]) == 6
        stats = await answer(client, "trajectory_stats")
        assert (stats["rows"], stats["proved"], stats["attempted"]) == (6, 2, 2)
        assert stats["labels"] == {"positive": 4, "negative": 0, "unknown": 2}
        tree = await answer(client, "trajectory_tree", theorem="p")
        assert tree["lines"] == [
            "a1 of r: proved",
            "  0 (root) => ⊢ p [positive]",
            "    1 simp => no goals [positive]",
            "    2 omega => failed: omega_failed",
        ]
    with Store(tmp_path / "store").snapshot() as snapshot:
        assert set(snapshot.dataset().to_table().column("origin").to_pylist()) == {"agent"}


async def test_rows_are_listed_page_by_page_each_once_and_the_newest_first(tmp_path: Path) -> None:
    with Store(tmp_path / "store").writer() as writer:
        writer.append(Step(theorem_name="t", kind="message", timestamp_ms=n // 3, step=n % 3) for n in range(23))
    seen: list[tuple[int, int]] = []
    async with served(tmp_path / "store") as client:
        page = await answer(client, "trajectory_query", limit=10)
        while True:
            seen += [(row.get("timestamp_ms", 0), row.get("step", 0)) for row in page["steps"]]
            if not page["next_cursor"]:
                break
            Store(tmp_path / "store").compact()
            page = await answer(client, "trajectory_query", limit=10, cursor=page["next_cursor"])
        assert seen == [(n // 3, n % 3) for n in reversed(range(23))]
        assert "no such cursor" in await refusal(client, "trajectory_query", cursor="x")


async def test_secrets_are_not_shown_and_long_texts_are_cut(tmp_path: Path) -> None:
    async with served(tmp_path / "store") as client:
        row = {"theorem_name": "t", "kind": "tool_call", "attempt_id": "a", "tool": "sh", "tool_input": SECRET}
        await answer(client, "trajectory_append", steps=[{**row, "tool_output": "x" * 9_000}])
        page = await answer(client, "trajectory_query")
        tree = await answer(client, "trajectory_tree", attempt="a")
        assert SECRET not in json.dumps([page, tree])
        assert page["steps"][0]["tool_output"].endswith("… (9000 characters)")
        assert tree["lines"][0].startswith("0 tool_call sh([redacted:github_token])")


async def test_proofs_with_sorry_are_told_apart(tmp_path: Path) -> None:
    given_up = [row | {"tactic_applied": "sorry"} if row["step"] == 1 else row for row in proof("p", "a1")]
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=given_up + proof("q", "a2"))
        stats = await answer(client, "trajectory_stats")
        assert (stats["attempted"], stats["proved"], stats["gave_up"]) == (2, 1, 1)


async def test_an_attempt_that_a_judge_accepted_is_proved_whatever_its_states_say(tmp_path: Path) -> None:
    verdict = {"theorem_name": "p", "kind": "verdict", "run_id": "r", "verdict": "accepted", "is_proof_complete": True}
    refused = [verdict | {"attempt_id": "a2", "outcome": "failed"}]
    async with served(tmp_path / "store") as client:
        states = [*proof("p", "a1")[::2], *proof("p", "a2")[::2]]
        await answer(client, "trajectory_append", steps=[*states, verdict | {"attempt_id": "a1"}, *refused])
        lines = (await answer(client, "trajectory_tree", theorem="p"))["lines"]
        assert [line for line in lines if " of r" in line] == ["a1 of r: proved", "a2 of r: not proved"]
        assert (await answer(client, "trajectory_stats", theorem="p"))["proved"] == 1


async def test_a_data_set_is_made_of_a_mix_in_the_folder_of_the_store_alone(tmp_path: Path) -> None:
    proofs = {"name": "proofs", "rows": {"labels": ["positive"]}, "subsample": 9}
    mix: dict[str, Any] = {"seed": 1, "sources": [proofs]}
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=proof("p", "a1") + proof("q", "a2"))
        made = await answer(client, "trajectory_build_dataset", name="first", mix=mix)
        assert (made["folder"], made["lines"]) == ("datasets/first", {"train.jsonl": 2})
        assert made["remarks"] == ["The source 'proofs' was to give 9 examples and has 2."]
        lines = (tmp_path / "store" / "datasets" / "first" / "train.jsonl").read_text().splitlines()
        assert sorted(json.loads(line)["state"] for line in lines) == ["⊢ p", "⊢ q"]
        again = await refusal(client, "trajectory_build_dataset", name="first", mix=mix)
        assert "is there already" in again
        assert str(tmp_path) not in again
        assert await refusal(client, "trajectory_build_dataset", name="../out", mix=mix)
        reading = {"seed": 1, "sources": [{"kind": "file", "name": "passwords", "path": "/etc/passwd"}]}
        listing = mix | {"left_out": {"files": ["/etc/passwd"]}}
        for given in (reading, listing):
            assert "not read here" in await refusal(client, "trajectory_build_dataset", name="second", mix=given)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"theorem_name": "t"}, "A step needs 'kind'"),
        ({"theorem_name": "t", "kind": "tactic", "tactics": "simp"}, "There is no column 'tactics'"),
        ({"theorem_name": "t", "kind": "tactic", "state_id": -1}, "The column 'state_id' holds a whole number"),
        ({"theorem_name": "t", "kind": "thought"}, "The column 'kind' holds one of"),
    ],
)
async def test_a_row_that_does_not_fit_is_refused_and_nothing_is_stored(
    tmp_path: Path, row: dict[str, Any], why: str
) -> None:
    async with served(tmp_path / "store") as client:
        good = {"theorem_name": "t", "kind": "message"}
        assert why in await refusal(client, "trajectory_append", steps=[good, row])
        assert (await answer(client, "trajectory_stats"))["rows"] == 0


async def test_states_are_not_encoded_without_an_encoder(tmp_path: Path) -> None:
    async with served(tmp_path / "store") as client:
        assert "[store.encoder]" in await refusal(client, "trajectory_embed")


def test_the_server_starts_without_pyarrow() -> None:
    program = "import sys, ekiden_store.server; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=50)
