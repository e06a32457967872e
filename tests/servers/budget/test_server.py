"""The budget's tools, called by a client in memory over a ledger in a file."""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPositive, IsStr
from inline_snapshot import snapshot
from mcp import Client
from pydantic import SecretStr

from ekiden_budget.ledger import BudgetId, CallLabel, Ledger
from ekiden_budget.server import SERVER
from ekiden_config import Settings, default_settings
from ekiden_kit.build import build_server
from ekiden_policies.budget import NANO, Amount, Caps
from tool_answers import answer, refusal

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter", purpose="normal_0007")

pytestmark = pytest.mark.anyio


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite3") as ledger:
        yield ledger


def settings(ledger: Ledger, token: str = "") -> Settings:
    packaged = default_settings()
    update = {"ledger": str(ledger.path), "token": SecretStr(token) if token else None}
    return packaged.model_copy(update={"budget": packaged.budget.model_copy(update=update)})


@asynccontextmanager
async def served(ledger: Ledger, token: str = "") -> AsyncGenerator[Client]:
    async with Client(build_server([SERVER], settings(ledger, token))) as client:
        yield client


def spend(ledger: Ledger, budget: BudgetId, tokens: int, nanodollars: int = 0) -> None:
    call = ledger.reserve(budget, Amount(tokens, nanodollars), LABEL).call
    ledger.settle(call, "answered", Amount(tokens, nanodollars))


