"""What is told about budgets: figures, what is left, and how fast it goes."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from ekiden_budget.accounts import Account, find_chain, find_children, find_subtree, settled_lately
from ekiden_budget.journal import moment
from ekiden_budget.records import BudgetId, BudgetStatus
from ekiden_policies.burn_rate import Rate, forecast, left, measured


def describe(connection: sqlite3.Connection, budget: BudgetId, now: float) -> BudgetStatus:
    """Describe a budget.

    Raises:
        UnknownBudgetError: There is none of that id.
    """
    chain = find_chain(connection, budget)
    rates = [_rate(connection, account, now) for account in chain]
    return _status(chain, rates, find_children(connection, chain[0]), now)


def describe_tree(connection: sqlite3.Connection, budget: BudgetId | None, now: float) -> list[BudgetStatus]:
    """Describe a budget and all below it, or all there are: depth first, the oldest child first.

    Raises:
        UnknownBudgetError: There is no budget of that id.
    """
    above = [] if budget is None else find_chain(connection, budget)[1:]
    accounts = find_subtree(connection, budget)
    rates = {account.number: _rate(connection, account, now) for account in (*accounts, *above)}
    children: defaultdict[int | None, list[Account]] = defaultdict(list)
    for account in accounts:
        children[account.parent].append(account)
    roots = children[None] if budget is None else accounts[:1]
    waiting = [[root, *above] for root in reversed(roots)]
    statuses: list[BudgetStatus] = []
    while waiting:
        chain = waiting.pop()
        below = children[chain[0].number]
        ids = [child.budget for child in below]
        statuses.append(_status(chain, [rates[account.number] for account in chain], ids, now))
        waiting.extend([child, *chain] for child in reversed(below))
    return statuses


def _rate(connection: sqlite3.Connection, account: Account, now: float) -> Rate | None:
    return measured(*settled_lately(connection, account, now))


def _status(
    chain: Sequence[Account], rates: Sequence[Rate | None], children: list[BudgetId], now: float
) -> BudgetStatus:
    account = chain[0]
    standings = [one.standing(now) for one in chain]
    return BudgetStatus(
        budget=account.budget,
        name=account.name,
        role=account.role,
        parent=chain[1].budget if len(chain) > 1 else None,
        children=tuple(children),
        caps=account.caps,
        settled=account.settled,
        reserved=account.reserved,
        excess=account.excess,
        left=left(standings),
        calls=account.calls,
        unpriced_calls=account.unpriced,
        opened_at=moment(account.opened_at),
        closed_at=None if account.closed_at is None else moment(account.closed_at),
        clock=account.clock,
        paused=account.paused,
        elapsed_s=standings[0].elapsed_s,
        rate=rates[0],
        forecast=forecast(standings, rates),
    )
