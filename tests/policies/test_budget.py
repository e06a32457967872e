"""Whether a call fits its budgets, what it is billed, and what is said about it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.budget import (
    NANO,
    NOTHING,
    Admission,
    Amount,
    Caps,
    Outcome,
    Refusal,
    SoftNotice,
    Standing,
    admit,
    bill,
    dollars,
    fit,
    in_words,
)

FIGURES = st.integers(0, 60)
AMOUNTS = st.builds(Amount, FIGURES, FIGURES)
LIMITS = st.none() | st.integers(0, 90)
CAPS = st.builds(Caps, LIMITS, LIMITS, st.none() | st.floats(0, 90))
OUTCOMES: tuple[Outcome, ...] = ("answered", "unreadable", "failed", "unsent", "abandoned")


def standing(
    caps: Caps,
    *,
    settled: Amount = NOTHING,
    reserved: Amount = NOTHING,
    elapsed_s: float = 0.0,
    closed: bool = False,
    name: str = "run",
) -> Standing:
    return Standing(f"id-{name}", name, caps, settled, reserved, elapsed_s, closed)


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    """A budget that holds what its caps say."""
    caps, settled, reserved = draw(CAPS), draw(AMOUNTS), draw(AMOUNTS)
    assert settled.nanodollars is not None
    assert reserved.nanodollars is not None
    if caps.tokens is not None:
        settled = Amount(min(settled.tokens, caps.tokens), settled.nanodollars)
        reserved = Amount(min(reserved.tokens, caps.tokens - settled.tokens), reserved.nanodollars)
    if caps.nanodollars is not None:
        price = min(settled.nanodollars or 0, caps.nanodollars)
        settled = Amount(settled.tokens, price)
        reserved = Amount(reserved.tokens, min(reserved.nanodollars or 0, caps.nanodollars - price))
    return standing(
        caps, settled=settled, reserved=reserved, elapsed_s=draw(st.floats(0, 90)), closed=draw(st.booleans())
    )


def fits(one: Standing, asked: Amount) -> bool:
    """The rule, said in another way."""
    total = one.settled + one.reserved + asked
    assert total.nanodollars is not None
    return (
        not one.closed
        and (one.caps.seconds is None or one.elapsed_s < one.caps.seconds)
        and (one.caps.tokens is None or 0 < one.caps.tokens >= total.tokens)
        and (one.caps.nanodollars is None or 0 < one.caps.nanodollars >= total.nanodollars)
    )


@given(st.lists(standings(), min_size=1, max_size=4), AMOUNTS)
def test_a_call_is_let_through_when_every_budget_of_its_chain_has_room(chain: list[Standing], asked: Amount):
    refusal = admit(chain, asked).refusal
    assert (refusal is None) == all(fits(one, asked) for one in chain)
    if refusal is not None:
        first = next(one for one in chain if not fits(one, asked))
        assert (refusal.budget_id, refusal.name) == (first.budget_id, first.name)


@given(st.lists(standings(), min_size=1, max_size=3), AMOUNTS, AMOUNTS)
def test_who_may_not_have_little_may_not_have_more(chain: list[Standing], asked: Amount, more: Amount):
    if admit(chain, asked).refusal is not None:
        assert admit(chain, asked + more).refusal is not None


def test_filling_a_budget_exactly_is_to_fit():
    one = standing(Caps(tokens=100, nanodollars=50), settled=Amount(60, 30), reserved=Amount(30, 15))
    assert admit([one], Amount(10, 5)) == Admission(None, ())
    assert [getattr(admit([one], asked).refusal, "limit", None) for asked in (Amount(11, 5), Amount(10, 6))] == [
        "tokens",
        "usd",
    ]


@pytest.mark.parametrize("caps", [Caps(tokens=0), Caps(nanodollars=0), Caps(seconds=0)])
def test_a_cap_of_nothing_refuses_even_a_call_that_needs_nothing(caps: Caps):
    assert admit([standing(caps)], NOTHING).refusal is not None


def test_no_caps_let_everything_through():
    assert (
        admit([standing(Caps(), settled=Amount(10**18, 10**18), elapsed_s=1e9)], Amount(10**12, None)).refusal is None
    )


def test_time_that_is_no_number_is_over():
    assert admit([standing(Caps(seconds=5.0), elapsed_s=float("nan"))], NOTHING).refusal is not None


def test_an_unknown_price_is_refused_where_dollars_are_capped_anywhere_above():
    chain = [standing(Caps(tokens=9), name="agent"), standing(Caps(nanodollars=2_500_000_000))]
    assert admit(chain[:1], Amount(5, None)).refusal is None
    text = (
        "The budget 'run' is capped at $2.5, and the price of this call is not known. "
        "Ask for a model with a price, or have one set under [budget.prices]."
    )
    refusal = Refusal("id-run", "run", "price", asked=None, settled=0, reserved=0, cap=2_500_000_000, message=text)
    assert admit(chain, Amount(5, None)).refusal == refusal


def said(one: Standing, asked: Amount) -> str:
    refusal = admit([one], asked).refusal
    assert refusal is not None
    return refusal.message


def test_a_refusal_says_the_figures_and_the_way_out():
    caps = Caps(tokens=1000)
    assert [
        said(standing(caps, settled=Amount(1000)), Amount(1)),
        said(standing(caps, settled=Amount(900), reserved=Amount(60)), Amount(90)),
        said(standing(caps, settled=Amount(900), reserved=Amount(60)), Amount(500)),
        said(standing(Caps(nanodollars=12_500_000), settled=Amount(0, 10_000_000)), Amount(7, 2_500_001)),
        said(standing(Caps(tokens=0)), Amount(1)),
        said(standing(Caps(seconds=60), elapsed_s=61.5), Amount(1)),
        said(standing(caps, closed=True), Amount(1)),
    ] == [
        "The budget 'run' has 0 of 1000 tokens left (1000 settled, 0 in flight); this call may use 1. "
        "Stop asking, or have whoever opened it open another.",
        "The budget 'run' has 40 of 1000 tokens left (900 settled, 60 in flight); this call may use 90. "
        "Ask for less, or again once calls in flight have settled.",
        "The budget 'run' has 40 of 1000 tokens left (900 settled, 60 in flight); this call may use 500. "
        "Ask for less: a shorter prompt or a lower limit on the output.",
        "The budget 'run' has $0.0025 of $0.0125 left ($0.01 settled, $0 in flight); this call may use $0.002500001. "
        "Ask for less: a shorter prompt or a lower limit on the output.",
        "The budget 'run' has a cap of 0 tokens: it lets no call through. Work without a model.",
        "The budget 'run' has used up its time: 61.5 s of 60 s. Finish with what you have.",
        "The budget 'run' is closed. Stop asking, or have whoever opened it open another.",
    ]


def test_soft_limits_are_told_by_every_budget_that_is_past_one():
    caps = Caps(tokens=100, soft_tokens=50, soft_nanodollars=9, soft_seconds=10)
    quiet = standing(caps, settled=Amount(40, 4), elapsed_s=9.9)
    loud = standing(caps, settled=Amount(41, 5), reserved=Amount(0, 4), elapsed_s=10.0, name="agent")
    assert admit([quiet], Amount(10, 5)) == Admission(None, ())
    assert [
        (notice.name, notice.limit, notice.used, notice.cap) for notice in admit([loud, quiet], Amount(10, 1)).notices
    ] == [
        ("agent", "tokens", 51, 50),
        ("agent", "usd", 10, 9),
        ("agent", "seconds", 10.0, 10),
    ]
    assert [notice.limit for notice in admit([quiet], Amount(1, None)).notices] == ["price"]


def test_a_refused_call_gets_no_notices():
    assert admit([standing(Caps(tokens=5, soft_tokens=1))], Amount(6)).notices == ()


@given(AMOUNTS, st.none() | AMOUNTS, st.booleans())
def test_only_an_answer_or_a_call_that_never_left_costs_other_than_its_reservation(
    reserved: Amount, used: Amount | None, free: bool
):
    costs = {outcome: bill(reserved, outcome, used, unsent_is_free=free) for outcome in OUTCOMES}
    assert costs == {
        "answered": reserved if used is None else used,
        "unsent": NOTHING if free else reserved,
        "unreadable": reserved,
        "failed": reserved,
        "abandoned": reserved,
    }


def test_a_price_that_is_not_known_is_that_of_the_reservation():
    assert bill(Amount(9, 8), "answered", Amount(4, None), unsent_is_free=True) == Amount(4, 8)
    assert bill(Amount(9, None), "answered", Amount(4, None), unsent_is_free=True) == Amount(4, None)
    assert bill(Amount(9, None), "answered", Amount(4, 3), unsent_is_free=True) == Amount(4, 3)


@given(st.lists(standings(), min_size=1, max_size=4), AMOUNTS, AMOUNTS)
def test_what_is_billed_fits_and_the_rest_is_excess(chain: list[Standing], reserved: Amount, cost: Amount):
    if admit(chain, reserved).refusal is not None:
        return
    held = [standing(one.caps, settled=one.settled, reserved=one.reserved + reserved) for one in chain]
    billed, excess = fit(held, reserved, cost)
    assert billed + excess == cost
    assert billed.tokens >= min(cost.tokens, reserved.tokens)  # there is always room for what was reserved
    assert (billed.nanodollars or 0) >= min(cost.nanodollars or 0, reserved.nanodollars or 0)
    after = [one.settled + one.reserved + billed for one in chain]
    for one, total in zip(chain, after, strict=True):
        assert one.caps.tokens is None or total.tokens <= one.caps.tokens
        assert one.caps.nanodollars is None or (total.nanodollars or 0) <= one.caps.nanodollars
    assert excess.tokens == 0 or any(one.caps.tokens == total.tokens for one, total in zip(chain, after, strict=True))


@given(AMOUNTS, AMOUNTS)
def test_amounts_add_and_subtract_and_the_unknown_stays_unknown(one: Amount, other: Amount):
    assert (one + other) - other == one
    unknown = Amount(one.tokens, None)
    assert unknown + other == other + unknown == Amount(one.tokens + other.tokens, None)
    assert (other - unknown).nanodollars is None
    assert (unknown - other).nanodollars is None


def test_figures_in_words_are_exact():
    assert dollars(123_456_789_012_345_678) == Decimal("123456789.012345678")
    assert [in_words("usd", figure) for figure in (0, 1, 10**9, 100 * 10**9, 1_500_000_000)] == [
        "$0",
        "$0.000000001",
        "$1",
        "$100",
        "$1.5",
    ]


def test_a_notice_tells_what_is_settled_from_what_may_still_be_used():
    caps = Caps(soft_tokens=9, soft_nanodollars=NANO)
    one = standing(caps, settled=Amount(5, 2 * NANO), reserved=Amount(1, NANO // 4))
    first, second = admit([one], Amount(4, NANO // 2)).notices
    text = "The budget 'run' may pass its soft limit of 9 tokens: 5 settled, 1 in flight, and this call may use 4."
    assert first == SoftNotice("id-run", "run", "tokens", 10, 9, text)
    assert second.message == (
        "The budget 'run' is past its soft limit of $1: $2 settled, $0.25 in flight, and this call may use $0.5."
    )
    [late] = admit([standing(Caps(soft_seconds=9), elapsed_s=10)], Amount(4)).notices
    assert late.message == "The budget 'run' is past its soft limit of 9 s: 10 s have passed."
