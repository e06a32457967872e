"""The store's server as agents use it: large pages, batches sent again, odd input, and compaction beside the calls."""

import json
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from ekiden_config import default_settings
from ekiden_kit.build import build_server
from ekiden_store import Step, Store
from ekiden_store.layout import Layout
from ekiden_store.server import SERVER
from ekiden_store.serving.pages import PAGE_CHARS
from ekiden_store.serving.tidying import Tidier
from tool_answers import answer, refusal

pytestmark = pytest.mark.anyio

ROW = {"theorem_name": "t", "kind": "tactic", "attempt_id": "a", "run_id": "r"}


@asynccontextmanager
async def served(folder: Path, **settings: object) -> AsyncGenerator[Client]:
    packaged = default_settings()
    store = packaged.store.model_copy(update={"folder": str(folder), **settings})
    async with Client(build_server([SERVER], packaged.model_copy(update={"store": store}))) as client:
        yield client


def tall_tree(rows: int) -> list[dict[str, Any]]:
    return [
        {
            **ROW,
            "step": number,
            "state_id": number,
            "parent_state_id": number - 1 if number else None,
            "tactic_applied": "rw [add_comm] " * 9 if number else "",
            "state_pp": f"⊢ {number} " + "x + y = y + x " * 60,
            "lean_messages": ["m" * 1_500] * 50,
        }
        for number in range(rows)
    ]


async def until(true: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not true():
            await anyio.sleep(0.02)


def text_of(page: dict[str, Any]) -> str:
    return json.dumps(page, ensure_ascii=False)


async def test_pages_are_what_a_model_reads_at_once_and_together_all_there_is(tmp_path: Path) -> None:
    async with served(tmp_path / "store") as client:
        for start in range(0, 200, 50):
            await answer(client, "trajectory_append", steps=tall_tree(200)[start : start + 50])
        steps: list[int] = []
        cursor = ""
        while cursor or not steps:
            page = await answer(client, "trajectory_query", limit=50, cursor=cursor)
            assert len(text_of(page)) <= PAGE_CHARS + 500
            steps += [row.get("step", 0) for row in page["steps"]]
            cursor = page["next_cursor"]
        assert sorted(steps) == list(range(200))
        for arguments in ({"theorem": "t"}, {"attempt": "a"}):
            lines: list[str] = []
            while cursor or not lines:
                page = await answer(client, "trajectory_tree", cursor=cursor, **arguments)
                assert len(text_of(page)) <= PAGE_CHARS + 1_000
                lines += page["lines"]
                cursor = page["next_cursor"]
            assert len(lines) in (200, 201), "the tree has a heading"
        deepest = next(line for line in (await answer(client, "trajectory_query"))["steps"] if line["step"] == 199)
        assert deepest["lean_messages"][-1] == "… (50 texts)"


async def test_a_deep_line_of_a_tree_shows_its_tactic(tmp_path: Path) -> None:
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=tall_tree(400))
        page = await answer(client, "trajectory_tree", theorem="t")
        while page["next_cursor"]:
            page = await answer(client, "trajectory_tree", theorem="t", cursor=page["next_cursor"])
        assert " deep) 399 rw [add_comm]" in page["lines"][-1]


async def test_a_batch_that_is_sent_again_is_stored_once(tmp_path: Path) -> None:
    batch = [{**ROW, "row_id": f"mine:{number}", "step": number} for number in range(30)]
    async with served(tmp_path / "store") as client:
        first = await answer(client, "trajectory_append", steps=batch)
        assert first == {"row_ids": ["mine:0", "mine:29"]}
        assert await answer(client, "trajectory_append", steps=batch) == first
        assert (await answer(client, "trajectory_stats"))["rows"] == 30


async def test_a_cursor_of_another_question_or_of_none_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=tall_tree(120))
        rows = (await answer(client, "trajectory_query", limit=1))["next_cursor"]
        lines = (await answer(client, "trajectory_tree", theorem="t"))["next_cursor"]
        assert "another question" in await refusal(client, "trajectory_query", cursor=rows, theorem="t")
        assert "another question" in await refusal(client, "trajectory_tree", cursor=lines, attempt="a")
        assert "another question" in await refusal(client, "trajectory_query", cursor=lines)
        mark = rows.partition(".")[0]
        for cursor in ("x", "9" * 5_000, f"{mark}.", f"{mark}.5", f"{mark}.{'9' * 5_000},1,x", f"{mark}.²,1,x"):
            assert "no such cursor" in await refusal(client, "trajectory_query", cursor=cursor)
        mark = lines.partition(".")[0]
        for cursor in ("-1", f"{mark}.{'9' * 5_000}", f"{mark}.²"):
            assert "no such cursor" in await refusal(client, "trajectory_tree", theorem="t", cursor=cursor)


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("llm_log_prob", "-0.5", "The column 'llm_log_prob' holds a number"),
        ("tokens_in", -5, "The column 'tokens_in' holds a whole number from 0"),
        ("lean_messages", "error", "The column 'lean_messages' holds a list of texts"),
        ("row_id", "x" * 501, "'row_id' has 501 characters; at most 500"),
        ("theorem_name", "", "A step needs 'theorem_name'"),
        ("state", "x", "There is no column 'state'"),
    ],
)
async def test_the_row_of_a_batch_that_does_not_fit_is_named(
    tmp_path: Path, column: str, value: object, why: str
) -> None:
    async with served(tmp_path / "store") as client:
        said = await refusal(client, "trajectory_append", steps=[ROW, ROW, {**ROW, column: value}, ROW])
        assert said.startswith(f"steps[2]: {why}")
        assert said.endswith("Nothing was stored.")
        assert (await answer(client, "trajectory_stats"))["rows"] == 0


