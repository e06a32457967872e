"""What is checked before it enters the ledger, and what is made fit to enter it."""

import re

from ekiden_budget.errors import InvalidFigureError
from ekiden_budget.records import TokenParts
from ekiden_policies.budget import Amount, Caps

MOST_TOKENS = 10**15
"""The largest cap, and the largest amount of one call: sums of very many stay within SQLite's integers."""
MOST_NANODOLLARS = 10**18
MOST_SECONDS = 1e10
MOST_IN_A_CALL = Amount(10**12, 10**15)
_LONGEST_NAME = 200
_LONGEST_LABEL = 200
_LONGEST_DETAIL = 1000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


def checked_caps(caps: Caps) -> Caps:
    """Return caps that a budget can have.

    Raises:
        InvalidFigureError: One is negative, not whole where it has to be, not finite, or absurdly high.
    """
    for kind, figure in (("tokens", caps.tokens), ("soft_tokens", caps.soft_tokens)):
        _check_whole(kind, figure, MOST_TOKENS)
    for kind, figure in (("nanodollars", caps.nanodollars), ("soft_nanodollars", caps.soft_nanodollars)):
        _check_whole(kind, figure, MOST_NANODOLLARS)
    for kind, figure in (("seconds", caps.seconds), ("soft_seconds", caps.soft_seconds)):
        if figure is not None and not 0 <= figure <= MOST_SECONDS:
            raise InvalidFigureError(f"A cap of {figure!r} {kind} cannot be: give 0..{MOST_SECONDS:g}, or none at all.")
    return caps


def checked_amount(asked: Amount) -> Amount:
    """Return an amount that a call can ask for.

    Raises:
        InvalidFigureError: It is negative, not whole, or absurdly high.
    """
    if not is_amount(asked):
        most = f"0..{MOST_IN_A_CALL.tokens} tokens and 0..{MOST_IN_A_CALL.nanodollars} nano-dollars"
        raise InvalidFigureError(f"No call can use {asked!r}: give {most}.")
    return asked


def is_amount(amount: Amount) -> bool:
    """Tell whether a call can use this much."""
    price = 0 if amount.nanodollars is None else amount.nanodollars
    assert MOST_IN_A_CALL.nanodollars is not None
    return _is_whole(amount.tokens, MOST_IN_A_CALL.tokens) and _is_whole(price, MOST_IN_A_CALL.nanodollars)


def are_parts_of(parts: TokenParts | None, used: Amount | None) -> bool:
    """Tell whether the tokens of a call can have been these."""
    if parts is None or used is None:
        return False
    kinds = ((parts.cached_input, parts.input), (parts.reasoning, parts.output))
    return all(_is_whole(part, whole) for part, whole in kinds) and parts.input + parts.output == used.tokens


def checked_name(name: str) -> str:
    """Return a name that fits on a line.

    Raises:
        InvalidFigureError: It is empty, too long, or holds characters that cannot be shown.
    """
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidFigureError(
            f"A budget cannot be named {name[: _LONGEST_NAME + 1]!r}: give 1 to {_LONGEST_NAME} printable characters."
        )
    return name


def checked_id(budget_id: str) -> str:
    """Return an id that can stand in a command, a file name and an address.

    Raises:
        InvalidFigureError: It cannot.
    """
    if not is_id(budget_id):
        raise InvalidFigureError(
            f"A budget's id cannot be {budget_id[:101]!r}: give up to 100 ASCII letters, digits and signs of '._:-', "
            "a letter or digit first; or none, and the ledger picks one."
        )
    return budget_id


def is_id(text: str) -> bool:
    """Tell whether a budget can have this id."""
    return _ID.fullmatch(text) is not None


def label_text(text: str) -> str:
    """Return what a caller said about a call, fit to be kept: bounded, and valid Unicode."""
    return _kept(text, _LONGEST_LABEL)


def detail_text(text: str) -> str:
    """Return what is to be noted of how a call ended, fit to be kept."""
    return _kept(text, _LONGEST_DETAIL)


def _kept(text: str, longest: int) -> str:
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    # A name out of JSON may hold half a surrogate pair, which no database takes.
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "�")


def _check_whole(kind: str, figure: int | None, most: int) -> None:
    if figure is not None and not _is_whole(figure, most):
        raise InvalidFigureError(f"A cap of {figure!r} {kind} cannot be: give a whole number in 0..{most}, or none.")


def _is_whole(figure: object, most: int) -> bool:
    return type(figure) is int and 0 <= figure <= most
