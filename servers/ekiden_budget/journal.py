"""The calls of a ledger's file: the audit log, and who answers for what is in flight."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ekiden_budget.accounts import DOWNWARDS
from ekiden_budget.errors import UnknownBudgetError
from ekiden_budget.figures import detail_text, label_text
from ekiden_budget.records import BudgetId, CallId, CallLabel, CallRecord, FailureTally, Settled, TokenParts
from ekiden_policies.budget import Amount, Outcome
from ekiden_warden.identity import ProcessIdentity

_BEGIN = """
    INSERT INTO calls (budget, owner, dialect, model, upstream, stream, purpose, begun_at, reserved_tokens,
        reserved_nanodollars, prompt_sha256, temperature)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_FIND = """
    SELECT calls.number, budgets.id, calls.reserved_tokens, calls.reserved_nanodollars, outcome, billed_tokens,
        billed_nanodollars, calls.excess_tokens, calls.excess_nanodollars
    FROM calls JOIN budgets ON budgets.number = calls.budget
"""
_END = """
    UPDATE calls SET outcome = ?, ended_at = ?, billed_tokens = ?, billed_nanodollars = ?, excess_tokens = ?,
        excess_nanodollars = ?, detail = ?, input_tokens = ?, output_tokens = ?, cached_input_tokens = ?,
        reasoning_tokens = ?
    WHERE number = ? AND outcome IS NULL
"""
_LIST = f"""{DOWNWARDS}
    SELECT calls.number, budgets.id, dialect, model, upstream, stream, purpose, calls.reserved_tokens,
        calls.reserved_nanodollars, outcome, billed_tokens, billed_nanodollars, calls.excess_tokens,
        calls.excess_nanodollars, begun_at, ended_at, detail, prompt_sha256, temperature, input_tokens, output_tokens,
        cached_input_tokens, reasoning_tokens
    FROM calls JOIN budgets ON budgets.number = calls.budget
    WHERE calls.budget IN below AND calls.number < ? ORDER BY calls.number DESC LIMIT ?
"""  # noqa: S608 - constants
_NEWEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A call as far as settling it is concerned; `settled` is None while it is in flight."""

    call: CallId
    budget: BudgetId
    reserved: Amount
    settled: Settled | None


def register(connection: sqlite3.Connection, owner: ProcessIdentity) -> int:
    """Return the number that a process has in this ledger."""
    connection.execute("INSERT OR IGNORE INTO owners (pid, started, boot) VALUES (?, ?, ?)", owner)
    query = "SELECT number FROM owners WHERE pid = ? AND started = ? AND boot = ?"
    number: int = connection.execute(query, owner).fetchone()[0]
    return number


def begin(
    connection: sqlite3.Connection, account: int, *, owner: int, label: CallLabel, reserved: Amount, now: float
) -> CallId:
    """Enter a call that is let through from the budget of a row."""
    texts = [label_text(text) for text in (label.dialect, label.model, label.upstream)]
    about = (label.stream, label_text(label.purpose), now, reserved.tokens, reserved.nanodollars)
    row = (account, owner, *texts, *about, label_text(label.prompt_sha256), label.temperature)
    number = connection.execute(_BEGIN, row).lastrowid
    assert number is not None
    return CallId(number)


def find(connection: sqlite3.Connection, call: CallId) -> Entry:
    """Return a call.

    Raises:
        UnknownBudgetError: There is none of that number.
    """
    row = connection.execute(f"{_FIND} WHERE calls.number = ?", (call,)).fetchone()
    if row is None:
        raise UnknownBudgetError(f"No call {call!r} in this ledger; only what was reserved here can be settled.")
    return _entry(row)


def in_flight(connection: sqlite3.Connection) -> dict[int, ProcessIdentity]:
    """Return the processes that have calls in flight, by their numbers in this ledger."""
    query = "SELECT * FROM owners WHERE number IN (SELECT owner FROM calls WHERE outcome IS NULL)"
    return {number: ProcessIdentity(*owner) for number, *owner in connection.execute(query)}


def in_flight_of(connection: sqlite3.Connection, owner: int) -> list[Entry]:
    """Return the calls in flight that a process answers for, the oldest first."""
    query = f"{_FIND} WHERE calls.owner = ? AND outcome IS NULL ORDER BY calls.number"
    return [_entry(row) for row in connection.execute(query, (owner,))]


def end(
    connection: sqlite3.Connection,
    call: CallId,
    settled: Settled,
    *,
    detail: str,
    now: float,
    parts: TokenParts | None = None,
) -> None:
    """Enter how a call ended."""
    billed, excess = settled.billed, settled.excess
    figures = (billed.tokens, billed.nanodollars, excess.tokens, excess.nanodollars or 0)
    kinds = (None,) * 4 if parts is None else (parts.input, parts.output, parts.cached_input, parts.reasoning)
    connection.execute(_END, (settled.outcome, now, *figures, detail_text(detail), *kinds, call))


def page(connection: sqlite3.Connection, budget: BudgetId, *, limit: int, before: CallId | None) -> list[CallRecord]:
    """Return the calls of a budget and of all below it, the newest first."""
    rows = connection.execute(_LIST, (budget, _NEWEST if before is None else min(before, _NEWEST), limit))
    return [_record(row) for row in rows]


def moment(seconds: float) -> datetime:
    """Return a time of the ledger's clock as a date."""
    return datetime.fromtimestamp(seconds, UTC)


def _entry(row: tuple[Any, ...]) -> Entry:
    call, budget, reserved, outcome = row[0], row[1], Amount(*row[2:4]), row[4]
    settled = None if outcome is None else Settled(outcome, Amount(*row[5:7]), Amount(*row[7:9]))
    return Entry(call, budget, reserved, settled)


def _record(row: tuple[Any, ...]) -> CallRecord:
    dialect, model, upstream, stream, purpose = row[2:7]
    outcome: Outcome | None = row[9]
    prompt_sha256, temperature = row[17:19]
    return CallRecord(
        call=row[0],
        budget=row[1],
        label=CallLabel(dialect, model, upstream, bool(stream), purpose, prompt_sha256, temperature),
        reserved=Amount(*row[7:9]),
        outcome=outcome,
        billed=None if outcome is None else Amount(*row[10:12]),
        excess=Amount(*row[12:14]),
        begun_at=moment(row[14]),
        ended_at=None if outcome is None else moment(row[15]),
        detail=row[16],
        parts=None if row[19] is None else TokenParts(*row[19:23]),
    )


def tally_failures(connection: sqlite3.Connection, budget: BudgetId) -> list[FailureTally]:
    """Count the settled calls of a budget and of all below it that were not answered, the most frequent kind first.

    A kind is an outcome with what its detail says up to the first colon.
    """
    query = f"""{DOWNWARDS}
        SELECT outcome, MAX(detail), COUNT(*) FROM calls WHERE budget IN below AND outcome <> 'answered'
        GROUP BY outcome, substr(detail, 1, instr(detail || ':', ':') - 1) ORDER BY COUNT(*) DESC, outcome, detail
    """  # noqa: S608 - constants
    return [FailureTally(*row) for row in connection.execute(query, (budget,))]
