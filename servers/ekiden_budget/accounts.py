"""The budgets of a ledger's file: reading their rows, and moving what they hold."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ekiden_budget.errors import UnknownBudgetError
from ekiden_budget.figures import is_id
from ekiden_budget.records import BudgetId, CallCounts, Clock
from ekiden_policies.budget import Amount, Caps, Outcome, Standing

_MINUTE_S = 60.0
MINUTES = 5
"""How many minutes a rate looks back on, the one under way included."""

_COLUMNS = """
    budgets.number, budgets.id, budgets.parent, name, role, opened_at, closed_at, clock, paused, elapsed_s, seen_at,
    cap_tokens, cap_nanodollars, cap_seconds, soft_tokens, soft_nanodollars, soft_seconds,
    settled_tokens, settled_nanodollars, reserved_tokens, reserved_nanodollars, excess_tokens, excess_nanodollars,
    open, answered, unreadable, failed, unsent, abandoned, refused, unpriced
"""
_BY_ID = f"SELECT {_COLUMNS} FROM budgets WHERE id = ?"  # noqa: S608 - constants
_BY_NUMBER = f"SELECT {_COLUMNS} FROM budgets WHERE number = ?"  # noqa: S608 - constants
DOWNWARDS = """
    WITH RECURSIVE below (number) AS (
        SELECT number FROM budgets WHERE id = ?
        UNION ALL
        SELECT budgets.number FROM below JOIN budgets ON budgets.parent = below.number
    )
"""
"""Names `below`: a budget, given by its id, and all under it."""
_ALL = f"SELECT {_COLUMNS} FROM budgets ORDER BY number"  # noqa: S608 - constants
_SUBTREE = f"{DOWNWARDS} SELECT {_COLUMNS} FROM below JOIN budgets USING (number) ORDER BY number"  # noqa: S608 - constants
_OPEN = """
    INSERT INTO budgets (id, parent, name, role, token_hash, opened_at, clock, seen_at, cap_tokens, cap_nanodollars,
        cap_seconds, soft_tokens, soft_nanodollars, soft_seconds)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_RESERVE = """
    UPDATE budgets SET open = open + 1, reserved_tokens = reserved_tokens + ?,
        reserved_nanodollars = reserved_nanodollars + ?, elapsed_s = ?, seen_at = ?, paused = 0
    WHERE number = ?
"""
_REFUSE = "UPDATE budgets SET refused = refused + 1 WHERE number = ?"
_SETTLE = """
    UPDATE budgets SET open = open - 1,
        reserved_tokens = reserved_tokens - :reserved_tokens,
        reserved_nanodollars = reserved_nanodollars - :reserved_nanodollars,
        settled_tokens = settled_tokens + :billed_tokens,
        settled_nanodollars = settled_nanodollars + :billed_nanodollars,
        excess_tokens = excess_tokens + :excess_tokens, excess_nanodollars = excess_nanodollars + :excess_nanodollars,
        answered = answered + (:outcome = 'answered'), unreadable = unreadable + (:outcome = 'unreadable'),
        failed = failed + (:outcome = 'failed'), unsent = unsent + (:outcome = 'unsent'),
        abandoned = abandoned + (:outcome = 'abandoned'), unpriced = unpriced + :unpriced,
        elapsed_s = :elapsed_s, seen_at = :seen_at
    WHERE number = :number
"""
_NOTE_MINUTE = """
    INSERT INTO minutes VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET tokens = tokens + excluded.tokens, nanodollars = nanodollars + excluded.nanodollars
"""
_RECENT = "SELECT total(tokens), total(nanodollars) FROM minutes WHERE budget = ? AND minute BETWEEN ? AND ?"


@dataclass(frozen=True, slots=True)
class Account:
    """A row of `budgets`.

    Attributes:
        elapsed_s: The budget's time until `seen_at`.
        seen_at: When its time was last added up.
    """

    number: int
    budget: BudgetId
    parent: int | None
    name: str
    role: str
    opened_at: float
    closed_at: float | None
    clock: Clock
    paused: bool
    elapsed_s: float
    seen_at: float
    caps: Caps
    settled: Amount
    reserved: Amount
    excess: Amount
    calls: CallCounts
    unpriced: int

    def elapsed_at(self, now: float) -> float:
        """Return the budget's time so far; a clock that was set back adds nothing, and takes nothing away."""
        stands = self.closed_at is not None or self.paused
        return self.elapsed_s if stands else self.elapsed_s + max(0.0, now - self.seen_at)

    def standing(self, now: float) -> Standing:
        """Return what a decision is made from."""
        elapsed_s, closed = self.elapsed_at(now), self.closed_at is not None
        return Standing(self.budget, self.name, self.caps, self.settled, self.reserved, elapsed_s, closed)


def find_chain(connection: sqlite3.Connection, budget: BudgetId) -> list[Account]:
    """Return a budget and all above it, the root last.

    Raises:
        UnknownBudgetError: There is none of that id.
    """
    row = connection.execute(_BY_ID, (budget,)).fetchone() if is_id(budget) else None
    if row is None:
        raise UnknownBudgetError(f"No budget {budget!r} in this ledger. `ekiden budget status` shows those there are.")
    chain = [_account(row)]
    while (parent := chain[-1].parent) is not None:  # a few look-ups take a third of the time of one recursive query
        chain.append(_account(connection.execute(_BY_NUMBER, (parent,)).fetchone()))
    return chain