async def test_a_budget_is_opened_shared_out_spent_and_closed(ledger: Ledger) -> None:
    async with served(ledger) as client:
        root = await answer(client, "budget_open", name="paper", tokens=10_000, usd=2.5)
        assert ledger.authenticate(root["token"]) == root["budget_id"]
        child = await answer(client, "budget_open_child", name="prover", parent="paper", tokens=4_000, role="agent")
        prover = BudgetId(child["budget_id"])
        spend(ledger, prover, 1_000, NANO // 4)
        ledger.reserve(prover, Amount(500, NANO // 8), LABEL)
        status = await answer(client, "budget_status", budget="prover", calls=5)
        assert status == snapshot(
            {
                "items": [
                    {
                        "budget_id": IsStr(),
                        "name": "prover",
                        "role": "agent",
                        "parent": IsStr(),
                        "closed": False,
                        "limits": [
                            {
                                "limit": "tokens",
                                "cap": 4000,
                                "soft_cap": 3200,
                                "spent": 1000,
                                "reserved": 500,
                                "left": 2500,
                                "per_minute": None,
                            },
                            {
                                "limit": "usd",
                                "cap": None,
                                "soft_cap": None,
                                "spent": 0.25,
                                "reserved": 0.125,
                                "left": 2.125,
                                "per_minute": None,
                            },
                            {
                                "limit": "seconds",
                                "cap": None,
                                "soft_cap": None,
                                "spent": IsPositive(),
                                "reserved": 0,
                                "left": None,
                                "per_minute": 60,
                            },
                        ],
                        "ends_in_s": None,
                        "ends_by": "",
                        "in_flight": 1,
                        "answered": 1,
                        "failed": 0,
                        "refused": 0,
                    }
                ],
                "total": 1,
                "calls": [
                    IsStr(regex=r"2 \S+ \S+Z 'prover' in flight, reserved 500 tokens, \$0.125, 'gpt-oss-120b' at .*"),
                    IsStr(
                        regex=r"1 20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ 'prover' answered, 1,000 tokens, \$0.25, "
                        r"\d+\.\d s, 'gpt-oss-120b' at openrouter for 'normal_0007'"
                    ),
                ],
            }
        )
        closed = await answer(client, "budget_close", budget="paper")
        assert closed == {"budget_id": root["budget_id"], "tokens": 1000, "usd": 0.25, "in_flight": 1}
        everything = await answer(client, "budget_status")
        assert [(item["name"], item["closed"]) for item in everything["items"]] == [("paper", True), ("prover", True)]


async def test_a_child_has_no_cap_above_what_its_parent_has_left(ledger: Ledger) -> None:
    opened = ledger.open_budget("paper", Caps(tokens=1_000, nanodollars=NANO, seconds=3600))
    spend(ledger, opened.budget, 400, NANO // 2)
    async with served(ledger) as client:
        for caps, numbers in (
            ({"tokens": 601}, "A child with 601 tokens does not fit: 'paper' has 600 tokens left."),
            ({"usd": 0.51}, "A child with $0.51 does not fit: 'paper' has $0.5 left."),
            ({"seconds": 3601}, "A child with 3601 s does not fit: 'paper' has 3"),
        ):
            assert numbers in await refusal(client, "budget_open_child", name="c", parent="paper", **caps)
        await answer(client, "budget_open_child", name="c", parent="paper", tokens=600, usd=0.5)
        await answer(client, "budget_open_child", name="d", parent="paper")
    assert [status.left.tokens for status in ledger.tree()] == [600, 600, 600]


async def test_the_holder_of_a_token_sees_its_own_budget_and_those_below_alone(ledger: Ledger) -> None:
    root = ledger.open_budget("run", Caps(tokens=1_000))
    mine = ledger.open_budget("mine", Caps(tokens=500), parent=root.budget)
    below = ledger.open_budget("below", Caps(), parent=mine.budget)
    other = ledger.open_budget("other", Caps(), parent=root.budget)
    async with served(ledger, mine.token) as client:
        seen = await answer(client, "budget_status")
        assert [item["budget_id"] for item in seen["items"]] == [mine.budget, below.budget]
        for foreign in (root.budget, other.budget, "other", "run"):
            for tool, name in (
                ("budget_status", "budget"),
                ("budget_close", "budget"),
                ("budget_open_child", "parent"),
            ):
                more = {"name": "x"} if name == "parent" else {}
                told = await refusal(client, tool, **{name: foreign, **more})
                assert told.startswith(f"No budget {foreign!r}; ")
                assert not any(text in told.removeprefix(f"No budget {foreign!r}; ") for text in ("run", "other"))
        assert "open a child of yours" in await refusal(client, "budget_open", name="free")
        opened = await answer(client, "budget_open_child", name="helper", tokens=100)
        assert ledger.status(BudgetId(opened["budget_id"])).parent == mine.budget
        assert (await answer(client, "budget_close", budget="helper"))["tokens"] == 0
    assert not ledger.status(root.budget).closed
    assert not ledger.status(other.budget).closed


async def test_what_is_left_counts_what_others_spend_above(ledger: Ledger) -> None:
    root = ledger.open_budget("run", Caps(tokens=1_000))
    mine = ledger.open_budget("mine", Caps(tokens=900), parent=root.budget)
    spend(ledger, root.budget, 800)
    async with served(ledger, mine.token) as client:
        [item] = (await answer(client, "budget_status"))["items"]
    assert (item["limits"][0]["cap"], item["limits"][0]["left"]) == (900, 200)


async def test_the_rate_and_the_end_are_told_once_there_was_time_to_tell(ledger: Ledger) -> None:
    with Ledger(ledger.path, now=lambda: time.time() - 60) as earlier:
        root = earlier.open_budget("run", Caps(tokens=1_000)).budget
    spend(ledger, root, 600)
    async with served(ledger) as client:
        [item] = (await answer(client, "budget_status"))["items"]
    assert 100 < item["limits"][0]["per_minute"] <= 600
    assert (item["ends_by"], item["ends_in_s"]) == ("tokens", IsPositive())


async def test_a_token_that_is_no_budgets_is_told_without_the_token(ledger: Ledger) -> None:
    ledger.open_budget("run", Caps())
    async with served(ledger, "ekb_wrong") as client:
        told = await refusal(client, "budget_status")
    assert told.startswith("The token in EKIDEN_BUDGET_TOKEN is no budget's of this ledger.")
    assert "ekb_wrong" not in told


async def test_where_a_ledger_is_that_cannot_be_used_is_not_told(ledger: Ledger) -> None:
    broken = ledger.path.with_name("broken.sqlite3")
    broken.write_bytes(b"no database, and longer than the header of one would be: " * 20)
    spoilt = settings(ledger)
    spoilt = spoilt.model_copy(update={"budget": spoilt.budget.model_copy(update={"ledger": str(broken)})})
    async with Client(build_server([SERVER], spoilt)) as client:
        told = await refusal(client, "budget_status")
    assert "'broken.sqlite3'" in told
    assert told.endswith("That is for whoever runs this server; go on without it.")
    assert str(broken.parent) not in told


async def test_unknown_and_ambiguous_budgets_are_refused_with_what_there_is(ledger: Ledger) -> None:
    first, second = (ledger.open_budget("twin", Caps()).budget for _ in range(2))
    async with served(ledger) as client:
        assert await refusal(client, "budget_status", budget="twins") == "No budget 'twins'; did you mean 'twin'?"
        told = await refusal(client, "budget_close", budget="twin")
        assert told == f"2 budgets are named 'twin'; give an id: {first!r}, {second!r}."
        assert (await refusal(client, "budget_open_child", name="x")).startswith("Say which budget; open are 'twin'")
        await answer(client, "budget_close", budget=first)
        assert (await answer(client, "budget_status", budget="twin"))["items"][0]["budget_id"] == second


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"tokens": -1}, "greater than or equal to 0"),
        ({"tokens": 1.5}, "tokens"),
        ({"usd": "NaN"}, "usd"),
        ({"usd": 1e300}, "give 0..1000000000"),
        ({"seconds": 1e300}, "seconds cannot be"),
        ({"warn_at": 0}, "warn_at"),
        ({"name": ""}, "name"),
        ({"name": "two\nlines"}, "printable characters"),
    ],
)
async def test_figures_that_cannot_be_are_refused(ledger: Ledger, arguments: dict[str, Any], text: str) -> None:
    async with served(ledger) as client:
        assert text in await refusal(client, "budget_open", **{"name": "x", **arguments})
    assert ledger.tree() == []


async def test_many_budgets_are_counted_and_the_first_listed(ledger: Ledger) -> None:
    for number in range(60):
        ledger.open_budget(f"b{number}", Caps())
    async with served(ledger) as client:
        status = await answer(client, "budget_status")
    assert (status["total"], len(status["items"])) == (60, 50)


async def test_calls_of_all_budgets_come_newest_first(ledger: Ledger) -> None:
    budgets = [ledger.open_budget(name, Caps()).budget for name in "ab"]
    for number in range(6):
        spend(ledger, budgets[number % 2], number + 1)
    async with served(ledger) as client:
        calls = (await answer(client, "budget_status", calls=4))["calls"]
    assert [call.split(" ", 3)[3].split(",")[:2] for call in calls] == [
        [f"'{name}' answered", f" {tokens} tokens"] for name, tokens in (("b", 6), ("a", 5), ("b", 4), ("a", 3))
    ]
