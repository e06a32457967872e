"""What a run has spent on language models, and why calls were not answered."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from ekiden_policies.budget import dollars

if TYPE_CHECKING:
    from ekiden_budget.ledger import Ledger
    from ekiden_budget.records import BudgetId, FailureTally

MOST_REASONS = 3
_LONGEST_DETAIL = 160
_ENDINGS = {
    "unreadable": "answered without a bill that can be read",
    "failed": "failed after they were sent",
    "unsent": "without any connection to the upstream",
    "abandoned": "cut off when their runner died",
}


class Spending(BaseModel):
    """What the ledger says of a run, over all its attempts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int = Field(description="Tokens that are settled.")
    usd: Decimal = Field(description="Dollars that are settled, of calls with a known price.")
    calls: dict[str, int] = Field(description="Calls by how they ended; `refused` ones reached no model.")
    failures: dict[str, int] = Field(
        default_factory=dict[str, int], description="Why calls were not answered, the most frequent reason first."
    )
    unpriced_calls: int = Field(description="Settled calls whose price is not known.")
    excess_tokens: int = Field(description="Tokens that upstreams reported above what the cap had room for.")


def spending_of(ledger: "Ledger", budget: "BudgetId") -> Spending:
    """Return what a ledger says of a run's budget."""
    status = ledger.status(budget)
    tallies = ledger.failures(budget)
    counts: dict[str, int] = asdict(status.calls)
    counts["turned_away"] = sum(tally.calls for tally in tallies if _is_turned_away(tally))
    counts["unsent"] -= counts["turned_away"]  # the ledger's word for both: neither was billed by the upstream
    reasons = Counter[str]()
    for tally in tallies:
        reasons[_reason(tally)] += tally.calls
    if status.calls.refused:
        reasons["refused by the budget"] = status.calls.refused
    return Spending(
        tokens=status.settled.tokens,
        usd=dollars(status.settled.nanodollars or 0),
        calls={outcome: count for outcome, count in counts.items() if count},
        failures=dict(reasons.most_common()),
        unpriced_calls=status.unpriced_calls,
        excess_tokens=status.excess.tokens,
    )


def calls_in_words(calls: Mapping[str, int], failures: Mapping[str, int]) -> str:
    """Say how the calls of a run ended, as `12 answered, 4 turned away by the upstream (HTTP 404)`.

    Args:
        calls: Calls by how they ended.
        failures: Why calls were not answered; all but the most frequent reasons are told as one.
    """
    answered = calls.get("answered", 0)
    # an old run has no reasons
    why = failures or {outcome: count for outcome, count in calls.items() if outcome != "answered"}
    reasons = sorted(why.items(), key=lambda reason: -reason[1])
    told = [f"{count:,} {reason}" for reason, count in reasons[:MOST_REASONS]]
    if others := sum(count for _, count in reasons[MOST_REASONS:]):
        told.append(f"{others:,} not answered for other reasons")
    return ", ".join([f"{answered:,} answered", *told] if answered or not told else told)


def _reason(tally: "FailureTally") -> str:
    ending = "turned away by the upstream" if _is_turned_away(tally) else _ENDINGS.get(tally.outcome, tally.outcome)
    if tally.outcome == "abandoned" or not tally.detail:
        return ending
    detail = tally.detail if len(tally.detail) <= _LONGEST_DETAIL else f"{tally.detail[:_LONGEST_DETAIL]}..."
    return f"{ending} ({detail})"


def _is_turned_away(tally: "FailureTally") -> bool:
    """Tell whether calls were sent, and their upstream answered that it does not take them."""
    return tally.outcome == "unsent" and tally.detail.startswith("HTTP ")
