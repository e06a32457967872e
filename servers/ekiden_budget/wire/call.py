"""One call of a model as the budget sees it: what is sent, and how many tokens it can cost at most."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import ClassVar, Literal, Self

from ekiden_budget.errors import BudgetError
from ekiden_config import BudgetSettings

Dialect = Literal["chat", "responses", "messages", "embeddings"]
"""OpenAI Chat Completions, OpenAI Responses, Anthropic Messages, OpenAI embeddings."""


class BadRequestError(BudgetError):
    """A request that is not sent on, since it is malformed or could cost what nobody can bound.

    Attributes:
        param: Where in the request the fault is, such as `messages[3].content[0]`; empty for the request as a whole.
    """

    status: ClassVar[int] = 400

    def __init__(self, message: str, param: str = "") -> None:
        self.param = param
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class CallRules:
    """What callers may ask for.

    Attributes:
        default_output_tokens: Limit of a call that names none.
        default_response_tokens: The same in the dialect `responses`, whose clients leave room for reasoning unnamed.
        max_output_tokens: Limit of a call that names a higher one.
        allowed_models: Globs of model names; empty allows all.
        pinned: Fields of a request that are set, whatever the caller says, in the dialects that know them.
        allow_images: Whether images may be sent.
        tokens_per_image: What one image is reserved at.
        allowed_fields: What is passed on though nobody can bound what it costs: a field as `plugins`, or one kind of
            it as `tools:web_search`; globs, which see the field and its kind with a colon between them.
    """

    default_output_tokens: int = 4096
    default_response_tokens: int = 32_768
    max_output_tokens: int = 65_536
    allowed_models: tuple[str, ...] = ()
    pinned: Mapping[str, object] = field(default_factory=dict[str, object])
    allow_images: bool = False
    tokens_per_image: int = 8192
    allowed_fields: tuple[str, ...] = ()

    @classmethod
    def from_settings(cls, settings: BudgetSettings) -> Self:
        """Take the rules out of the section `[budget]`."""
        return cls(
            default_output_tokens=settings.default_output_tokens,
            default_response_tokens=settings.default_response_tokens,
            max_output_tokens=settings.max_output_tokens,
            allowed_models=settings.allowed_models,
            pinned=settings.pinned,
            allow_images=settings.allow_images,
            tokens_per_image=settings.tokens_per_image,
            allowed_fields=settings.allowed_fields,
        )

    def allow_model(self, model: str) -> bool:
        """Tell whether callers may use a model."""
        return not self.allowed_models or any(fnmatchcase(model, glob) for glob in self.allowed_models)

    def allow_field(self, name: str, kind: str = "") -> bool:
        """Tell whether a costly field, or one kind of it, was allowed by name."""
        names = (name, f"{name}:{kind}") if kind else (name,)
        return any(fnmatchcase(name, glob) for glob in self.allowed_fields for name in names)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request that may be sent once its tokens are reserved.

    Attributes:
        dialect: The wire format.
        model: The model that is asked, after pins.
        body: What is sent: clamped, pinned, without what only looks after the caller.
        input_bound: More tokens than the request can have.
        output_bound: More tokens than the answer can have, all choices together.
        stream: Whether the answer is a stream of events.
        adds_usage_event: Whether the stream was asked for a usage event that the caller did not ask for and must not
            see.
        fallback_models: Models that may answer in place of the one that is asked.
    """

    dialect: Dialect
    model: str
    body: dict[str, object]
    input_bound: int
    output_bound: int
    stream: bool = False
    adds_usage_event: bool = False
    fallback_models: tuple[str, ...] = ()

    @property
    def reserved_tokens(self) -> int:
        """What the call is reserved at: it cannot cost more."""
        return self.input_bound + self.output_bound

    def encode(self) -> bytes:
        """Return the bytes to send."""
        return encode(self.body)


def encode(value: object) -> bytes:
    """Write a JSON value as compactly as it goes.

    Raises:
        ValueError: A number or a string in it has no place in JSON.
        RecursionError: It is nested too deeply.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
