"""What a run has spent on language models."""

from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from ekiden_policies.budget import dollars

if TYPE_CHECKING:
    from ekiden_budget.records import BudgetStatus


class Spending(BaseModel):
    """What the ledger says of a run, over all its attempts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int = Field(description="Tokens that are settled.")
    usd: Decimal = Field(description="Dollars that are settled, of calls with a known price.")
    calls: dict[str, int] = Field(description="Calls by how they ended; `refused` ones reached no model.")
    unpriced_calls: int = Field(description="Settled calls whose price is not known.")
    excess_tokens: int = Field(description="Tokens that upstreams reported above what the cap had room for.")


def spending_of(status: "BudgetStatus") -> Spending:
    """Return what the status of a run's budget says."""
    counts: dict[str, int] = asdict(status.calls)
    return Spending(
        tokens=status.settled.tokens,
        usd=dollars(status.settled.nanodollars or 0),
        calls={outcome: count for outcome, count in counts.items() if count},
        unpriced_calls=status.unpriced_calls,
        excess_tokens=status.excess.tokens,
    )