async def test_what_is_null_or_not_a_number_counts_as_not_said(tmp_path: Path) -> None:
    row = {**ROW, "state_pp": None, "llm_log_prob": float("nan"), "temperature": None, "lean_messages": None}
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=[row])
        [stored] = (await answer(client, "trajectory_query"))["steps"]
        assert not {"state_pp", "llm_log_prob", "temperature", "lean_messages"} & stored.keys()


async def test_statistics_stay_short_whatever_was_stored(tmp_path: Path) -> None:
    rows = [
        {"theorem_name": f"{number}" + "t" * 400, "kind": "verdict", "verdict": f"v{number}", "depth_from_root": number}
        for number in range(300)
    ]
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=rows)
        stats = await answer(client, "trajectory_stats")
        assert len(text_of(stats)) < PAGE_CHARS
        assert len(stats["verdicts"]) == 20


async def test_a_store_of_a_later_version_is_not_touched(tmp_path: Path) -> None:
    Store(tmp_path / "store")
    (tmp_path / "store" / "store.json").write_text('{"kind": "ekiden trajectory store", "version": 99}')
    async with served(tmp_path / "store") as client:
        for tool, arguments in (("trajectory_append", {"steps": [ROW]}), ("trajectory_stats", {})):
            said = await refusal(client, tool, **arguments)
            assert "has version 99; this Ekiden knows" in said
            assert str(tmp_path) not in said
    assert not [*(tmp_path / "store" / "wal").iterdir()]


async def test_what_many_sessions_left_is_compacted_beside_the_calls(tmp_path: Path) -> None:
    for number in range(3):
        with Store(tmp_path / "store").writer() as writer:
            writer.append([Step(theorem_name=f"t{number}", kind="message")])
    parts = tmp_path / "store" / "parts"
    async with served(tmp_path / "store", compact_files=0) as client:  # the threads that calls run on stay
        assert (await answer(client, "trajectory_stats"))["rows"] == 3
    threads = threading.active_count()
    async with served(tmp_path / "store", compact_files=3) as client:
        assert (await answer(client, "trajectory_stats"))["rows"] == 3
        await until(lambda: bool([*parts.glob("[!.]*.parquet")]))
        assert len((await answer(client, "trajectory_append", steps=[ROW]))["row_ids"]) == 1
        assert (await answer(client, "trajectory_stats"))["rows"] == 4
    assert threading.active_count() <= threads


def test_a_compaction_that_is_under_way_ends_with_its_server_and_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for number in range(3):
        with store.writer() as writer:
            writer.append(Step(theorem_name=f"t{number}", kind="message") for _ in range(100))
    done = store.compact_if_due(files=3, part_rows=100, is_ending=lambda: True)
    assert done is not None
    assert (done.is_complete, done.parts) == (False, 0)
    done = store.compact_if_due(files=3, part_rows=100, seconds=0)
    assert done is not None
    assert (done.is_complete, done.parts) == (False, 0)
    with Layout(tmp_path / "store").changing_parts(wait=True):
        done = store.compact_if_due(files=3, part_rows=100, waits=False)
    assert done is not None
    assert done.is_busy
    assert store.compact_if_due(files=4, part_rows=100) is None
    assert store.compact_if_due(files=0, part_rows=100) is None
    with store.snapshot() as snapshot:
        assert snapshot.count() == 300
    done = store.compact_if_due(files=3, part_rows=100)
    assert done is not None
    assert (done.is_complete, done.rows, done.parts) == (True, 300, 3)
    with store.snapshot() as snapshot:
        assert snapshot.count() == 300


def test_who_does_not_want_it_gets_no_compaction_and_no_thread(tmp_path: Path) -> None:
    settings = default_settings().store.model_copy(update={"folder": str(tmp_path), "compact_files": 0})
    before = threading.active_count()
    tidier = Tidier(settings)
    tidier.look(Store(tmp_path / "store"))
    assert threading.active_count() == before
    tidier.close()


async def test_the_server_does_the_same_as_a_process_of_its_own(tmp_path: Path) -> None:
    serve = "from ekiden_orchestrator.main import main; main()"
    process = StdioServerParameters(
        command=sys.executable,
        args=["-c", serve, "serve", "trajectories"],
        env={"EKIDEN_STORE_FOLDER": str(tmp_path / "store")},
    )
    with anyio.fail_after(50):
        async with Client(process) as client:
            assert len((await answer(client, "trajectory_append", steps=[ROW]))["row_ids"]) == 1
            assert (await answer(client, "trajectory_stats"))["rows"] == 1
            assert "steps[0]" in await refusal(client, "trajectory_append", steps=[{"kind": "tactic"}])
    with Store(tmp_path / "store").snapshot() as snapshot:
        assert snapshot.count() == 1


async def test_who_asks_for_a_tree_where_there_is_none_is_shown_what_there_is(tmp_path: Path) -> None:
    verdict = {"theorem_name": "t", "kind": "verdict", "attempt_id": "run/t", "verdict": "incorrect"}
    async with served(tmp_path / "store") as client:
        await answer(client, "trajectory_append", steps=[verdict])
        told = await answer(client, "trajectory_tree", theorem="t")
        assert told["lines"] == ["run/t of (no run id): not proved", "  0 verdict incorrect"]
        assert (await answer(client, "trajectory_tree", attempt="run/t"))["lines"] == ["0 verdict incorrect"]
        assert await refusal(client, "trajectory_tree", theorem="u") == "The store has no such attempt at 'u'."
