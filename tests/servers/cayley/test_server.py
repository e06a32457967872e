"""The counterexample tools, called by a client in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from dirty_equals import IsPositiveFloat
from mcp import Client

from ekiden_cayley.server import SERVER
from ekiden_config import load_settings
from ekiden_kit.build import build_server
from ekiden_magma import CayleyTable, parse_law
from tool_answers import answer, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

COMMUTATIVE, ASSOCIATIVE = "x * y = y * x", "x ◇ (y ◇ z) = (x ◇ y) ◇ z"
LONG = {"law1": "x = y ◇ (x ◇ (((x ◇ y) ◇ z) ◇ (z ◇ w)))", "law2": "x = (x ◇ y) ◇ (y ◇ x)"}

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client(build_server([SERVER], load_settings())) as client:
        yield client


async def test_a_false_implication_is_refuted_with_a_table_and_a_lean_answer(client: Client) -> None:
    report = await answer(client, "cayley_refute", law1=COMMUTATIVE, law2=ASSOCIATIVE, include_lean=True)
    code = report.pop("code")
    assert report == {
        "refuted": True,
        "table": [[1, 0], [0, 0]],
        "rules": [],
        "assignment": {"x": 0, "y": 0, "z": 1},
        "sides": [1, 0],
        "no_model_up_to": 1,
        "seconds": IsPositiveFloat(),
        "note": "Law 1 does not imply law 2. Found by trying all tables of order 2 and 3; no smaller table exists.",
    }
    assert 'finOpTable "[[1,0],[0,0]]"' in code


async def test_without_a_counterexample_the_note_says_what_next(client: Client) -> None:
    report = await answer(
        client, "cayley_refute", law1=COMMUTATIVE, law2="x ◇ (y ◇ z) = (z ◇ y) ◇ x", time_limit_s=0.3, max_order=4
    )
    assert (report["refuted"], report["table"], report["assignment"], report["code"]) == (False, [], {}, "")
    assert report["note"].startswith("No counterexample found; this does not prove the implication.")
    assert report["note"].endswith("or try to prove the implication.")


async def test_a_batch_gives_one_result_per_pair_in_order(client: Client) -> None:
    pairs = [
        {"law1": COMMUTATIVE, "law2": ASSOCIATIVE},
        {"law1": COMMUTATIVE, "law2": "x = x"},
        {"law1": ASSOCIATIVE, "law2": COMMUTATIVE},
    ]
    report = await answer(client, "cayley_refute_batch", pairs=pairs)
    assert report["total"] == 3
    assert [item["refuted"] for item in report["items"]] == [True, False, True]
    for pair, item in zip(pairs, report["items"], strict=True):
        if item["refuted"]:
            magma = CayleyTable.from_value(item["table"])
            left, right = magma.evaluate(parse_law(pair["law2"]), item["assignment"])
            assert magma.satisfies(parse_law(pair["law1"]))
            assert left != right


async def test_a_table_is_checked_against_laws(client: Client) -> None:
    laws = [COMMUTATIVE, "x = x ◇ x", "x ◇ (y ◇ x) = y"]
    assert await answer(client, "cayley_check_table", table=[[0, 1], [1, 0]], laws=laws) == {
        "items": [
            {"law": "x ◇ y = y ◇ x", "holds": True, "assignment": {}},
            {"law": "x = x ◇ x", "holds": False, "assignment": {"x": 1}},
            {"law": "x ◇ (y ◇ x) = y", "holds": True, "assignment": {}},
        ],
        "total": 3,
    }
    assert await answer(client, "cayley_check_table", table="0110", laws=laws[:1]) == {
        "items": [{"law": "x ◇ y = y ◇ x", "holds": True, "assignment": {}}],
        "total": 1,
    }


async def test_the_laws_of_a_table_come_page_by_page(client: Client) -> None:
    whole: list[str] = []
    cursor, pages, total = "", 0, 0
    while pages == 0 or cursor:
        page = await answer(client, "cayley_laws_of_table", table="0000", max_operations=3, cursor=cursor)
        assert len(page["items"]) <= 100
        whole += page["items"]
        cursor, pages, total = page["next_cursor"], pages + 1, page["total"]
    magma = CayleyTable.parse("0000")
    assert pages > 1
    assert len(whole) == len(set(whole)) == total
    assert all(magma.satisfies(parse_law(law)) for law in whole)


async def test_the_laws_of_a_table_can_be_chosen_from_a_list(client: Client) -> None:
    page = await answer(client, "cayley_laws_of_table", table="0110", laws=[COMMUTATIVE, "x = x ◇ x", ASSOCIATIVE])
    assert page == {"items": ["x ◇ y = y ◇ x", ASSOCIATIVE], "total": 2, "next_cursor": ""}


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("cayley_refute", {"law1": "x = ", "law2": "x = x"}, "Argument 'law1': Cannot read the law 'x = '"),
        ("cayley_refute", {"law1": "x = x", "law2": ""}, "Argument 'law2': Cannot read the law ''"),
        ("cayley_refute", {"law1": "x = x", "law2": "x = y", "max_order": 1}, "max_order is 1; it must be 2..64"),
        ("cayley_refute", {"law1": "x = x", "law2": "x = y", "time_limit_s": 1000}, "time_limit_s"),
        ("cayley_refute", {"law1": "x = x"}, "Argument 'law2' is missing."),
        ("cayley_refute_batch", {"pairs": []}, "pairs"),
        ("cayley_refute_batch", {"pairs": [{"law1": "x", "law2": "x = x"}]}, "Argument 'pairs.0.law1': Cannot read"),
        ("cayley_check_table", {"table": "[[0,1],[1]]", "laws": ["x = x"]}, "Row 1 of the table has 1 entries"),
        ("cayley_check_table", {"table": "[[0,1],[1,2]]", "laws": ["x = x"]}, "The product 1 ◇ 1 is 2"),
        ("cayley_check_table", {"table": "nothing", "laws": ["x = x"]}, "Cannot read a Cayley table from 'nothing'"),
        ("cayley_check_table", {"table": str([0] * 65 * 65), "laws": ["x = x"]}, "The table has order 65"),
        ("cayley_laws_of_table", {"table": "0", "cursor": "two"}, "The cursor 'two' is none that was given out"),
    ],
)
async def test_bad_input_is_refused_with_what_is_wrong(
    client: Client, tool: str, arguments: dict[str, object], words: str
) -> None:
    assert words in await refusal(client, tool, **arguments)


async def test_a_law_too_costly_for_a_table_is_refused(client: Client) -> None:
    table = str([[0] * 64] * 64)
    law = "x ◇ (y ◇ (z ◇ (w ◇ (u ◇ v)))) = ((((x ◇ y) ◇ z) ◇ w) ◇ u) ◇ v"
    assert "Use a smaller table" in await refusal(client, "cayley_check_table", table=table, laws=[law])


async def test_a_cancelled_call_frees_the_server_for_others(client: Client) -> None:
    with anyio.fail_after(20):
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("cayley_refute", {**LONG, "max_order": 12, "time_limit_s": 50})
        assert scope.cancelled_caught
        assert (await answer(client, "cayley_refute", law1=COMMUTATIVE, law2=ASSOCIATIVE))["refuted"]


async def test_a_long_search_reports_progress_that_only_rises(client: Client) -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total == 1.5
        told.append((progress, message))

    with anyio.fail_after(20):
        await client.call_tool("cayley_refute", {**LONG, "max_order": 12, "time_limit_s": 1.5}, progress_callback=note)
    assert told
    assert [progress for progress, _ in told] == sorted(progress for progress, _ in told)
    assert all(message for _, message in told)


async def test_many_calls_at_once_are_all_answered(client: Client) -> None:
    answers: list[dict[str, Any]] = []

    async def ask() -> None:
        answers.append(await answer(client, "cayley_refute", law1=COMMUTATIVE, law2=ASSOCIATIVE))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(ask)
    assert [a["table"] for a in answers] == [[[1, 0], [0, 0]]] * 30
