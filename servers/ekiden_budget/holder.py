"""Who may see and open what: the holder of a token its own budget and those below, others the whole ledger."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from ekiden_budget.errors import BudgetError, InvalidFigureError, LedgerError, UnknownBudgetError
from ekiden_budget.ledger import Ledger
from ekiden_budget.records import BudgetId, BudgetStatus, CallId, CallRecord, Opened
from ekiden_config import BudgetSettings
from ekiden_policies.budget import Caps, Limit, in_words

LEDGER_FILE = "budget.sqlite3"
TOKEN_VARIABLE = "EKIDEN_BUDGET_TOKEN"  # noqa: S105  # the variable's name, not a token
"""Holds the token of the one budget that a program acts for."""


class NotAllowedError(BudgetError):
    """Something that only the owner of the whole ledger may do."""


def ledger_file(settings: BudgetSettings) -> Path:
    """Return where the ledger is: as set, else in the user's folder for state."""
    if settings.ledger:
        return Path(settings.ledger).expanduser()
    import platformdirs

    return Path(platformdirs.user_state_dir("ekiden")) / LEDGER_FILE


class Holder:
    """Looks at budgets and opens them, within one budget or in the whole ledger.

    Args:
        ledger: Where they are kept.
        own: The budget that the holder's token is for; None for the owner of the ledger.
    """

    def __init__(self, ledger: Ledger, own: BudgetId | None = None) -> None:
        self.ledger = ledger
        self.own = own

    @classmethod
    def of_settings(cls, settings: BudgetSettings, *, create: bool = True) -> Self:
        """Open the ledger for whoever the settings' token makes one.

        Args:
            settings: Where the ledger is, and the token, if any.
            create: Whether to make a ledger that is missing; with a token none is made.

        Raises:
            LedgerError: The ledger's file cannot be used.
            NotAllowedError: The token is no budget's.
        """
        token = "" if settings.token is None else settings.token.get_secret_value()
        file = ledger_file(settings)
        if file.is_dir():
            raise LedgerError(f"{str(file)!r} is a folder, so it is no ledger. Name a file, such as one in it.")
        ledger = Ledger(file, create=create and not token)
        own = ledger.authenticate(token) if token else None
        if token and own is None:
            ledger.close()
            raise NotAllowedError(
                f"The token in {TOKEN_VARIABLE} is no budget's of this ledger. Ask whoever opened the budget for its "
                "token and for the ledger, which the setting budget.ledger names; the same call will fail again."
            )
        return cls(ledger, own)

    def open_root(self, name: str, caps: Caps, *, role: str = "") -> Opened:
        """Open a budget of its own.

        Raises:
            NotAllowedError: The holder may only spend what it was given.
            InvalidFigureError: A cap or the name cannot be.
        """
        if self.own is not None:
            raise NotAllowedError(
                f"You act for the budget {self.own!r} and cannot open one beside it: open a child of yours."
            )
        return self.ledger.open_budget(name, caps, role=role)

    def open_child(self, parent: BudgetId, name: str, caps: Caps, *, role: str = "") -> Opened:
        """Open a budget below another, with caps within what that one has left.

        Raises:
            InvalidFigureError: A cap is wider than what the parent has left, or it or the name cannot be.
            ClosedBudgetError: The parent is closed.
        """
        status = self.ledger.status(parent)
        for limit, cap, left in _compared(caps, status):
            if cap is not None and left is not None and cap > left:
                raise InvalidFigureError(
                    f"A child with {in_words(limit, cap)} does not fit: {status.name!r} has {in_words(limit, left)} "
                    "left. Give the child at most that, or no such cap: the caps above it hold for it as well."
                )
        return self.ledger.open_budget(name, caps, parent=parent, role=role)

    def find(self, wanted: str) -> BudgetId:
        """Return the budget of an id, or of a name that only one budget has, an open one before closed ones.

        Args:
            wanted: An id or a name; empty for the holder's own budget.

        Raises:
            UnknownBudgetError: There is none that this holder may see, or several have that name.
        """
        if not wanted:
            if self.own is None:
                raise UnknownBudgetError(f"Say which budget; {self._known(wanted)}")
            return self.own
        if self._sees(BudgetId(wanted)):
            return BudgetId(wanted)
        named = [status for status in self.ledger.tree(self.own) if status.name == wanted]
        candidates = [status for status in named if not status.closed] or named
        if len(candidates) > 1:
            ids = ", ".join(repr(status.budget) for status in candidates)
            raise UnknownBudgetError(f"{len(candidates)} budgets are named {wanted!r}; give an id: {ids}.")
        if not candidates:
            raise UnknownBudgetError(f"No budget {wanted!r}; {self._known(wanted)}")
        return candidates[0].budget

    def tree(self, budget: BudgetId | None = None) -> list[BudgetStatus]:
        """Describe a budget and all below it; without one, all that this holder may see."""
        return self.ledger.tree(self.own if budget is None else budget)

    def calls(self, budget: BudgetId | None = None, *, limit: int, before: CallId | None = None) -> list[CallRecord]:
        """Return the last calls of a budget, or of all that this holder may see, the newest first."""
        chosen = self.own if budget is None else budget
        if chosen is not None:
            return self.ledger.calls(chosen, limit=limit, before=before)
        roots = [status.budget for status in self.ledger.tree() if status.parent is None]
        pages = (call for root in roots for call in self.ledger.calls(root, limit=limit, before=before))
        return sorted(pages, key=lambda call: call.call, reverse=True)[:limit]

    def _sees(self, budget: BudgetId) -> bool:
        at: BudgetId | None = budget
        try:
            while at is not None:
                above = self.ledger.status(at).parent
                if self.own is None or at == self.own:
                    return True
                at = above
        except UnknownBudgetError:
            return False
        return False

    def _known(self, wanted: str) -> str:
        statuses = self.ledger.tree(self.own)
        names = {name for status in statuses for name in (status.name, status.budget)}
        if near := difflib.get_close_matches(wanted, names, n=2, cutoff=0.7):
            return f"did you mean {' or '.join(map(repr, near))}?"
        shown = [f"{status.name!r} ({status.budget})" for status in statuses if not status.closed][-5:]
        return f"open are {', '.join(shown)}." if shown else "none is open."


def _compared(caps: Caps, parent: BudgetStatus) -> Iterator[tuple[Limit, float | None, float | None]]:
    yield "tokens", caps.tokens, parent.left.tokens
    yield "usd", caps.nanodollars, parent.left.nanodollars
    yield "seconds", caps.seconds, parent.left.seconds
