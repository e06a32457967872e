"""Tactics that leave out what they should prove."""

import re

_SORRY = re.compile(r"(?<![\w.'])(?:sorry|admit|sorryAx)(?![\w'])")


def gives_up(tactic: str) -> bool:
    """Tell whether a tactic leaves out what it should prove; one that only speaks of it counts as well."""
    return _SORRY.search(tactic) is not None
