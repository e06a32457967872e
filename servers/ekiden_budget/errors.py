"""The errors of `ekiden_budget`."""


class BudgetError(Exception):
    """A request that the budget, its ledger or its proxy cannot serve as it is."""
