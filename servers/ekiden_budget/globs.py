"""Globs of model names, and which of two says more."""

import re
from typing import NamedTuple

_WILD = re.compile(r"\[[^\]]*\]|[*?]")


class Specificity(NamedTuple):
    """How much a glob says of a name; the greater the more."""

    is_name: bool
    letters: int
    single_wildcards: int


def specificity(glob: str) -> Specificity:
    """Return how much a glob says: a plain name most, else by the letters it fixes, then by places it leaves open."""
    wild = _WILD.findall(glob)
    letters = len(glob) - sum(map(len, wild))
    return Specificity(not wild, letters, sum(1 for sign in wild if sign != "*"))
