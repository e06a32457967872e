"""The fields of a request: which are passed on, which are looked at first, and which are refused.

A field that is on no list of its dialect is refused: what nobody has looked at may cost what nobody has counted.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from ekiden_budget.wire.call import BadRequestError, CallRules

Tree = dict[str, object]
Check = Callable[[object, CallRules], None]
"""Looks at the value of a field that is there and not null; raises `BadRequestError` when it may not be sent."""

ORDINARY_TIERS = frozenset({"auto", "default", "standard", "standard_only", "flex"})
MAX_CHOICES = 128
_PUSHED_OUT = {
    "model": frozenset({"models", "route", "fallbacks"}),
    "reasoning": frozenset({"reasoning_effort", "thinking"}),
    "reasoning_effort": frozenset({"reasoning", "thinking"}),
    "thinking": frozenset({"reasoning", "reasoning_effort"}),
}
"""What a caller cannot say beside a pinned field, since it would say the same otherwise."""


@dataclass(frozen=True, slots=True)
class FieldTable:
    """The fields of one dialect.

    Attributes:
        passed: Sent as they are.
        limits: Names of the limit of the answer's tokens; clamped by the dialect.
        own: Read by the dialect's own code.
        dropped: What only says something about the caller, or stands in a header.
        checked: Looked at, then sent.
    """

    passed: frozenset[str]
    limits: tuple[str, ...]
    own: frozenset[str]
    dropped: frozenset[str]
    checked: Mapping[str, Check]

    def knows(self, name: str) -> bool:
        """Tell whether the dialect has a use for a field."""
        return name in self.passed or name in self.limits or name in self.own or name in self.checked

    def select(self, request: Mapping[str, object], rules: CallRules) -> Tree:
        """Return the fields that are sent, pins in place of what the caller says.

        A field that is null is as good as absent unless the dialect knows it.

        Raises:
            BadRequestError: A field is refused.
        """
        pins = {name: value for name, value in rules.pinned.items() if self.knows(name) or rules.allow_field(name)}
        others = set(pins).union(*(_PUSHED_OUT.get(name, ()) for name in pins))
        if not others.isdisjoint(self.limits):
            others.update(self.limits)
        fields = {name: value for name, value in request.items() if name not in others} | pins
        sent: Tree = {}
        for name, value in fields.items():
            if self.knows(name):
                check = self.checked.get(name)
                if check is not None and value is not None:
                    check(value, rules)
                sent[name] = value
            elif value is not None and name not in self.dropped:
                if not rules.allow_field(name):
                    raise refusal(name)
                sent[name] = value
        return sent


def names(text: str) -> frozenset[str]:
    """Return the words of a text, as names of fields or types."""
    return frozenset(text.split())


def refusal(name: str, kind: str = "", *, at: str = "") -> BadRequestError:
    """Say that something is not sent on, and which setting would let it pass."""
    place = at or name
    subject = f"The kind {shown(kind)} of {shown(place)}" if kind else f"The field {shown(place)}"
    asked = shown(f"{name}:{kind}" if kind else name)
    return BadRequestError(
        f"{subject} is not passed on, since nobody here can bound what it costs: leave it out. Whoever runs the budget "
        f"can allow it with {asked} in the setting 'budget.allowed_fields'.",
        place,
    )


def only(name: str, kinds: Iterable[object]) -> Check:
    """Return a check that lets only some values of a field pass."""
    ordinary = tuple(kinds)

    def check(value: object, rules: CallRules) -> None:
        if not any(type(value) is type(kind) and value == kind for kind in ordinary):
            kind = value if isinstance(value, str) else ""
            if not rules.allow_field(name, kind):
                raise refusal(name, kind)

    return check


def nothing_in(name: str) -> Check:
    """Return a check that lets a field pass only when it is empty, false or null."""

    def check(value: object, rules: CallRules) -> None:
        if value not in (False, "", [], {}) and not rules.allow_field(name):
            raise refusal(name)

    return check


def read_model(fields: Mapping[str, object], rules: CallRules) -> str:
    """Return the model that is asked.

    Raises:
        BadRequestError: None is named, or callers may not use it.
    """
    model = fields.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequestError(f"'model' must name a model; it is {shown(model)}.", "model")
    return require_model(model, rules, "model")


def require_model(model: str, rules: CallRules, at: str) -> str:
    """Return a model's name if callers may use it.

    Raises:
        BadRequestError: They may not.
    """
    if not rules.allow_model(model):
        listed = ", ".join(map(repr, rules.allowed_models))
        raise BadRequestError(f"The model {shown(model)} may not be used here; there is {listed}.", at)
    # OpenRouter reads what follows the colon as a request for a search on top of the call, and @preset/ as a whole
    # set of parameters
    if "@preset/" in model and not rules.allow_field("preset"):
        raise refusal("preset", at=at)
    if ":online" in model and not rules.allow_field("plugins", "web"):
        raise refusal("plugins", "web", at=at)
    return model


def read_fallbacks(fields: Mapping[str, object], rules: CallRules) -> tuple[str, ...]:
    """Return what may answer in place of the model asked: OpenRouter's `models`, then Anthropic's `fallbacks`.

    Raises:
        BadRequestError: A field is no list of models, or callers may not use one of them.
    """
    found: list[str] = []
    for name in ("models", "fallbacks"):
        value = fields.get(name)
        if value and not isinstance(value, list):
            raise BadRequestError(f"{name!r} must be a list of models; it is {shown(value)}.", name)
        for index, item in enumerate(cast("list[object]", value or [])):
            at = f"{name}[{index}]"
            model = mapping_of(item).get("model", item)
            if not isinstance(model, str) or not model:
                raise BadRequestError(f"{at!r} must name a model; it is {shown(model)}.", at)
            found.append(require_model(model, rules, at))
    return tuple(found)


def check_tool(tool: Mapping[str, object], rules: CallRules, at: str) -> None:
    """Refuse a tool that has a model of its own answer which callers may not use.

    Raises:
        BadRequestError: It has.
    """
    model = tool.get("model")
    if isinstance(model, str):
        require_model(model, rules, f"{at}.model")


def read_flag(fields: Mapping[str, object], name: str) -> bool:
    """Return a field that is true or false; absent is false.

    Raises:
        BadRequestError: It is something else.
    """
    value = fields.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise BadRequestError(f"{name!r} must be true or false; it is {shown(value)}.", name)


def read_count(fields: Mapping[str, object], name: str) -> int:
    """Return how many answers are asked for; absent is one.

    Raises:
        BadRequestError: The field is no number of answers.
    """
    value = fields.get(name)
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_CHOICES:
        raise BadRequestError(f"{name!r} must be an integer from 1 to {MAX_CHOICES}; it is {shown(value)}.", name)
    return value


def clamp(value: object, default: int, highest: int) -> int:
    """Return a limit that holds: the default for what is no number or not positive, and never above the highest."""
    default = min(default, highest)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    if isinstance(value, float):
        if math.isnan(value):
            return highest
        value = highest if value > highest else int(max(value, 0))
    return default if value <= 0 else min(value, highest)


def read_kind(item: Tree, at: str, default: str) -> str:
    """Return the type of a tool or an item.

    Raises:
        BadRequestError: It is no string.
    """
    kind = item.get("type")
    if kind is None:
        return default
    if not isinstance(kind, str):
        raise BadRequestError(f"{at}.type must be a string; it is {shown(kind)}.", f"{at}.type")
    return kind


def as_object(value: object, at: str) -> Tree:
    """Return a JSON object.

    Raises:
        BadRequestError: It is something else.
    """
    if not isinstance(value, dict):
        raise BadRequestError(f"{at} must be an object; it is {shown(value)}.", at)
    return cast("Tree", value)


def mapping_of(value: object) -> Mapping[str, object]:
    """Return a JSON object, or an empty one in place of anything else."""
    return cast("Tree", value) if isinstance(value, dict) else {}


def as_list(value: object, at: str) -> list[object]:
    """Return a JSON array; null is an empty one.

    Raises:
        BadRequestError: It is something else.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRequestError(f"{at} must be a list; it is {shown(value)}.", at)
    return cast("list[object]", value)


def shown(value: object) -> str:
    """Return a value as a message may show it."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) > 10**18:
        return "an enormous number"
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
