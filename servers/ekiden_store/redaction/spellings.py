"""How secrets are spelt otherwise: with escapes, in colours, as base64 and the like."""

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

_COLOUR = r"\[[0-9;]{0,20}m"
_ESCAPE = re.compile(
    r"\\(?<!\\\\)\\*(?:u00(?P<unicode>[2-7][0-9a-fA-F])|x(?P<byte>[2-7][0-9a-fA-F])|(?P<blank>[nrt])|(?P<itself>[\"'/])"
    rf"|(?:u001[bB]|x1[bB]|033|e){_COLOUR})"
    r"|%(?:25){0,4}(?P<percent>[2-7][0-9a-fA-F]|0[aAdD])"
    rf"|\x1b{_COLOUR}"
)
_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}")
_LOOK = 24  # characters of base64 that tell whether the rest is worth a look
_FEWEST = 10  # characters of a base64 that tell a value from other text


class RawPlaces:
    """Where the characters of a text without its escapes stand in the raw text."""

    def __init__(self, raw: str) -> None:
        self._starts: list[int] = [0]  # of the pieces without escapes, as they read
        self._shifts: list[int] = [0]  # and how far before that they stand in the raw text
        self._spans: dict[int, tuple[int, int]] = {}
        at = length = 0
        for found in _ESCAPE.finditer(raw):
            length += found.start() - at
            if read := _read(found):
                self._spans[length] = found.span()
            length, at = length + len(read), found.end()
            self._starts.append(length)
            self._shifts.append(at - length)

    def of(self, start: int, end: int) -> tuple[int, int]:
        """Return where a span stands in the raw text."""
        return self._span(start)[0], self._span(end - 1)[1]

    def _span(self, at: int) -> tuple[int, int]:
        if at in self._spans:
            return self._spans[at]
        raw = at + self._shifts[bisect_right(self._starts, at) - 1]
        return raw, raw + 1


def unescaped(raw: str) -> str:
    """Return a text as it reads without its escapes."""
    return _ESCAPE.sub(_read, raw)


def has_escapes(text: str) -> bool:
    """Tell whether a text may read otherwise than it is written."""
    return ("\\" in text or "%" in text or "\x1b" in text) and _ESCAPE.search(text) is not None


def may_hold_base64(text: str) -> bool:
    """Tell whether there may be base64 in a text that stands for another text."""
    return any(_readable(found.group()[:_LOOK]) for found in _RUN.finditer(text))


def decoded_runs(text: str) -> Iterable[tuple[tuple[int, int], str]]:
    """Yield where a text holds base64 that stands for another text, and that text."""
    for found in _RUN.finditer(text):
        run = found.group()
        if _readable(run[:_LOOK]) and (plain := _readable(run)):
            yield found.span(), plain


def spellings_of(values: Iterable[str]) -> tuple[str, ...]:
    """Return values as they are, and as JSON, addresses, base64 and hexadecimal numbers spell them, longest first."""
    spelt = {spelling for value in values for spelling in (*_plain(value), *_encoded(value)) if spelling}
    return tuple(sorted(spelt, key=lambda spelling: (-len(spelling), spelling)))


def _plain(value: str) -> Iterable[str]:
    return (
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe="", errors="replace"),
        quote_plus(value, errors="replace"),
    )


def _encoded(value: str) -> Iterable[str]:
    raw = value.encode("utf-8", "surrogatepass")
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):  # wherever it stands in what is encoded
        code = base64.b64encode(bytes(before) + raw).decode()
        core = code.rstrip("=")[(0, 2, 3)[before] : -1 if code.endswith("=") else None]
        if len(core) >= _FEWEST:
            yield from (core, core.replace("+", "-").replace("/", "_"))


def _readable(run: str) -> str:
    """Return the text that base64 stands for; empty if it is none."""
    code = run.rstrip("=").replace("-", "+").replace("_", "/")
    code = code[: len(code) - (len(code) % 4 == 1)]
    plain = base64.b64decode(code + "=" * (-len(code) % 4))
    return plain.decode("ascii") if plain.isascii() and plain.decode("ascii").replace("\n", " ").isprintable() else ""


def _read(found: re.Match[str]) -> str:
    if found["blank"]:
        return "\t" if found["blank"] == "t" else "\n"
    code = found["unicode"] or found["byte"] or found["percent"]
    return chr(int(code, 16)) if code else found["itself"] or ""
