"""Whether a call for a language model fits its budgets, and what it is billed.

Budgets form a tree (run, role, agent), and a call spends from its own budget and from every one above. Dollars are
whole nano-dollars: sums stay exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

NANO = 1_000_000_000
"""Nano-dollars in a dollar."""

Limit = Literal["tokens", "usd", "seconds", "closed", "price"]
Outcome = Literal["answered", "unreadable", "failed", "unsent", "abandoned"]
"""How a call ended.

`answered`: its usage was read. `unreadable`: an answer came, its usage cannot be read. `failed`: the upstream failed
after something was sent. `unsent`: surely nothing reached the upstream. `abandoned`: it was open when its owner died.
"""


@dataclass(frozen=True, slots=True)
class Amount:
    """What a call uses, or the sum over many.

    Attributes:
        tokens: Tokens read and written.
        nanodollars: The price; None when it is not known. A sum with something unknown is unknown.
    """

    tokens: int = 0
    nanodollars: int | None = 0

    def __add__(self, other: "Amount") -> "Amount":
        price = None
        if self.nanodollars is not None and other.nanodollars is not None:
            price = self.nanodollars + other.nanodollars
        return Amount(self.tokens + other.tokens, price)

    def __sub__(self, other: "Amount") -> "Amount":
        price = None
        if self.nanodollars is not None and other.nanodollars is not None:
            price = self.nanodollars - other.nanodollars
        return Amount(self.tokens - other.tokens, price)


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits of a budget; None is no limit, and 0 refuses every call.

    Attributes:
        tokens: Tokens, settled and reserved together.
        nanodollars: Nano-dollars, settled and reserved together.
        seconds: Time since the budget was opened; no call is let through once it is over.
        soft_tokens: Above this many tokens the caller is told; nothing is refused.
        soft_nanodollars: The same for nano-dollars.
        soft_seconds: The same for time.
    """

    tokens: int | None = None
    nanodollars: int | None = None
    seconds: float | None = None
    soft_tokens: int | None = None
    soft_nanodollars: int | None = None
    soft_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a budget stands: its limits and what of them is used."""

    budget_id: str
    name: str
    caps: Caps
    settled: Amount
    reserved: Amount
    elapsed_s: float
    closed: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not let through.

    Attributes:
        budget_id: The budget that refuses: the call's own or one above.
        name: Its name.
        limit: Which limit is hit; `price` when dollars are capped and the call's price is not known.
        asked: What the call asked for, in tokens, nano-dollars or seconds as the limit has it; None for no figure.
        settled: What is spent (for `seconds`, the time that has passed).
        reserved: What calls in flight may still spend.
        cap: The limit.
        message: All that in words, and the way out.
    """

    budget_id: str
    name: str
    limit: Limit
    asked: float | None
    settled: float | None
    reserved: float | None
    cap: float | None
    message: str


