"""Figures of `ekiden budget` on the command line: read, or refused in a line with the value and the way out."""

from collections.abc import Callable
from decimal import Decimal

from ekiden_orchestrator.errors import CommandError
from ekiden_policies.budget import NANO

_LEAST_USD = Decimal(1) / NANO


def whole(option: str, least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number.

    Args:
        option: What it is given to, for the message.
        least: The least that is taken.
        most: The most that is taken here; None leaves that to whoever gets it.
    """
    allowed = f"a whole number of at least {least}" if most is None else f"a whole number in {least}..{most}"

    def read(text: str) -> int:
        try:
            figure = int(text)
        except ValueError as error:
            raise _refusal(option, text, allowed) from error
        if figure < least or (most is not None and figure > most):
            raise _refusal(option, text, allowed)
        return figure

    return read


def number(option: str, least: float = 0, most: float | None = None) -> Callable[[str], float]:
    """Return what reads a number; its arguments are those of `whole`."""
    allowed = f"a number of at least {least:g}" if most is None else f"a number in {least:g}..{most:g}"

    def read(text: str) -> float:
        try:
            figure = float(text)
        except ValueError as error:
            raise _refusal(option, text, allowed) from error
        if not figure >= least or (most is not None and figure > most):
            raise _refusal(option, text, allowed)
        return figure

    return read


def money(option: str) -> Callable[[str], Decimal]:
    """Return what reads a sum of US dollars, exactly."""

    def read(text: str) -> Decimal:
        try:
            figure = Decimal(text.removeprefix("$"))
            if 0 < figure < _LEAST_USD:
                raise _refusal(option, text, f"0, or at least {_LEAST_USD:f} US dollars")
            if figure >= 0:
                return figure
        except ArithmeticError as error:
            raise _refusal(option, text, "an amount of US dollars, such as 2.50") from error
        raise _refusal(option, text, "an amount of US dollars, such as 2.50")

    return read


def _refusal(option: str, text: str, allowed: str) -> CommandError:
    return CommandError(f"{option} is {str(text)!r}; give {allowed}.")
