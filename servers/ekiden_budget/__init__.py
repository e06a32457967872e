"""A shared, hard budget of tokens, money and time: the ledger, and the proxy for language models that keeps it.

The proxy's names are in its modules: importing them brings an HTTP server along.
"""

from ekiden_budget.errors import (
    BudgetError,
    BudgetExistsError,
    ClosedBudgetError,
    InvalidFigureError,
    LedgerBusyError,
    LedgerError,
    RefusedError,
    UnknownBudgetError,
    WrongTokenError,
)
from ekiden_budget.ledger import Ledger
from ekiden_budget.records import (
    Balance,
    BudgetId,
    BudgetStatus,
    CallCounts,
    CallId,
    CallLabel,
    CallRecord,
    Clock,
    Opened,
    Receipt,
    Reserved,
    Settled,
)

__all__ = [
    "Balance",
    "BudgetError",
    "BudgetExistsError",
    "BudgetId",
    "BudgetStatus",
    "CallCounts",
    "CallId",
    "CallLabel",
    "CallRecord",
    "Clock",
    "ClosedBudgetError",
    "InvalidFigureError",
    "Ledger",
    "LedgerBusyError",
    "LedgerError",
    "Opened",
    "Receipt",
    "RefusedError",
    "Reserved",
    "Settled",
    "UnknownBudgetError",
    "WrongTokenError",
]
