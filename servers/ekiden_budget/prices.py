"""What calls cost in US dollars, counted in nano-dollars and rounded up."""

import math
from collections.abc import Mapping, Sequence
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
"""The most that anybody asks for a token written to a cache, as a multiple of one that is only read."""


@dataclass(frozen=True, slots=True)
class _Price:
    """Nano-dollars for one token of each kind."""

    input: Fraction
    output: Fraction
    cached_input: Fraction
    cache_write: Fraction
    long_cache_write: Fraction

    @classmethod
    def read(cls, settings: PriceSettings) -> Self:
        """Take a price out of the settings; a write to a cache without a price costs the most that anybody asks."""
        each = _per_token(settings.input_usd_per_million)
        dearest = each * _DEAREST_CACHE_WRITE
        write = _per_token(settings.cache_write_usd_per_million, dearest)
        # who asks nothing for writing asks nothing for keeping
        long = write if write <= each else max(write, dearest)
        return cls(
            input=each,
            output=_per_token(settings.output_usd_per_million),
            cached_input=_per_token(settings.cached_input_usd_per_million, each),
            cache_write=write,
            long_cache_write=_per_token(settings.long_cache_write_usd_per_million, long),
        )

    def cost(self, usage: Usage) -> Fraction:
        """Return what the tokens of a call cost."""
        fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
        return (
            fresh * self.input
            + usage.cached_input_tokens * self.cached_input
            + (usage.cache_write_tokens - usage.long_cache_write_tokens) * self.cache_write
            + usage.long_cache_write_tokens * self.long_cache_write
            + usage.output_tokens * self.output
        )

    def bound(self, call: ModelCall) -> Fraction:
        """Return what a call can cost at most."""
        kinds = [self.input, self.cached_input]
        if call.dialect != "embeddings":  # elsewhere callers ask for a cache, or the upstream writes one unasked
            kinds += [self.cache_write, self.long_cache_write]
        return call.input_bound * max(kinds) + call.output_bound * self.output


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

    def cost(self, model: str, usage: Usage, fallback_models: Sequence[str] = ()) -> int | None:
        """Return what a call cost in nano-dollars, rounded up; None if nobody knows.

        Where the upstream names a cost of its own, the higher one counts.

        Args:
            model: The model that was asked.
            usage: What was used; of several models, the one it names, else the dearest, counts.
            fallback_models: Those that may have answered in its place.
        """
        named = (model, *fallback_models)
        prices = [self._price(name) for name in ((usage.model,) if usage.model in named else named)]
        costs = [math.ceil(price.cost(usage)) for price in prices if price is not None]
        listed = max(costs) if len(costs) == len(prices) else None
        known = [cost for cost in (listed, usage.reported_nanodollars) if cost is not None]
        return max(known, default=None)

    def bound(self, model: str, call: ModelCall) -> int | None:
        """Return what a call can cost at most in nano-dollars, whichever model answers; None if a price is unknown."""
        prices = [self._price(name) for name in (model, *call.fallback_models)]
        costs = [math.ceil(price.bound(call)) for price in prices if price is not None]
        return max(costs) if len(costs) == len(prices) else None

    def _price(self, model: str) -> _Price | None:
        return next((price for glob, price in self._prices if fnmatchcase(model, glob)), None)


def _per_token(usd_per_million: Decimal | None, otherwise: Fraction = Fraction(0)) -> Fraction:
    return otherwise if usd_per_million is None else Fraction(usd_per_million) * _NANODOLLARS_PER_USD_PER_MILLION
