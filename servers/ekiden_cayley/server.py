"""The MCP surface of the counterexample search."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Annotated, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from ekiden_cayley.errors import CayleyError
from ekiden_cayley.models import (
    MAX_LAWS,
    MAX_LIST,
    MAX_OPERATIONS,
    MAX_PAIRS,
    BatchReport,
    Finding,
    LawOnTable,
    LawPair,
    LawsOfTable,
    RefutationReport,
    TableReport,
)
from ekiden_cayley.outcome import LARGEST_MAX_ORDER
from ekiden_cayley.stop import Stop
from ekiden_kit.build import state_of
from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_magma import CayleyTable, Law, MagmaError, parse_law

if TYPE_CHECKING:
    from ekiden_cayley.refuter import Refuter
    from ekiden_config import CayleySettings, Settings

LONGEST_CALL_S = 55.0
TABLE_LIMIT_S = 30.0
PROGRESS_EVERY_S = 0.5
SEARCHES_AT_ONCE = 8
LAWS_PER_PAGE = 100

INSTRUCTIONS = f"""\
Searches for magmas (one binary operation ◇, no axioms) that satisfy law 1 and break law 2, and so show that law 1 does
not imply law 2. A found model is checked and final; finding none proves nothing. Tools: cayley_refute (one pair),
cayley_refute_batch (up to {MAX_PAIRS} pairs), cayley_check_table (where laws hold or fail on your table),
cayley_laws_of_table (which laws of a list hold on it).

