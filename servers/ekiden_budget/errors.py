"""The errors of `ekiden_budget`."""

from ekiden_budget.records import Balance
from ekiden_policies.budget import Refusal


class BudgetError(Exception):
    """Something that keeps a budget from being kept, or a call from being let through."""


class RefusedError(BudgetError):
    """A call that its budgets have no room for; nothing was reserved.

    Attributes:
        refusal: Which budget refused, and the figures.
        balance: Where the call's own budget stands.
    """

    def __init__(self, refusal: Refusal, balance: Balance) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self.balance = balance

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[Refusal, Balance]]:
        return type(self), (self.refusal, self.balance)


class UnknownBudgetError(BudgetError, LookupError):
    """An id that no budget or call of the ledger has."""


class WrongTokenError(BudgetError):
    """A token that is not, or no longer, that of the budget that is to pay."""


class ClosedBudgetError(BudgetError):
    """A budget that is closed was asked for something that only an open one can do."""


class BudgetExistsError(BudgetError, ValueError):
    """A budget was to be opened under an id that is taken."""


class InvalidFigureError(BudgetError, ValueError):
    """A cap, an amount, a name or an id that no budget can have."""


class LedgerError(BudgetError):
    """The ledger's file cannot be used: it is missing, unreadable, foreign, damaged, or cannot be written."""


class LedgerBusyError(LedgerError):
    """Another process held the ledger for too long; the same call may work later."""
