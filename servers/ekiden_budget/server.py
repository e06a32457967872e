"""The MCP surface of the budget."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING, Annotated

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from ekiden_budget.errors import BudgetError, LedgerError
from ekiden_budget.holder import TOKEN_VARIABLE, Holder, ledger_file
from ekiden_budget.models import MAX_CALLS, ClosedBudget, Figure, OpenedBudget, StatusReport, caps_within
from ekiden_kit.build import state_of
from ekiden_kit.definition import ServerDefinition, ToolDefinition

if TYPE_CHECKING:
    from ekiden_config import BudgetSettings, Settings

INSTRUCTIONS = f"""\
A budget caps tokens, US dollars and time of model calls, over any number of callers at once. Before a call its worst
case is reserved; afterwards it is billed what it used. A call that does not fit is refused: retrying does not help.
Tools: budget_status (spent, reserved, left, rate, projected end), budget_open_child (part of a budget for a helper),
budget_open, budget_close.

Look at budget_status before long work, and plan with `left`, which counts the caps above too. With {TOKEN_VARIABLE}
set, this server acts for that budget and those below it. A token is the API key at the budget's proxy; hand a helper
the token of its own child. Caps left out are not set; 0 refuses every call. Spending also counts for all budgets above.
"""

BudgetName = Annotated[str, Field(min_length=1, max_length=200, description="What people see.")]
Role = Annotated[str, Field(description="What it is for.")]
# Optional texts are "" and not None: the SDK parses JSON given to a parameter that may be anything but a string.
Budget = Annotated[str, Field(description="Id or unique name; '': yours.")]
Tokens = Annotated[int | None, Field(ge=0, description="Cap.")]
Dollars = Annotated[Figure | None, Field(ge=0, description="Cap, US dollars.")]
Seconds = Annotated[float | None, Field(ge=0, description="Cap from now.")]
WarnAt = Annotated[float, Field(gt=0, le=1, description="Share of a cap past which to warn.")]


class _Office:
    """What the server keeps between calls: the ledger, opened at the first call, and whom it acts for."""

    def __init__(self, settings: "BudgetSettings") -> None:
        self._settings = settings
        self._opening = Lock()  # guards the holder: one is made
        self._holder: Holder | None = None

    def holder(self) -> Holder:
        """Return who this server acts for; to be called on a worker thread.

        Raises:
            BudgetError: The ledger cannot be used, or the token is no budget's.
        """
        with self._opening:
            if self._holder is None:
                try:
                    self._holder = Holder.of_settings(self._settings)
                except LedgerError as error:
                    file = ledger_file(self._settings)
                    # a model is not told where things are on this machine
                    text = str(error).replace(str(file), file.name)
                    raise LedgerError(f"{text} That is for whoever runs this server; go on without it.") from error
            return self._holder

    def close(self) -> None:
        """Close the ledger."""
        if self._holder is not None:
            self._holder.ledger.close()


@asynccontextmanager
async def _office(settings: "Settings") -> AsyncGenerator[_Office]:
    office = _Office(settings.budget)
    try:
        yield office
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(office.close)


def budget_open(  # noqa: PLR0917  # a tool's arguments are named
    name: BudgetName,
    ctx: Context,
    tokens: Tokens = None,
    usd: Dollars = None,
    seconds: Seconds = None,
    warn_at: WarnAt = 0.8,
    role: Role = "",
) -> OpenedBudget:
    """Open a budget under no other; refused where the server acts for one budget."""
    caps = caps_within(tokens, usd, seconds, warn_at=warn_at)
    return OpenedBudget.of_opened(state_of(ctx, _Office).holder().open_root(name, caps, role=role))


def budget_open_child(  # noqa: PLR0917  # a tool's arguments are named
    name: BudgetName,
    ctx: Context,
    parent: Budget = "",
    tokens: Tokens = None,
    usd: Dollars = None,
    seconds: Seconds = None,
    warn_at: WarnAt = 0.8,
    role: Role = "",
) -> OpenedBudget:
    """Open a budget below another, for a helper or a piece of work; no cap above what the parent has left.

    Nothing is set aside: children share what is above them.
    """
    caps = caps_within(tokens, usd, seconds, warn_at=warn_at)
    holder = state_of(ctx, _Office).holder()
    return OpenedBudget.of_opened(holder.open_child(holder.find(parent), name, caps, role=role))


def budget_status(
    ctx: Context,
    budget: Annotated[str, Field(description="Id or unique name; '': all you see.")] = "",
    calls: Annotated[int, Field(ge=0, le=MAX_CALLS, description="Last calls to list.")] = 0,
) -> StatusReport:
    """Tell what a budget and all below it spent, reserved and have left, how fast, and when they end at that rate."""
    holder = state_of(ctx, _Office).holder()
    chosen = holder.find(budget) if budget else holder.own
    return StatusReport.of_statuses(holder.tree(chosen), holder.calls(chosen, limit=calls) if calls else [])


def budget_close(
    budget: Annotated[str, Field(min_length=1, description="Id or unique name.")],
    ctx: Context,
) -> ClosedBudget:
    """Close a budget and all below it for good: later calls are refused, those in flight still billed."""
    holder = state_of(ctx, _Office).holder()
    return ClosedBudget.of_status(holder.ledger.close_budget(holder.find(budget)))


SERVER = ServerDefinition(
    name="budget",
    title="Budget: what model calls may cost, and what is left",
    instructions=INSTRUCTIONS,
    tools=(
        ToolDefinition(budget_status, title="See what is left"),
        ToolDefinition(budget_open_child, title="Open a part of a budget", read_only=False, idempotent=False),
        ToolDefinition(budget_open, title="Open a budget", read_only=False, idempotent=False),
        ToolDefinition(budget_close, title="Close a budget", read_only=False, destructive=True),
    ),
    errors=(BudgetError,),
    lifespan=_office,
)
