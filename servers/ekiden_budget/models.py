"""What goes into and comes out of the budget's tools and commands: dollars as decimals, and numbers in JSON."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, PlainSerializer, WithJsonSchema

from ekiden_budget.errors import InvalidFigureError
from ekiden_budget.records import BudgetId, BudgetStatus, CallRecord, Opened
from ekiden_policies.budget import NANO, Caps, dollars

MAX_BUDGETS = 50
MAX_CALLS = 50
MOST_USD = 10**9

Limited = Literal["tokens", "usd", "seconds"]


def _number(figure: Decimal) -> int | float:
    return int(figure) if figure == figure.to_integral_value() else float(figure)


Figure = Annotated[
    Decimal,
    PlainSerializer(_number, return_type=int | float, when_used="json"),
    WithJsonSchema({"type": "number"}),
]
"""A decimal here, a number in JSON. Nano-dollars are exact as such a number up to millions of dollars."""
FigureOrNone = Annotated[Figure | None, WithJsonSchema({"type": ["number", "null"]})]


def caps_within(
    tokens: int | None = None,
    usd: Decimal | None = None,
    seconds: float | None = None,
    *,
    warn_at: float = 1.0,
) -> Caps:
    """Return caps, soft ones at a share of the hard ones. Dollars are rounded down: no cap grows by rounding.

    Raises:
        InvalidFigureError: A sum of dollars is none, or absurdly high.
    """
    nanodollars = _nanodollars(usd)
    if warn_at >= 1:
        return Caps(tokens, nanodollars, seconds)
    return Caps(
        tokens,
        nanodollars,
        seconds,
        soft_tokens=None if tokens is None else int(tokens * warn_at),
        soft_nanodollars=None if nanodollars is None else int(nanodollars * warn_at),
        soft_seconds=None if seconds is None else seconds * warn_at,
    )


def _nanodollars(usd: Decimal | None) -> int | None:
    if usd is None:
        return None
    if not usd.is_finite() or not 0 <= usd <= MOST_USD:
        raise InvalidFigureError(f"A cap of {usd} dollars cannot be: give 0..{MOST_USD}, or none.")
    return int(usd * NANO)


def _usd(nanodollars: int | None) -> Decimal | None:
    return None if nanodollars is None else dollars(nanodollars)


class OpenedBudget(BaseModel):
    """A new budget."""

    budget_id: Annotated[str, Field(description="Its id.")]
    token: Annotated[str, Field(description="API key at the proxy: who has it spends. Told once.")]

    @classmethod
    def of_opened(cls, opened: Opened) -> Self:
        """Show a budget that was opened, with its token."""
        return cls(budget_id=opened.budget, token=opened.token)


class LimitReport(BaseModel):
    """One of three limits: tokens, US dollars, seconds."""

    limit: Annotated[Limited, Field(description="And unit.")]
    cap: Annotated[FigureOrNone, Field(description="null: none.")]
    soft_cap: Annotated[FigureOrNone, Field(description="Past it callers are warned.")]
    spent: Annotated[Figure, Field(description="Billed.")]
    reserved: Annotated[Figure, Field(description="By calls in flight.")]
    left: Annotated[FigureOrNone, Field(description="Caps above counted.")]
    per_minute: Annotated[FigureOrNone, Field(description="Lately; null: too early.")]


class BudgetReport(BaseModel):
    """A budget, with what its children use."""

    budget_id: Annotated[str, Field(description="Its id.")]
    name: Annotated[str, Field(description="Its name.")]
    role: Annotated[str, Field(description="Its purpose.")]
    parent: Annotated[str, Field(description="The id above, if any.")]
    closed: Annotated[bool, Field(description="It refuses all.")]
    limits: Annotated[list[LimitReport], Field(description="One for each.")]
    ends_in_s: Annotated[FigureOrNone, Field(description="null: no end.")]
    ends_by: Annotated[str, Field(description="Which limit.")]
    in_flight: Annotated[int, Field(description="Open calls.")]
    answered: Annotated[int, Field(description="Billed by usage.")]
    failed: Annotated[int, Field(description="Otherwise ended.")]
    refused: Annotated[int, Field(description="Refused calls.")]

    @classmethod
    def of_status(cls, status: BudgetStatus) -> Self:
        """Show a budget's status."""
        calls, end = status.calls, status.forecast
        return cls(
            budget_id=status.budget,
            name=status.name,
            role=status.role,
            parent=status.parent or "",
            closed=status.closed,
            limits=[_tokens(status), _dollars(status), _seconds(status)],
            ends_in_s=None if end is None else _rounded(end.in_s),
            ends_by="" if end is None else end.limit,
            in_flight=calls.open,
            answered=calls.answered,
            failed=calls.unreadable + calls.failed + calls.unsent + calls.abandoned,
            refused=calls.refused,
        )


def _tokens(status: BudgetStatus) -> LimitReport:
    return LimitReport(
        limit="tokens",
        cap=_figure(status.caps.tokens),
        soft_cap=_figure(status.caps.soft_tokens),
        spent=Decimal(status.settled.tokens),
        reserved=Decimal(status.reserved.tokens),
        left=_figure(status.left.tokens),
        per_minute=None if status.rate is None else _rounded(status.rate.tokens_per_s * 60),
    )


