"""What the proxy says no with: a status, a text, and a body in the shape that the caller's client library reads."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from ekiden_budget.errors import BudgetError, RefusedError
from ekiden_budget.records import CallLabel
from ekiden_policies.budget import Limit

OUT_OF_BUDGET_CODE = "insufficient_quota"
"""The code that OpenAI gives a call above its quota; clients that know it do not ask again."""

_EXHAUSTED: Mapping[Limit, str] = {
    "tokens": "token budget exhausted",
    "usd": "dollar budget exhausted",
    "seconds": "time budget exhausted",
    "closed": "budget closed",
    "price": "price unknown",
}

_HOW_TO_PRICE = """ \
Whoever runs the budget adds the price of each model that may answer to ekiden.toml, where the proxy is started, or to \
the user's own settings, and starts the proxy again; as here, with the vendor's figures:

[budget.prices.{model}]
input_usd_per_million = 1.25
output_usd_per_million = 10.00
"""


class _Verdict(NamedTuple):
    status: int
    kind: str


# Codex, which speaks the Responses format alone, sends a call five times more when it gets a 402, and stops at this.
_OUT_OF_BUDGET: Mapping[str, _Verdict] = {"responses": _Verdict(429, "usage_limit_reached")}
_PAYMENT_REQUIRED = _Verdict(402, "")


class RejectionError(BudgetError):
    """A request that is answered by the proxy itself, with an error.

    Attributes:
        status: The HTTP status.
        code: A word for programs.
        kind: The type of the error, where it is not the usual one of the status.
        headers: Headers of the answer.
    """

    def __init__(
        self, status: int, message: str, *, code: str = "", kind: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.kind = kind
        self.headers = dict(headers or {})

    @classmethod
    def out_of_budget(cls, error: RefusedError, label: CallLabel, told: Mapping[str, str]) -> "RejectionError":
        """Return the refusal of a call that its budgets have no room for; asking again will not help.

        Args:
            error: Which budget refused, and why.
            label: Which call.
            told: The headers that say where the caller's budget stands.
        """
        text = f"{_EXHAUSTED[error.refusal.limit]}: {error.refusal.message}"
        if error.refusal.limit == "price":
            text += _HOW_TO_PRICE.format(model=json.dumps(label.model))
        status, kind = _OUT_OF_BUDGET.get(label.dialect, _PAYMENT_REQUIRED)
        return cls(status, text, code=OUT_OF_BUDGET_CODE, kind=kind, headers={**NO_RETRY, **told})

    @classmethod
    def spent(cls, limit: Limit, name: str) -> "RejectionError":
        """Return the refusal of what is free but is only for those who have something left."""
        text = f"{_EXHAUSTED[limit]}: the budget {name!r} lets no call through. Work without a model."
        return cls(_PAYMENT_REQUIRED.status, text, code=OUT_OF_BUDGET_CODE, headers=NO_RETRY)

    @classmethod
    def crowded(cls, message: str) -> "RejectionError":
        """Return the refusal of a request that may be let in a moment later."""
        return cls(503, message, code="overloaded", headers={"retry-after": "1"})


NO_RETRY = {"x-should-retry": "false"}
"""What the libraries of OpenAI and Anthropic look at before they send a request again."""
