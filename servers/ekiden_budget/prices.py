"""What calls cost in US dollars, counted in nano-dollars and rounded up."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Self

from ekiden_budget.globs import specificity
from ekiden_budget.wire.call import ModelCall
from ekiden_budget.wire.usage import Usage
from ekiden_config import BudgetSettings, PriceSettings

_NANODOLLARS_PER_USD_PER_MILLION = 1000
_DEAREST_CACHE_WRITE = 2


@dataclass(frozen=True, slots=True)
class _Price:
    """Nano-dollars for one token of each kind."""

    input: Fraction
    output: Fraction
    cached_input: Fraction
    cache_write: Fraction | None

    @classmethod
    def read(cls, settings: PriceSettings) -> Self:
        """Take a price out of the settings."""
        cached = settings.cached_input_usd_per_million
        write = settings.cache_write_usd_per_million
        each = _per_token(settings.input_usd_per_million)
        return cls(
            input=each,
            output=_per_token(settings.output_usd_per_million),
            cached_input=each if cached is None else _per_token(cached),
            cache_write=None if write is None else _per_token(write),
        )

    def write_price(self) -> Fraction:
        """Return the price of a token written to a cache: unless it is known, the dearest that anybody asks."""
        return self.input * _DEAREST_CACHE_WRITE if self.cache_write is None else self.cache_write

    def cost(self, usage: Usage) -> Fraction:
        """Return what the tokens of a call cost."""
        fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
        return (
            fresh * self.input
            + usage.cached_input_tokens * self.cached_input
            + usage.cache_write_tokens * self.write_price()
            + usage.output_tokens * self.output
        )

    def bound(self, call: ModelCall) -> Fraction:
        """Return what a call can cost at most."""
        # in Messages a caller asks for a cache; elsewhere it is written only at a price that somebody then set
        writes = self.cache_write is not None or call.dialect == "messages"
        dearest = max(self.input, self.cached_input, self.write_price() if writes else Fraction(0))
        return call.input_bound * dearest + call.output_bound * self.output


class PriceList:
    """The prices of models, by globs of their names."""

    def __init__(self, prices: Mapping[str, PriceSettings]) -> None:
        self._prices = sorted(
            ((glob, _Price.read(price)) for glob, price in prices.items()),
            key=lambda entry: specificity(entry[0]),
            reverse=True,
        )

    @classmethod
    def from_settings(cls, settings: BudgetSettings) -> Self:
        """Take the prices out of the section `[budget]`."""
        return cls(settings.prices)

    def cost(self, model: str, usage: Usage) -> int | None:
        """Return what a call cost in nano-dollars, rounded up; None if nobody knows.

        Where the upstream names a cost of its own, the higher one counts.
        """
        price = self._price(model)
        listed = None if price is None else math.ceil(price.cost(usage))
        known = [cost for cost in (listed, usage.reported_nanodollars) if cost is not None]
        return max(known, default=None)

    def bound(self, model: str, call: ModelCall) -> int | None:
        """Return what a call can cost at most in nano-dollars, whichever model answers; None if a price is unknown."""
        prices = [self._price(name) for name in (model, *call.fallback_models)]
        costs = [math.ceil(price.bound(call)) for price in prices if price is not None]
        return max(costs) if len(costs) == len(prices) else None

    def _price(self, model: str) -> _Price | None:
        return next((price for glob, price in self._prices if fnmatchcase(model, glob)), None)


def _per_token(usd_per_million: Decimal) -> Fraction:
    return Fraction(usd_per_million) * _NANODOLLARS_PER_USD_PER_MILLION
