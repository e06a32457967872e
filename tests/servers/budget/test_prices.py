"""What calls cost: globs, caches, rounding, and bounds that hold."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_budget.prices import PriceList
from ekiden_budget.wire import Dialect, ModelCall, Usage
from ekiden_config import PriceSettings


def price(
    asked: str, answered: str, cached: str | None = None, written: str | None = None, kept: str | None = None
) -> PriceSettings:
    return PriceSettings(
        input_usd_per_million=Decimal(asked),
        output_usd_per_million=Decimal(answered),
        cached_input_usd_per_million=None if cached is None else Decimal(cached),
        cache_write_usd_per_million=None if written is None else Decimal(written),
        long_cache_write_usd_per_million=None if kept is None else Decimal(kept),
    )


def call(dialect: Dialect = "chat", fallbacks: tuple[str, ...] = (), asked: int = 10, answered: int = 10) -> ModelCall:
    return ModelCall(dialect, "m", {}, asked, answered, fallback_models=fallbacks)


@pytest.mark.parametrize(
    ("usage", "nanodollars"),
    [
        (Usage(1_000_000, 0), 3_000_000_000),
        (Usage(0, 1), 15_000),
        (Usage(100, 10, cached_input_tokens=40), 60 * 3000 + 40 * 300 + 10 * 15_000),
        (Usage(100, 10, cache_write_tokens=40), 60 * 3000 + 40 * 3750 + 10 * 15_000),
        (Usage(100, 0, cache_write_tokens=40, long_cache_write_tokens=30), 60 * 3000 + 10 * 3750 + 30 * 6000),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, nanodollars: int) -> None:
    assert PriceList({"m": price("3", "15", "0.3", "3.75")}).cost("m", usage) == nanodollars


def test_kinds_without_a_price_cost_at_least_what_others_do() -> None:
    prices = PriceList({"m": price("3", "15")})
    assert prices.cost("m", Usage(100, 0, cached_input_tokens=100)) == 300_000
    assert prices.cost("m", Usage(100, 0, cache_write_tokens=100)) == 600_000


@pytest.mark.parametrize(
    ("written", "kept", "nanodollars"),
    [
        (None, None, 6000),
        ("3.75", None, 6000),
        ("7", None, 7000),
        ("3", None, 3000),
        ("0", None, 0),
        ("3.75", "5", 5000),
    ],
)
def test_what_is_kept_for_long_costs_what_is_set_or_the_most_that_anybody_asks(
    written: str | None, kept: str | None, nanodollars: int
) -> None:
    prices = PriceList({"m": price("3", "15", None, written, kept)})
    assert prices.cost("m", Usage(1, 0, cache_write_tokens=1, long_cache_write_tokens=1)) == nanodollars


def test_the_model_that_answered_is_paid_or_the_dearest_that_may_have() -> None:
    prices = PriceList({"m": price("1", "0"), "dear": price("5", "0")})
    for told, nanodollars in (("m", 1000), ("dear", 5000), ("", 5000), ("dear-2026", 5000), ("stranger", 5000)):
        assert prices.cost("m", Usage(1, 0, model=told), ("dear",)) == nanodollars
    assert prices.cost("m", Usage(1, 0, model="dear")) == 1000
    assert prices.cost("m", Usage(1, 0), ("dear", "unknown")) is None


def test_a_cost_is_rounded_up_and_never_to_nothing() -> None:
    prices = PriceList({"m": price("0.0001", "0.0001")})
    assert prices.cost("m", Usage(1, 0)) == 1
    assert prices.cost("m", Usage(10, 1)) == 2
    assert prices.bound("m", call(asked=1, answered=0)) == 1


def test_huge_counts_are_priced_exactly() -> None:
    prices = PriceList({"m": price("0.123456789123", "999999.999999999")})
    assert prices.cost("m", Usage(10**12, 10**12)) == 123456789123 * 10**3 + 999999999999999 * 10**6


def test_a_model_without_a_price_has_no_cost_unless_the_upstream_names_it() -> None:
    prices = PriceList({"known": price("3", "15")})
    assert prices.cost("m", Usage(10, 10)) is None
    assert prices.bound("m", call()) is None
    assert prices.cost("m", Usage(10, 10, reported_nanodollars=5)) == 5


def test_of_the_listed_and_the_reported_cost_the_higher_one_counts() -> None:
    prices = PriceList({"m": price("3", "15")})
    assert prices.cost("m", Usage(1, 0, reported_nanodollars=1)) == 3000
    assert prices.cost("m", Usage(1, 0, reported_nanodollars=9999)) == 9999


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("openai/gpt-oss-120b", 1),
        ("openai/gpt-oss-20b", 2),
        ("openai/gpt-5", 3),
        ("other", 4),
        ("openai/gpt-?", 5),
        ("openai/gpt-7", 6),
        ("Openai/gpt-oss-120b", 4),
    ],
)
def test_the_glob_that_says_most_counts_in_whatever_order_they_are_written(model: str, dollars: int) -> None:
    globs = ["openai/gpt-oss-120b", "openai/gpt-oss-*", "openai/*", "*", "openai/gpt-[?]", "openai/gpt-[78]"]
    table = {glob: price(str(rank + 1), "0") for rank, glob in enumerate(globs)}
    for prices in (table, dict(reversed(table.items()))):
        assert PriceList(prices).cost(model, Usage(1_000_000, 0)) == dollars * 10**9


def test_a_bound_takes_the_dearest_model_that_may_answer() -> None:
    prices = PriceList({"m": price("1", "1", None, "1"), "dear": price("5", "5", None, "5")})
    assert prices.bound("m", call()) == 20_000
    assert prices.bound("m", call(fallbacks=("dear",))) == 100_000
    assert prices.bound("m", call(fallbacks=("dear", "unknown"))) is None


amounts = st.decimals(0, 1000, places=4)
price_settings = st.builds(
    PriceSettings,
    input_usd_per_million=amounts,
    output_usd_per_million=amounts,
    cached_input_usd_per_million=st.none() | amounts,
    cache_write_usd_per_million=st.none() | amounts,
    long_cache_write_usd_per_million=st.none() | amounts,
)
counts = st.integers(0, 10**6)


@given(
    price_settings,
    st.sampled_from(["chat", "responses", "messages"]),
    st.tuples(counts, counts, counts, counts, counts),
    st.tuples(counts, counts),
)
def test_no_usage_within_its_bounds_costs_more_than_the_bound(
    settings: PriceSettings, dialect: Dialect, used: tuple[int, int, int, int, int], spare: tuple[int, int]
) -> None:
    fresh, read, wrote, kept, output = used
    prices = PriceList({"m": settings})
    usage = Usage(fresh + read + wrote + kept, output, read, wrote + kept, long_cache_write_tokens=kept)
    bound = prices.bound("m", call(dialect, asked=usage.input_tokens + spare[0], answered=output + spare[1]))
    cost = prices.cost("m", usage)
    assert cost is not None
    assert bound is not None
    assert cost <= bound
