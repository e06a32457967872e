"""Reading JSON that somebody else wrote, strictly and with bounded work.

`json.loads` alone is not enough for untrusted text: it lets the last of two equal keys win, makes strings that no
encoder can write, turns `1e999` into infinity, and answers long integers and deep nesting with other exceptions.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast

from ekiden_judge.errors import JudgeError

MAX_DEPTH = 64
MAX_INTEGER_DIGITS = 600

Reason = Literal[
    "invalid_utf8",
    "byte_order_mark",
    "empty",
    "syntax",
    "not_a_number",
    "deep_nesting",
    "duplicate_key",
    "lone_surrogate",
    "giant_integer",
    "infinite_number",
]

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class StrictJsonError(JudgeError):
    """JSON text that is refused.

    Attributes:
        reason: What kind of fault it is.
        value: What the text holds apart from the fault, where it could be read at all: a repeated key has its last
            value, a number that is too large is None. None when nothing could be read.
        line: 1-based line of the fault within the text, where it is known.
    """

    def __init__(self, reason: Reason, message: str, *, value: object = None, line: int | None = None) -> None:
        self.reason: Reason = reason
        self.value = value
        self.line = line
        super().__init__(message)


class Element(NamedTuple):
    """One element of a JSON array: its 1-based line, and its value or the fault found in it."""

    line: int
    value: object
    fault: StrictJsonError | None


def read_json(data: bytes | str) -> object:
    """Read one JSON value from UTF-8 bytes or a string.

    Raises:
        StrictJsonError: The only exception; the reason tells the kind of fault. Faults of the text come before
            faults of a value, and a repeated key before the other faults of a value.
    """
    text = decode(data)
    _require_shallow(text)
    reader = _Reader(text)
    value, end = reader.value_at(reader.skip_blank(0))
    end = reader.skip_blank(end)
    if end != len(text):
        raise reader.syntax_error("expected the end of the text", end)
    fault = reader.fault_of(value)
    if fault is not None:
        raise fault
    return value


def read_array(text: str) -> Iterator[Element]:
    """Read the elements of one JSON array one by one; faults of an element are yielded with it.

    Raises:
        StrictJsonError: The text is no JSON array.
    """
    _require_shallow(text)
    reader = _Reader(text)
    position = reader.skip_blank(0)
    if text[position] != "[":
        raise reader.syntax_error("expected '['", position)
    position = reader.skip_blank(position + 1)
    line, counted = 1, 0
    closed = text[position : position + 1] == "]"
    while not closed:
        line, counted = line + text.count("\n", counted, position), position
        value, position = reader.value_at(position)
        yield Element(line, value, reader.fault_of(value))
        position = reader.skip_blank(position)
        sign = text[position : position + 1]
        if sign not in {",", "]"}:
            raise reader.syntax_error("expected ',' or ']'", position)
        closed = sign == "]"
        position = position if closed else reader.skip_blank(position + 1)
    end = reader.skip_blank(position + 1)
    if end != len(text):
        raise reader.syntax_error("expected the end of the text", end)


def decode(data: bytes | str) -> str:
    """Return the text of UTF-8 bytes that hold something and no byte order mark.

    Raises:
        StrictJsonError: They do not.
    """
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"byte {error.start} ({data[error.start]:#04x}) is not UTF-8; write the text in UTF-8"
            raise StrictJsonError("invalid_utf8", message, line=line) from error
    else:
        text = data
        if found := _SURROGATE.search(text):
            line = text.count("\n", 0, found.start()) + 1
            message = f"character {found.start()} is the lone surrogate {found.group()!r}, which no text can hold"
            raise StrictJsonError("lone_surrogate", message, line=line)
    if text.startswith("\ufeff"):
        raise StrictJsonError("byte_order_mark", "the text starts with a byte order mark; save it without one", line=1)
    if _BLANK.fullmatch(text):
        raise StrictJsonError("empty", "the text is empty", line=1)
    return text


def _require_shallow(text: str) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        sign = found.group()
        if sign in {"[", "{"}:
            depth += 1
            if depth > MAX_DEPTH:
                line = text.count("\n", 0, found.start()) + 1
                message = f"brackets are nested more than {MAX_DEPTH} deep"
                raise StrictJsonError("deep_nesting", message, line=line)
        elif sign in {"]", "}"}:
            depth -= 1


class _Fault(NamedTuple):
    reason: Reason
    message: str


class _Reader:
    """Reads values of one text; keeps the faults that do not hinder reading until the value is complete."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._faults: list[_Fault] = []
        decoder = json.JSONDecoder(
            object_pairs_hook=self._read_object,
            parse_int=self._read_integer,
            parse_float=self._read_float,
            parse_constant=self._read_constant,
        )
        self._scan = decoder.raw_decode

    def skip_blank(self, position: int) -> int:
        found = _BLANK.match(self._text, position)
        return found.end() if found else position

    def syntax_error(self, expected: str, position: int) -> StrictJsonError:
        line = self._text.count("\n", 0, position) + 1
        place = f"column {position - self._text.rfind(chr(10), 0, position)}"
        if "\n" in self._text:
            place = f"line {line}, {place}"
        return StrictJsonError("syntax", f"no valid JSON: {expected} at {place}", line=line)

    def value_at(self, position: int) -> tuple[object, int]:
        self._faults.clear()
        try:
            return cast("tuple[object, int]", self._scan(self._text, position))
        except json.JSONDecodeError as error:
            expected = error.msg.removesuffix(" at")
            raise self.syntax_error(expected[:1].lower() + expected[1:], error.pos) from error

    def fault_of(self, value: object) -> StrictJsonError | None:
        """Return the first fault of the value read last, by rank: repeated keys, then others as they were met."""
        faults = [*self._faults, *_surrogates(value)]
        constants = [fault for fault in faults if fault.reason == "not_a_number"]
        repeated = [fault for fault in faults if fault.reason == "duplicate_key"]
        for fault in (*constants, *repeated, *faults):
            kept = None if fault.reason == "not_a_number" else value
            return StrictJsonError(fault.reason, fault.message, value=kept)
        return None

    def _read_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        read = dict(pairs)
        if len(read) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self._faults.append(_Fault("duplicate_key", f"the key {_shown(key)} occurs twice in one object"))
                    break
                seen.add(key)
        return read

    def _read_integer(self, digits: str) -> int | None:
        if len(digits) <= MAX_INTEGER_DIGITS:
            return int(digits)
        message = f"the integer {digits[:12]}... has {len(digits)} digits; at most {MAX_INTEGER_DIGITS} are read"
        self._faults.append(_Fault("giant_integer", message))
        return None

    def _read_float(self, digits: str) -> float | None:
        value = float(digits)
        if math.isfinite(value):
            return value
        self._faults.append(_Fault("infinite_number", f"the number {digits[:12]} is too large"))
        return None

    def _read_constant(self, name: str) -> None:
        self._faults.append(_Fault("not_a_number", f"{name} is no JSON value"))


def _surrogates(value: object) -> Iterator[_Fault]:
    """Yield a fault for the first key or string that holds a lone surrogate."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and _SURROGATE.search(item):
            yield _Fault("lone_surrogate", f"the string {_shown(item)} holds a lone surrogate, which no text can hold")
            return
        if isinstance(item, dict):
            fields = cast("dict[str, object]", item)
            waiting += [*fields.values(), *fields]
        elif isinstance(item, list):
            waiting += cast("list[object]", item)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