@dataclass(frozen=True, slots=True)
class SoftNotice:
    """A soft limit that a call may pass: told, not refused.

    Attributes:
        budget_id: The budget whose limit it is.
        name: Its name.
        limit: Which limit; `price` when a soft limit on dollars cannot be watched, since the call has no price.
        used: What is settled, what calls in flight may still use and what this one may, in tokens or nano-dollars; of
            time, what has passed.
        cap: The soft limit.
        message: All that in words.
    """

    budget_id: str
    name: str
    limit: Limit
    used: float | None
    cap: float
    message: str


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a call is let through (`refusal` is None), and what its caller is told."""

    refusal: Refusal | None
    notices: tuple[SoftNotice, ...] = ()


def admit(chain: Sequence[Standing], asked: Amount) -> Admission:
    """Decide whether a call fits.

    It does when every budget of its chain is open, in time, and has room for all that the call may use; to fill a
    budget exactly is to fit. The first budget that refuses is named.

    Args:
        chain: The call's own budget first, the root last.
        asked: The most that the call can use.
    """
    for standing in chain:
        refusal = _refusal(standing, asked)
        if refusal is not None:
            return Admission(refusal)
    return Admission(None, tuple(notice for standing in chain for notice in _notices(standing, asked)))


def bill(reserved: Amount, outcome: Outcome, used: Amount | None, *, unsent_is_free: bool) -> Amount:
    """Return what a call costs.

    An answer costs what it used, be that less or more than the reservation. A call that never left is free if
    `unsent_is_free` says so. Everything else, and a price that is not known, costs what was reserved: nobody knows how
    little it was.
    """
    if outcome == "unsent" and unsent_is_free:
        return NOTHING
    if outcome != "answered" or used is None:
        return reserved
    return Amount(used.tokens, reserved.nanodollars if used.nanodollars is None else used.nanodollars)


def fit(chain: Sequence[Standing], reserved: Amount, cost: Amount) -> tuple[Amount, Amount]:
    """Split what a call costs into what its budgets have room for and the excess above that.

    Args:
        chain: The budgets of the call, with its reservation still counted in each.
        reserved: That reservation, which is given back.
        cost: What the call costs.
    """
    tokens = cost.tokens
    price = cost.nanodollars
    for standing in chain:
        if standing.caps.tokens is not None:
            room = standing.caps.tokens - standing.settled.tokens - standing.reserved.tokens + reserved.tokens
            tokens = max(0, min(tokens, room))
        if standing.caps.nanodollars is not None and price is not None:
            held = (standing.settled.nanodollars or 0) + (standing.reserved.nanodollars or 0)
            price = max(0, min(price, standing.caps.nanodollars - held + (reserved.nanodollars or 0)))
    return Amount(tokens, price), Amount(cost.tokens - tokens, (cost.nanodollars or 0) - (price or 0))


def dollars(nanodollars: int) -> Decimal:
    """Return nano-dollars as dollars, exactly."""
    return Decimal(nanodollars) / NANO


def in_words(limit: Limit, figure: float) -> str:
    """Return a figure with its unit: `1200 tokens`, `$0.25`, `30 s`."""
    unit = {"seconds": " s", "tokens": " tokens"}.get(limit, "")
    return _bare(limit, figure) + unit


def _bare(limit: Limit, figure: float) -> str:
    if limit == "usd":
        text = f"{dollars(int(figure)):.9f}".rstrip("0").rstrip(".")
        return f"${text}"
    return f"{figure:.6g}" if limit == "seconds" else str(int(figure))


class _Room(NamedTuple):
    asked: int
    settled: int
    reserved: int
    cap: int


def _refusal(standing: Standing, asked: Amount) -> Refusal | None:
    if standing.closed:
        text = "is closed. Stop asking, or have whoever opened it open another."
        return _refuse(standing, "closed", (None, None, None, None), text)
    caps, settled, reserved = standing.caps, standing.settled, standing.reserved
    if caps.seconds is not None and not standing.elapsed_s < caps.seconds:
        passed, cap = in_words("seconds", standing.elapsed_s), in_words("seconds", caps.seconds)
        text = f"has used up its time: {passed} of {cap}. Finish with what you have."
        return _refuse(standing, "seconds", (None, standing.elapsed_s, None, caps.seconds), text)
    if caps.tokens is not None:
        refusal = _overfull(standing, "tokens", _Room(asked.tokens, settled.tokens, reserved.tokens, caps.tokens))
        if refusal is not None:
            return refusal
    return None if caps.nanodollars is None else _too_dear(standing, asked.nanodollars, caps.nanodollars)


def _too_dear(standing: Standing, asked: int | None, cap: int) -> Refusal | None:
    settled, reserved = standing.settled.nanodollars, standing.reserved.nanodollars
    if asked is None or settled is None or reserved is None:
        text = (
            f"is capped at {in_words('usd', cap)}, and the price of this call is not known. "
            "Ask for a model with a price, or have one set under [budget.prices]."
        )
        return _refuse(standing, "price", (asked, settled, reserved, cap), text)
    return _overfull(standing, "usd", _Room(asked, settled, reserved, cap))


def _overfull(standing: Standing, limit: Limit, room: _Room) -> Refusal | None:
    left = room.cap - room.settled - room.reserved
    if room.cap > 0 and room.asked <= left:
        return None
    asked, settled, reserved = (_bare(limit, figure) for figure in room[:3])
    cap = in_words(limit, room.cap)
    if room.cap <= 0:
        text = f"has a cap of {cap}: it lets no call through. Work without a model."
        return _refuse(standing, limit, room, text)
    text = (
        f"has {_bare(limit, left)} of {cap} left ({settled} settled, {reserved} in flight); this call may use {asked}. "
    )
    if left == 0 and room.reserved == 0:
        text += "Stop asking, or have whoever opened it open another."
    elif room.settled + room.asked <= room.cap:
        text += "Ask for less, or again once calls in flight have settled."
    else:
        text += "Ask for less: a shorter prompt or a lower limit on the output."
    return _refuse(standing, limit, room, text)


def _refuse(
    standing: Standing,
    limit: Limit,
    figures: tuple[float | None, float | None, float | None, float | None],
    text: str,
) -> Refusal:
    message = f"The budget {standing.name!r} {text}"
    return Refusal(standing.budget_id, standing.name, limit, *figures, message)


def _notices(standing: Standing, asked: Amount) -> list[SoftNotice]:
    caps, settled, reserved = standing.caps, standing.settled, standing.reserved
    notices = [
        _notice(standing, "tokens", (settled.tokens, reserved.tokens, asked.tokens), caps.soft_tokens),
        _notice(
            standing,
            "usd",
            (settled.nanodollars, reserved.nanodollars, asked.nanodollars),
            caps.soft_nanodollars,
        ),
    ]
    if caps.soft_seconds is not None and standing.elapsed_s >= caps.soft_seconds:
        passed, cap = in_words("seconds", standing.elapsed_s), in_words("seconds", caps.soft_seconds)
        text = f"The budget {standing.name!r} is past its soft limit of {cap}: {passed} have passed."
        notices.append(
            SoftNotice(standing.budget_id, standing.name, "seconds", standing.elapsed_s, caps.soft_seconds, text)
        )
    return [notice for notice in notices if notice is not None]


def _notice(
    standing: Standing, limit: Limit, figures: tuple[int | None, int | None, int | None], cap: int | None
) -> SoftNotice | None:
    if cap is None:
        return None
    opening = f"The budget {standing.name!r}"
    settled, reserved, asked = figures
    if settled is None or reserved is None or asked is None:
        text = f"{opening} has a soft limit of {in_words(limit, cap)}, and the price of this call is not known."
        return SoftNotice(standing.budget_id, standing.name, "price", None, cap, text)
    used = settled + reserved + asked
    if used <= cap:
        return None
    text = (
        f"{opening} {'is past' if settled > cap else 'may pass'} its soft limit of {in_words(limit, cap)}: "
        f"{_bare(limit, settled)} settled, {_bare(limit, reserved)} in flight, and this call may use "
        f"{_bare(limit, asked)}."
    )
    return SoftNotice(standing.budget_id, standing.name, limit, used, cap, text)