def find_subtree(connection: sqlite3.Connection, budget: BudgetId | None) -> list[Account]:
    """Return a budget and all below it, or all budgets there are; every one after its parent."""
    query = connection.execute(_ALL) if budget is None else connection.execute(_SUBTREE, (budget,))
    return [_account(row) for row in query]


def find_children(connection: sqlite3.Connection, account: Account) -> list[BudgetId]:
    """Return the budgets right below one, the oldest first."""
    query = "SELECT id FROM budgets WHERE parent = ? ORDER BY number"
    return [BudgetId(budget) for (budget,) in connection.execute(query, (account.number,))]


def insert(
    connection: sqlite3.Connection,
    *,
    budget: BudgetId,
    parent: Account | None,
    name: str,
    role: str,
    token_hash: bytes,
    clock: Clock,
    caps: Caps,
    now: float,
) -> None:
    """Enter a budget."""
    above = None if parent is None else parent.number
    limits = (caps.tokens, caps.nanodollars, caps.seconds, caps.soft_tokens, caps.soft_nanodollars, caps.soft_seconds)
    connection.execute(_OPEN, (budget, above, name, role, token_hash, now, clock, now, *limits))


def reserve(connection: sqlite3.Connection, chain: Sequence[Account], asked: Amount, now: float) -> None:
    """Set an amount aside in every budget of a chain."""
    connection.executemany(
        _RESERVE,
        [(asked.tokens, asked.nanodollars or 0, account.elapsed_at(now), now, account.number) for account in chain],
    )


def refuse(connection: sqlite3.Connection, chain: Sequence[Account]) -> None:
    """Count a refusal in every budget of a chain."""
    connection.executemany(_REFUSE, [(account.number,) for account in chain])


def settle(
    connection: sqlite3.Connection,
    chain: Sequence[Account],
    *,
    reserved: Amount,
    billed: Amount,
    excess: Amount,
    outcome: Outcome,
    now: float,
) -> None:
    """Turn a reservation into what is billed, in every budget of a chain.

    An abandoned call is settled by somebody else, maybe days later, so it is no sign that its budget is in use.
    """
    figures = {
        "reserved_tokens": reserved.tokens,
        "reserved_nanodollars": reserved.nanodollars or 0,
        "billed_tokens": billed.tokens,
        "billed_nanodollars": billed.nanodollars or 0,
        "excess_tokens": excess.tokens,
        "excess_nanodollars": excess.nanodollars or 0,
        "unpriced": billed.nanodollars is None,
        "outcome": outcome,
    }
    rows: list[dict[str, object]] = []
    for account in chain:
        stands = outcome == "abandoned" or account.paused or account.closed_at is not None
        elapsed_s, seen_at = (account.elapsed_s, account.seen_at) if stands else (account.elapsed_at(now), now)
        rows.append({**figures, "elapsed_s": elapsed_s, "seen_at": seen_at, "number": account.number})
    connection.executemany(_SETTLE, rows)
    if billed.tokens or billed.nanodollars:
        minute, nanodollars = int(now // _MINUTE_S), billed.nanodollars or 0
        connection.executemany(
            _NOTE_MINUTE, [(account.number, minute, billed.tokens, nanodollars) for account in chain]
        )


def keep_time(connection: sqlite3.Connection, accounts: Iterable[Account], now: float, *, paused: bool) -> None:
    """Add up the time of budgets until now, and stop it or let it run; what is closed stays as it is."""
    connection.executemany(
        "UPDATE budgets SET elapsed_s = ?, seen_at = ?, paused = ? WHERE number = ? AND closed_at IS NULL",
        [(account.elapsed_at(now), now, paused, account.number) for account in accounts],
    )


def restart_time(connection: sqlite3.Connection, accounts: Iterable[Account], now: float) -> None:
    """Let the time of budgets run from now on, without what has passed since they were last seen."""
    connection.executemany(
        "UPDATE budgets SET seen_at = ?, paused = 0 WHERE number = ? AND closed_at IS NULL",
        [(now, account.number) for account in accounts],
    )


def close(connection: sqlite3.Connection, accounts: Iterable[Account], now: float) -> None:
    """Close budgets, their time with them; what is closed already stays as it is."""
    connection.executemany(
        "UPDATE budgets SET elapsed_s = ?, seen_at = ?, closed_at = ? WHERE number = ? AND closed_at IS NULL",
        [(account.elapsed_at(now), now, now, account.number) for account in accounts],
    )


def settled_lately(connection: sqlite3.Connection, account: Account, now: float) -> tuple[float, int, int]:
    """Return the seconds looked back on, and the tokens and nano-dollars settled in them."""
    minute = int(now // _MINUTE_S)
    first = minute - MINUTES + 1
    tokens, nanodollars = connection.execute(_RECENT, (account.number, first, minute)).fetchone()
    return max(1.0, now - max(account.opened_at, first * _MINUTE_S)), int(tokens), int(nanodollars)


def _account(row: tuple[Any, ...]) -> Account:
    return Account(
        *row[:8],
        paused=bool(row[8]),
        elapsed_s=row[9],
        seen_at=row[10],
        caps=Caps(*row[11:17]),
        settled=Amount(*row[17:19]),
        reserved=Amount(*row[19:21]),
        excess=Amount(*row[21:23]),
        calls=CallCounts(*row[23:30]),
        unpriced=row[30],
    )
