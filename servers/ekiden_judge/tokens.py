"""The scan for words that no answer may contain."""

import re
from typing import NamedTuple

BANNED_WORDS = (
    "sorry",
    "admit",
    "sorryAx",
    "mkSorry",
    "dbg_trace",
    "dbgTrace",
    "run_tac",
    "initialize",
    "builtin_initialize",
    "elab",
    "elab_rules",
    "macro",
    "macro_rules",
    "syntax",
    "unsafe",
    "implemented_by",
    "extern",
    "unsafeCast",
    "unsafeIO",
    "unsafePerformIO",
)
BANNED_COMMANDS = ("#eval", "#exit", "#reduce", "#synth", "#check_eval")

_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED_WORDS)})\b|{'|'.join(BANNED_COMMANDS)}")


class BannedToken(NamedTuple):
    """A banned token with its 1-based line and column."""

    token: str
    line: int
    column: int


def find_banned_token(code: str) -> BannedToken | None:
    """Return the first banned token of the raw text, comments and strings included, or None.

    Words count on word boundaries, so that `elaborate` passes and `admit'` does not; commands count everywhere.
    """
    found = _BANNED.search(code)
    if found is None:
        return None
    start = found.start()
    return BannedToken(found.group(), code.count("\n", 0, start) + 1, start - code.rfind("\n", 0, start))
