"""Names of constants: what the source calls them, and which of them it did not write itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ekiden_lean.export import Name

_LETTERS = (
    "A-Za-z_\\u03b1-\\u03ba\\u03bc-\\u03c9\\u0391-\\u039f\\u03a1\\u03a2\\u03a4-\\u03a9\\u03ca-\\u03fb\\u1f00-\\u1ffe"
    "\\u2100-\\u214f\\U0001d49c-\\U0001d59f\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u017f"
)
_PLAIN = re.compile(f"[{_LETTERS}][{_LETTERS}0-9'!?\\u2080-\\u2089\\u2090-\\u209c\\u1d62-\\u1d6a\\u2c7c]*")
_PART = re.compile("«([^«»]*)»|[^.«»]+")
_SHARED = re.compile(r"_.*|(?:match|proof|hcongr)_\d+|splitter|congr_simp")
_RESERVED = re.compile(
    r"eq_\d+|eq_def|eq_unfold|(?:mutual_)?induct(?:_unfolding)?|fixpoint_induct|partial_correctness"
    r"|fun_cases(?:_unfolding)?"
)


def visible(name: Name) -> Name:
    """Give a name without what Lean puts before a private one."""
    if name[:1] != ("_private",):
        return name
    number = next((place for place, part in enumerate(name) if isinstance(part, int)), len(name))
    return name[number + 1 :] or name


def shown(name: Name) -> str:
    """Write a name as source text would: guillemets where they are needed."""
    return ".".join(part if isinstance(part, str) and _PLAIN.fullmatch(part) else _quoted(part) for part in name)


def canonical(text: str) -> str:
    """Write a name from source text as `shown` does: `«if»` and `if` are one name."""
    parts = [found[1] if found[0].startswith("«") else found[0] for found in _PART.finditer(text)]
    return shown(tuple(parts))


def told_by_driver(name: Name) -> str:
    """Write a name as the driver does in its reports."""
    return ".".join(str(part) if isinstance(part, int) or _driver_leaves(part) else f"«{part}»" for part in name)


def prefixes(name: Name) -> Iterator[Name]:
    """Give the proper prefixes of a name, the longest first."""
    for length in range(len(name) - 1, 0, -1):
        yield name[:length]


def is_internal(name: Name) -> bool:
    """Tell a name that Lean made up: a part begins with an underscore."""
    return any(isinstance(part, int) or part.startswith("_") for part in name)


def is_shared(suffix: Name) -> bool:
    """Tell the end of a piece's name that stands for its content wherever it is used: a matcher, a nested proof."""
    return any(isinstance(part, int) or _SHARED.fullmatch(part) for part in suffix)


def is_reserved(suffix: Name) -> bool:
    """Tell the end of a name that Lean keeps for what it derives from a function when that is first asked for."""
    return any(isinstance(part, str) and _RESERVED.fullmatch(part) for part in suffix)


def _quoted(part: str | int) -> str:
    return str(part) if isinstance(part, int) else f"«{part}»"


def _driver_leaves(part: str) -> bool:
    return bool(part) and part[0] not in "0123456789" and not re.search(r"[.«»]|[\0- ]", part)
