"""Secrets are struck out before anything leaves the store.

What a secret looks like is told by its shape: keys of the known providers, bearer tokens, private keys, passwords in
addresses and beside names such as `password`. Values of variables of the environment go too, whatever they look like.
Each becomes `[redacted:kind]`, which nothing here takes for a secret: redacting twice is redacting once.
"""

import fnmatch
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import quote

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import StoreError
from ekiden_store.steps import Step

SHORTEST_VALUE = 6
_PLACEHOLDER = re.compile(r"(\[redacted:[a-z0-9_]+\])")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NEVER = {"row_id", "run_id", "attempt_id", "prompt_sha256", "settings_sha256"}
TEXT_COLUMNS = tuple(
    column.name for column in COLUMNS if column.type == "text" and not column.choices and column.name not in _NEVER
)
"""The columns that may hold secrets, beside the messages of Lean."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What secrets of one kind look like.

    Attributes:
        kind: What they are.
        hints: A text that holds none of these holds no such secret; a quick look.
        pattern: The secret; where only a part of it is, that part is the group `secret`.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(kind: str, hints: str, pattern: str) -> _Shape:
    return _Shape(kind, tuple(hints.split()), re.compile(pattern))


_START = r"(?<![A-Za-z0-9_])"
_NAMED = r"(?i:[a-z0-9_-]*(?:api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|secret|password|passwd))"
_PRIVATE = (
    r"-----BEGIN (?P<label>[A-Z0-9 ]{0,40}?)PRIVATE KEY(?P<block>(?: BLOCK)?)-----"
    r"(?:[\s\S]{1,20000}?-----END (?P=label)PRIVATE KEY(?P=block)-----|(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{12,})*)"
)
_SHAPES = (
    _shape("private_key", "PRIVATE", _PRIVATE),
    _shape("address_password", "://", r"(?<=://)[^\s/@:\"'<>\\]{0,200}:(?P<secret>[^\s/@\"'<>\\]{1,500})@"),
    _shape("address_token", "://", r"(?<=://)(?=[^\s/@:]*[0-9])(?P<secret>[A-Za-z0-9_.~-]{16,500})@"),
    _shape(
        "bearer_token",
        "earer EARER",
        r"(?i:\bbearer)(?:\s|%20|\+){1,4}(?=[^\s0-9]{0,500}[0-9])(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
    ),
    _shape("basic_token", "asic ASIC", r"(?i:authorization\W{1,8}basic)\s{1,4}(?P<secret>[A-Za-z0-9+/]{8,}=*)"),
    _shape(
        "named_value",
        "key KEY Key ecret ECRET asswd assword ASSW oken OKEN",
        rf"(?P<quote>\\*[\"']){_NAMED}(?P=quote)\s{{0,8}}:\s{{0,8}}(?P=quote)(?P<secret>[^\"'\\\s]{{6,}})(?P=quote)",
    ),
    _shape(
        "named_value",
        "KEY SECRET PASSW TOKEN",
        r"\b[A-Z0-9_]*(?:API_?KEY|ACCESS_?KEY|AUTH_?KEY|SECRET|TOKEN|PASSWORD|PASSWD)(?:_?[A-Z0-9]{1,4})?"
        r"=(?:\\*[\"'])?(?=[^\s\"'\\]*[A-Za-z])(?P<secret>(?!\$)[^\s\"'\\;&|]{8,})",
    ),
    _shape(
        "named_value",
        "-key -Key -KEY",
        r"(?i:\bx-[a-z-]{0,20}key)[\"'\\]*\s{0,4}[:=][\s\"'\\]{0,8}(?P<secret>[^\s\"',;\\]{8,})",
    ),
    _shape("anthropic_key", "sk-ant-", _START + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape("openrouter_key", "sk-or-", _START + r"sk-or-[A-Za-z0-9_-]{16,}"),
    _shape("openai_key", "sk-", _START + r"sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,}"),
    _shape("aws_key", "AKIA ASIA ABIA ACCA", _START + r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}(?![A-Za-z0-9_])"),
    _shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", _START + r"gh[pousr]_[A-Za-z0-9]{36,255}(?![A-Za-z0-9_])"),
    _shape("github_token", "github_pat_", _START + r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape("gitlab_token", "glpat-", _START + r"glpat-[A-Za-z0-9_-]{20,}"),
    _shape("google_key", "AIza", _START + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _shape("google_token", "ya29.", _START + r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape(
        "huggingface_token", "hf_", _START + r"hf_(?=(?:[a-z0-9]*[A-Z]){8})[A-Za-z0-9]{34,40}(?![A-Za-z0-9_'])"
    ),  # the capitals tell it from a hypothesis on f
    _shape("slack_token", "xox xapp-", _START + r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _shape("stripe_key", "_live_ _test_", _START + r"[spr]k_(?:live|test)_[A-Za-z0-9]{16,}(?![A-Za-z0-9_])"),
    _shape("npm_token", "npm_", _START + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    _shape("pypi_token", "pypi-", _START + r"pypi-[A-Za-z0-9_-]{40,}"),
    _shape("groq_key", "gsk_", _START + r"gsk_[A-Za-z0-9]{40,}(?![A-Za-z0-9_])"),
    _shape("provider_key", "xai- pplx- csk- nvapi-", _START + r"(?:xai|pplx|csk|nvapi)-[A-Za-z0-9_-]{40,}"),
    _shape("replicate_token", "r8_", _START + r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9_])"),
    _shape("json_web_token", "eyJ", _START + r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
)
_HOME = _shape(
    "home_folder", "/home/ /Users/", r"(?<![A-Za-z0-9_.~/])/(?:home|Users)/(?P<secret>[^\s/\"'`<>:;,|()\[\]{}\\]+)"
)


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
        self._spelt = _spellings(value for value in values.values() if len(value) >= SHORTEST_VALUE)
        self._values = re.compile("|".join(map(re.escape, self._spelt)))
        own = [_own_shape(kind, pattern) for kind, pattern in (patterns or {}).items()]
        shapes = (*_SHAPES, *own, *((_HOME,) if home_folders else ()))
        self._hints = tuple((hint, shape) for shape in shapes for hint in shape.hints or ("",))

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
        hints = (*self._spelt, *(hint for hint, _ in self._hints))
        return list(map(self.redact, texts)) if any(map(together.__contains__, hints)) else texts

    def redact_step(self, step: Step) -> Step:
        """Return a step without the secrets in its texts; its ids and hashes stay."""
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
        last: _Shape | None = None
        for hint, shape in self._hints:
            if hint in text and shape is not last:
                text = self._between(text, partial(self._without, shape))
                last = shape
        return text

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

    def _without(self, shape: _Shape, piece: str) -> str:
        def strike(match: re.Match[str]) -> str:
            start, end = match.span("secret") if "secret" in shape.pattern.groupindex else match.span()
            if start >= end:
                return match.group()
            self.found[shape.kind] += 1
            return f"{piece[match.start() : start]}{_placeholder(shape.kind)}{piece[end : match.end()]}"

        return shape.pattern.sub(strike, piece)


def _placeholder(kind: str) -> str:
    return f"[redacted:{kind}]"


def _spellings(values: Iterable[str]) -> tuple[str, ...]:
    """Return values as they are, and as JSON and addresses spell them; the longest first."""
    spelt = {
        spelling
        for value in values
        for spelling in (
            value,
            json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1],
            quote(value, safe="", errors="replace"),
        )
    }
    return tuple(sorted(spelt, key=lambda spelling: (-len(spelling), spelling)))


def _own_shape(kind: str, pattern: str) -> _Shape:
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
    return _Shape(kind, (), compiled)
