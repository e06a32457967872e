"""What whoever caps dollars is told where no model has a price."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_config import BudgetSettings
    from ekiden_policies.budget import Caps


def price_warning(settings: "BudgetSettings", caps: "Caps") -> str | None:
    """Return a warning if a cap in dollars refuses every call; None if it does not."""
    if settings.prices or caps.nanodollars is None:
        return None
    return "No model has a price under [budget.prices], so the cap in dollars refuses every call."
