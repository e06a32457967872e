r"""Secrets are struck out before anything leaves the store.

What a secret looks like is told by its shape: keys of the known providers, bearer tokens, private keys, passwords in
addresses and beside names such as `password`. Values of variables of the environment go too, whatever they look like.
Both are found with escapes as well (`\u002d`, `%2D`, colours of a terminal), and in base64.
Each becomes `[redacted:kind]`, which nothing here takes for a secret: redacting twice is redacting once.
"""

import fnmatch
import os
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import StoreError
from ekiden_store.redaction.shapes import HOME, SHAPES, Shape
from ekiden_store.redaction.spellings import (
    RawPlaces,
    decoded_runs,
    has_escapes,
    may_hold_base64,
    spellings_of,
    unescaped,
)
from ekiden_store.steps import Step

SHORTEST_VALUE = 6
_PLACEHOLDER = re.compile(r"(\[redacted:[a-z0-9_]+\])")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
TEXT_COLUMNS = tuple(column.name for column in COLUMNS if column.type == "text" and not column.choices)
"""The columns that may hold secrets, beside the messages of Lean."""


class Redactor:
    """Strikes out secrets and counts what it struck out.

    Attributes:
        found: How often each kind was found so far.
        too_short: The variables whose values are too short to be told from other text; they are not struck out.
    """

    def __init__(
        self,
        *,
        variables: Mapping[str, str] | None = None,
        patterns: Mapping[str, str] | None = None,
        home_folders: bool = False,
    ) -> None:
        """Prepare.

        Args:
            variables: Values that are secrets, by the name of the variable that holds them.
            patterns: Further regular expressions by kind; a group called `secret` is the part that goes.
            home_folders: Whether the names of home folders go as well.

        Raises:
            StoreError: A pattern cannot be used.
        """
        values = {name: value.strip() for name, value in (variables or {}).items() if value.strip()}
        self.found: Counter[str] = Counter()
        self.too_short = tuple(sorted(name for name, value in values.items() if len(value) < SHORTEST_VALUE))
        self._spelt = spellings_of(value for value in values.values() if len(value) >= SHORTEST_VALUE)
        self._values = re.compile("|".join(map(re.escape, self._spelt)))
        own = [_own_shape(kind, pattern) for kind, pattern in (patterns or {}).items()]
        self._shapes = (*SHAPES, *own, *((HOME,) if home_folders else ()))
        self._hints = tuple((hint, shape) for shape in self._shapes for hint in shape.hints or ("",))
        self._any_hint = tuple(hint for hint, _ in self._hints)

    @classmethod
    def for_environment(
        cls,
        names: Iterable[str],
        *,
        environment: Mapping[str, str] | None = None,
        patterns: Mapping[str, str] | None = None,
        home_folders: bool = False,
    ) -> "Redactor":
        """Return a redactor that also strikes out the values of variables.

        Args:
            names: The variables, as names or globs such as `*_API_KEY`.
            environment: Where they are; None: this process's environment.
            patterns: As for `Redactor`.
            home_folders: As for `Redactor`.

        Raises:
            StoreError: A pattern cannot be used.
        """
        there = os.environ if environment is None else environment
        wanted = tuple(names)
        chosen = {
            name: value for name, value in there.items() if any(fnmatch.fnmatchcase(name, each) for each in wanted)
        }
        return cls(variables=chosen, patterns=patterns, home_folders=home_folders)

    def redact(self, text: str) -> str:
        """Return a text without its secrets."""
        while (clean := self._once(text)) != text:  # what a secret hid from its neighbour is seen the next time
            text = clean
        return text

    def redact_all(self, texts: list[str]) -> list[str]:
        """Return texts without their secrets; quick where none of them holds what a secret would begin with."""
        together = "\0".join(texts)
        signs = set(together)
        hints = (hint for hint in dict.fromkeys((*self._spelt, *self._any_hint)) if signs.issuperset(hint))
        is_worth_it = any(map(together.__contains__, hints)) or has_escapes(together) or may_hold_base64(together)
        return list(map(self.redact, texts)) if is_worth_it else texts

    def redact_step(self, step: Step) -> Step:
        """Return a step without the secrets in its texts."""
        changed: dict[str, object] = {}
        for name in TEXT_COLUMNS:
            before: str | None = getattr(step, name)
            if before and (after := self.redact(before)) != before:
                changed[name] = after
        messages = tuple(map(self.redact, step.lean_messages))
        if messages != tuple(step.lean_messages):
            changed["lean_messages"] = messages
        return replace(step, **changed) if changed else step  # pyright: ignore[reportArgumentType]  # names of its own

    def _once(self, text: str) -> str:
        if any(map(text.__contains__, self._spelt)):
            text = self._between(text, self._without_values)
        if has_escapes(text):
            text = self._between(text, self._without_hidden)
        last: Shape | None = None
        for hint, shape in self._hints if any(map(text.__contains__, self._any_hint)) else ():
            if hint in text and shape is not last:
                text = self._between(text, partial(self._without, shape))
                last = shape
        return self._between(text, self._without_encoded) if may_hold_base64(text) else text

    @staticmethod
    def _between(text: str, change: Callable[[str], str]) -> str:
        """Change what lies between the placeholders of a text."""
        if "[redacted:" not in text:
            return change(text)
        pieces = _PLACEHOLDER.split(text)
        return "".join(piece if place % 2 else change(piece) for place, piece in enumerate(pieces))

    def _without_values(self, piece: str) -> str:
        piece, times = self._values.subn(_placeholder("variable"), piece)
        if times:
            self.found["variable"] += times
        return piece

    def _without(self, shape: Shape, piece: str) -> str:
        return self._struck(piece, [(start, end, shape.kind) for start, end in shape.spans_in(piece)])

    def _without_hidden(self, piece: str) -> str:
        """Strike out what is a secret once escapes are read."""
        taken: list[tuple[int, int, str]] = []
        for start, end, kind in self._found_in(unescaped(piece)):
            place = bisect(taken, (start, end, kind))
            is_free = (not place or taken[place - 1][1] <= start) and (place == len(taken) or end <= taken[place][0])
            if is_free:
                taken.insert(place, (start, end, kind))
        if not taken:
            return piece
        places = RawPlaces(piece)
        return self._struck(piece, [(*places.of(start, end), kind) for start, end, kind in taken])

    def _without_encoded(self, piece: str) -> str:
        runs = [(*span, "encoded") for span, plain in decoded_runs(piece) if any(True for _ in self._found_in(plain))]
        return self._struck(piece, runs)

    def _found_in(self, text: str) -> Iterable[tuple[int, int, str]]:
        if self._spelt:
            yield from ((*found.span(), "variable") for found in self._values.finditer(text))
        for shape in self._shapes:
            yield from ((start, end, shape.kind) for start, end in shape.spans_in(text))

    def _struck(self, piece: str, spans: Iterable[tuple[int, int, str]]) -> str:
        """Strike spans out; they come in order, and apart."""
        kept: list[str] = []
        at = 0
        for start, end, kind in spans:
            kept += [piece[at:start], _placeholder(kind)]
            self.found[kind] += 1
            at = end
        return "".join((*kept, piece[at:])) if kept else piece


def _placeholder(kind: str) -> str:
    return f"[redacted:{kind}]"


def _own_shape(kind: str, pattern: str) -> Shape:
    if not _KIND.fullmatch(kind):
        raise StoreError(f"A kind of secret is named in small letters, digits and '_', not {kind!r}.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise StoreError(
            f"The pattern {pattern!r} of the secrets {kind!r} is no regular expression: {error}."
        ) from error
    if compiled.search("") or ("secret" in compiled.groupindex and compiled.fullmatch("")):
        raise StoreError(f"The pattern {pattern!r} of the secrets {kind!r} matches nothing at all; make it longer.")
    return Shape(kind, (), compiled)