def _dollars(status: BudgetStatus) -> LimitReport:
    return LimitReport(
        limit="usd",
        cap=_usd(status.caps.nanodollars),
        soft_cap=_usd(status.caps.soft_nanodollars),
        spent=dollars(status.settled.nanodollars or 0),
        reserved=dollars(status.reserved.nanodollars or 0),
        left=_usd(status.left.nanodollars),
        per_minute=None if status.rate is None else dollars(round(status.rate.nanodollars_per_s * 60)),
    )


def _seconds(status: BudgetStatus) -> LimitReport:
    return LimitReport(
        limit="seconds",
        cap=_figure(status.caps.seconds),
        soft_cap=_figure(status.caps.soft_seconds),
        spent=_rounded(status.elapsed_s),
        reserved=Decimal(0),
        left=None if status.left.seconds is None else _rounded(status.left.seconds),
        per_minute=Decimal(0 if status.closed or status.paused else 60),
    )


def _figure(figure: float | None) -> Decimal | None:
    return None if figure is None else Decimal(str(figure))


def _rounded(figure: float) -> Decimal:
    return Decimal(str(round(figure, 3)))


class StatusReport(BaseModel):
    """A budget and all below it."""

    items: Annotated[list[BudgetReport], Field(description="The budget, then those below, depth first.")]
    total: Annotated[int, Field(description=f"How many there are; {MAX_BUDGETS} are listed.")]
    calls: Annotated[list[str], Field(description="Newest first.")]

    @classmethod
    def of_statuses(
        cls, statuses: Sequence[BudgetStatus], calls: Sequence[CallRecord] = (), *, most: int | None = MAX_BUDGETS
    ) -> Self:
        """Show budgets, as many as an answer holds, and calls."""
        items = [BudgetReport.of_status(status) for status in statuses[:most]]
        return cls(items=items, total=len(statuses), calls=[in_a_line(call, names_of(statuses)) for call in calls])


class ClosedBudget(BaseModel):
    """A budget that was closed with those below it."""

    budget_id: Annotated[str, Field(description="Its id.")]
    tokens: Annotated[int, Field(description="What it spent.")]
    usd: Annotated[Figure, Field(description="What it spent.")]
    in_flight: Annotated[int, Field(description="Calls still to be billed.")]

    @classmethod
    def of_status(cls, status: BudgetStatus) -> Self:
        """Show what a closed budget has spent."""
        return cls(
            budget_id=status.budget,
            tokens=status.settled.tokens,
            usd=dollars(status.settled.nanodollars or 0),
            in_flight=status.calls.open,
        )


class CallReport(BaseModel):
    """One call in the audit log."""

    call: int = Field(description="Its number.")
    budget_id: str = Field(description="Who made it.")
    budget: str = Field(description="Its name.")
    model: str = Field(description="Asked for.")
    upstream: str = Field(description="Asked there.")
    purpose: str = Field(description="As the caller said.")
    outcome: str = Field(description="'': in flight.")
    tokens: int = Field(description="Billed, or reserved.")
    input_tokens: int | None = Field(description="Of the request; null: not told.")
    output_tokens: int | None = Field(description="Of the answer.")
    cached_input_tokens: int | None = Field(description="Of the input.")
    reasoning_tokens: int | None = Field(description="Of the output.")
    usd: FigureOrNone = Field(description="Billed, or reserved; null: unknown.")
    begun_at: str = Field(description="UTC.")
    seconds: float | None = Field(description="Its time.")
    detail: str = Field(description="What went wrong.")

    @classmethod
    def of_record(cls, record: CallRecord, names: Mapping[BudgetId, str]) -> Self:
        """Show a call; the names are those of the budgets."""
        cost, parts = record.billed or record.reserved, record.parts
        took = None if record.ended_at is None else (record.ended_at - record.begun_at).total_seconds()
        return cls(
            call=record.call,
            budget_id=record.budget,
            budget=names.get(record.budget, ""),
            model=record.label.model,
            upstream=record.label.upstream,
            purpose=record.label.purpose,
            outcome=record.outcome or "",
            tokens=cost.tokens,
            input_tokens=None if parts is None else parts.input,
            output_tokens=None if parts is None else parts.output,
            cached_input_tokens=None if parts is None else parts.cached_input,
            reasoning_tokens=None if parts is None else parts.reasoning,
            usd=_usd(cost.nanodollars),
            begun_at=record.begun_at.isoformat(timespec="milliseconds"),
            seconds=took,
            detail=record.detail,
        )


def in_a_line(record: CallRecord, names: Mapping[BudgetId, str]) -> str:
    """Show a call in a line: number, when it was let through, whose it is, outcome, cost, model, and what it is for."""
    call = CallReport.of_record(record, names)
    price = "" if call.usd is None else f", ${call.usd:f}"
    purpose = f" for {call.purpose!r}" if call.purpose else ""
    took = "" if call.seconds is None else f", {call.seconds:.1f} s"
    detail = f": {call.detail}" if call.detail else ""
    parts = "" if call.input_tokens is None else f" ({call.input_tokens:,} in, {call.output_tokens:,} out)"
    state = f"{call.outcome}, " if call.outcome else "in flight, reserved "
    whose = f"{record.begun_at:%Y-%m-%d %H:%M:%S}Z {call.budget or call.budget_id!r}"
    cost = f"{state}{call.tokens:,} tokens{parts}{price}{took}"
    return f"{call.call} {whose} {cost}, {call.model!r} at {call.upstream}{purpose}{detail}"


def names_of(statuses: Sequence[BudgetStatus]) -> dict[BudgetId, str]:
    """Return the names of budgets by their ids."""
    return {status.budget: status.name for status in statuses}