Laws use single lower-case letters, ◇ or *, parentheses and one '=', such as 'x = y ◇ (x ◇ y)'. Tables are lists of
rows, table[i][j] = i ◇ j, over 0, ..., n - 1. Most pairs that can be refuted are refuted in milliseconds; a call ends
within {LONGEST_CALL_S:.0f} seconds. When nothing is found, ask again with more time, or try to prove the implication.
"""

TableInput = Annotated[list[list[int] | int] | str, Field(description="Rows, or digits '0110'.")]
TimeLimit = Annotated[float, Field(ge=0, le=LONGEST_CALL_S, description="Seconds; 0: default.")]

_Answer = TypeVar("_Answer")


class _Engine:
    """What the server keeps between calls: the settings, and the search with what it remembers."""

    def __init__(self, settings: "CayleySettings") -> None:
        self.settings = settings
        self.searches = anyio.CapacityLimiter(SEARCHES_AT_ONCE)
        self._lock = Lock()  # guards the making of the refuter, which loads the solvers
        self._refuter: Refuter | None = None

    @property
    def refuter(self) -> "Refuter":
        """The search; to be asked for on a worker thread."""
        with self._lock:
            if self._refuter is None:
                from ekiden_cayley.refuter import Refuter

                self._refuter = Refuter(seed=self.settings.seed)
            return self._refuter

    def time_limit(self, asked: float) -> float:
        """Return the seconds for a call."""
        return asked or min(self.settings.time_limit_s, LONGEST_CALL_S)


class _Bulletin:
    """What a running search last said; written by its thread, read by the call."""

    text = "waiting for a free search"


@asynccontextmanager
async def _engine(settings: "Settings") -> AsyncGenerator[_Engine]:
    yield _Engine(settings.cayley)


async def cayley_refute(  # noqa: PLR0917  # a tool's arguments are named
    law1: Annotated[str, Field(description="The premise, such as 'x = y ◇ (x * y)'.")],
    law2: Annotated[str, Field(description="The conclusion.")],
    ctx: Context,
    time_limit_s: TimeLimit = 0,
    max_order: Annotated[int, Field(ge=0, le=LARGEST_MAX_ORDER, description="Largest order for SAT; 0: default.")] = 0,
    smallest: Annotated[bool, Field(description="Prove the table smallest. Slower.")] = False,
    include_lean: Annotated[bool, Field(description="Add `code`, a Lean answer with verdict false.")] = False,
) -> RefutationReport:
    """Search a magma that satisfies law1 and breaks law2: law1 does not imply law2.

    Tries all tables of order 2 and 3, a library, families, SAT and infinite models. `refuted: false` is no proof.
    """
    pair = _law("law1", law1), _law("law2", law2)
    engine = state_of(ctx, _Engine)
    limit_s = engine.time_limit(time_limit_s)
    bulletin = _Bulletin()

    def work(stop: Stop) -> RefutationReport:
        outcome = engine.refuter.refute(
            *pair,
            time_limit_s=limit_s,
            max_order=max_order or engine.settings.max_order,
            smallest=smallest,
            stop=stop,
            progress=lambda at: setattr(bulletin, "text", str(at)),
        )
        return RefutationReport.of_search(outcome, include_lean=include_lean)

    return await _on_a_thread(ctx, work, limit_s, bulletin)


async def cayley_refute_batch(
    pairs: Annotated[list[LawPair], Field(min_length=1, max_length=MAX_PAIRS, description="The pairs.")],
    ctx: Context,
    time_limit_s: TimeLimit = 0,
) -> BatchReport:
    """Run cayley_refute on several pairs in one time limit: cheap methods for all first, then turns.

    A pair that is not refuted is not proved.
    """
    laws = [(_law(f"pairs.{i}.law1", p.law1), _law(f"pairs.{i}.law2", p.law2)) for i, p in enumerate(pairs)]
    engine = state_of(ctx, _Engine)
    limit_s = engine.time_limit(time_limit_s)
    bulletin = _Bulletin()
    settled: list[int] = []

    def note(place: int) -> None:
        settled.append(place)
        bulletin.text = f"{len(settled)} of {len(laws)} pairs settled"

    def work(stop: Stop) -> BatchReport:
        outcomes = engine.refuter.refute_batch(
            laws,
            time_limit_s=limit_s,
            max_order=engine.settings.max_order,
            stop=stop,
            on_outcome=lambda place, _: note(place),
        )
        items = [Finding.of_outcome(outcome) for outcome in outcomes]
        return BatchReport(items=items, total=len(items))

    return await _on_a_thread(ctx, work, limit_s, bulletin)


async def cayley_check_table(
    table: TableInput,
    laws: Annotated[list[str], Field(min_length=1, max_length=MAX_LAWS, description="The laws.")],
    ctx: Context,
) -> TableReport:
    """Check which laws hold on a table of yours, and where the others fail."""
    magma, parsed = _table(table), [_law(f"laws.{i}", text) for i, text in enumerate(laws)]

    def work(stop: Stop) -> TableReport:
        from ekiden_cayley.tables import failures

        items = [
            LawOnTable(
                law=str(law),
                holds=failure is None,
                assignment=failure or {},
            )
            for law, failure in zip(parsed, failures(magma, parsed, stop), strict=True)
        ]
        return TableReport(items=items, total=len(items))

    return await _on_a_thread(ctx, work, TABLE_LIMIT_S, _Bulletin())


async def cayley_laws_of_table(
    table: TableInput,
    ctx: Context,
    laws: Annotated[list[str], Field(max_length=MAX_LIST, description="The list; empty: all laws.")] = [],  # noqa: B006  # the SDK copies defaults
    max_operations: Annotated[
        int, Field(ge=0, le=MAX_OPERATIONS, description="Of all laws, those with so many ◇ or fewer.")
    ] = 3,
    cursor: Annotated[str, Field(description="`next_cursor` so far.")] = "",
) -> LawsOfTable:
    """List which laws of a list, or of all laws with few ◇, hold on a table.

    It refutes that a listed law implies one that is not listed.
    """
    magma = _table(table)
    given = [_law(f"laws.{i}", text) for i, text in enumerate(laws)]
    if cursor and not (cursor.isascii() and cursor.isdigit()):
        raise CayleyError(f"The cursor {cursor!r} is none that was given out; use `next_cursor` so far.")
    start = int(cursor or 0)

    def work(stop: Stop) -> LawsOfTable:
        from ekiden_cayley.law_list import all_laws
        from ekiden_cayley.tables import laws_that_hold

        candidates = given or all_laws(max_operations)
        holding = laws_that_hold(magma, candidates, stop)
        end = start + LAWS_PER_PAGE
        return LawsOfTable(
            items=[str(law) for law in holding[start:end]],
            total=len(holding),
            next_cursor=str(end) if end < len(holding) else "",
        )

    return await _on_a_thread(ctx, work, TABLE_LIMIT_S, _Bulletin())


def _table(given: list[list[int] | int] | str) -> CayleyTable:
    magma = CayleyTable.parse(given) if isinstance(given, str) else CayleyTable.from_value(given)
    if magma.order > LARGEST_MAX_ORDER:
        raise CayleyError(f"The table has order {magma.order!r}; tables are taken up to order {LARGEST_MAX_ORDER}.")
    return magma


def _law(where: str, text: str) -> Law:
    try:
        return parse_law(text)
    except MagmaError as error:
        raise CayleyError(f"Argument {where!r}: {error}") from error


async def _on_a_thread(ctx: Context, work: Callable[[Stop], _Answer], limit_s: float, bulletin: _Bulletin) -> _Answer:
    """Run a search on a worker thread, report how it goes, and stop it when the call is cancelled."""
    stop = Stop()
    answers: list[_Answer] = []
    refusals: list[Exception] = []

    def run() -> None:
        # An error is carried out by hand: raised in a task group it would arrive as an exception group.
        bulletin.text = "starting"
        try:
            answers.append(work(Stop(limit_s, parent=stop)))
        except (CayleyError, MagmaError) as error:
            refusals.append(error)

    async def report() -> None:
        began, passed = monotonic(), 0.0
        while passed < limit_s:  # progress only rises
            await anyio.sleep(PROGRESS_EVERY_S)
            passed = min(monotonic() - began, limit_s)
            await ctx.report_progress(passed, limit_s, bulletin.text)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(report)
            limiter = state_of(ctx, _Engine).searches
            await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)
            tasks.cancel_scope.cancel()
    finally:
        stop.cancel()
    if refusals:
        raise refusals[0]
    return answers[0]


SERVER = ServerDefinition(
    name="cayley",
    title="Cayley: counterexamples to implications between laws",
    instructions=INSTRUCTIONS,
    tools=(
        ToolDefinition(cayley_refute, title="Refute one implication"),
        ToolDefinition(cayley_refute_batch, title="Refute several implications"),
        ToolDefinition(cayley_check_table, title="Check laws on a table"),
        ToolDefinition(cayley_laws_of_table, title="List the laws of a table"),
    ),
    errors=(CayleyError, MagmaError),
    lifespan=_engine,
)
