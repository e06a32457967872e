"""Settings of the budget proxy: what callers may ask for, where calls go, and what they cost."""

import json
from decimal import Decimal
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, field_validator

from ekiden_config.variables import KeyVariable

BudgetDialect = Literal["chat", "responses", "messages", "embeddings"]
_Price = Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class UpstreamSettings(BaseModel):
    """An address that calls can be sent to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str = Field(description="What stands before `/chat/completions`, such as 'http://127.0.0.1:8000/v1'.")
    key_env: KeyVariable = Field(default="", description="Variable that holds the key; empty: none is sent.")
    dialects: tuple[BudgetDialect, ...] = Field(
        default=("chat",), min_length=1, description="Wire formats that are spoken there."
    )
    models: tuple[str, ...] = Field(default=("*",), min_length=1, description="Globs of the models found there.")
    auth: Literal["auto", "bearer", "x-api-key"] = Field(
        default="auto", description="How the key is sent: auto is x-api-key for messages and a bearer token for others."
    )
    openrouter: bool | None = Field(
        default=None,
        description="Whether `provider`, `reasoning` and what else OpenRouter adds is sent there; unset: if its host "
        "is openrouter.ai.",
    )

    @field_validator("base_url")
    @classmethod
    def _require_plain_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("an address starts with http:// or https:// and names a host")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("an address holds no user, query or fragment; the key belongs in the variable of key_env")
        return url.rstrip("/")


class PriceSettings(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_usd_per_million: _Price = Field(description="Tokens of the request.")
    output_usd_per_million: _Price = Field(description="Tokens of the answer, hidden reasoning included.")
    cached_input_usd_per_million: _Price | None = Field(
        default=None, description="Tokens of the request read from a cache; unset: as other tokens of the request."
    )
    cache_write_usd_per_million: _Price | None = Field(
        default=None, description="Tokens of the request written to a cache; unset: twice the price of others."
    )
    long_cache_write_usd_per_million: _Price | None = Field(
        default=None,
        description="Those kept for an hour or more; unset: twice the price of other tokens of the request, or as "
        "other writes where these cost no more than such a token.",
    )


class BudgetSettings(BaseModel):
    """What the budget proxy lets through, and where to; the values are in `defaults.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ledger: str = Field(description="File of the ledger; empty: in the user's folder for state.")
    token: SecretStr | None = Field(
        default=None,
        description="Token of the one budget to act for, and for its children; best given as EKIDEN_BUDGET_TOKEN.",
    )
    default_output_tokens: int = Field(ge=1, description="Limit of the answer to a call that names none.")
    default_response_tokens: int = Field(
        ge=1, description="The same for the Responses format, whose clients leave the room for reasoning unnamed."
    )
    max_output_tokens: int = Field(ge=1, description="Highest limit of one answer; a higher one is lowered to it.")
    allowed_models: tuple[str, ...] = Field(description="Globs of models that callers may use; empty: any.")
    allowed_fields: tuple[str, ...] = Field(
        description="Fields of requests, as 'web_search_options' or 'tools:web_search', passed on though nobody can "
        "bound what they cost."
    )
    pinned: dict[str, JsonValue] = Field(
        description="Fields of requests and the values they get, whatever callers say, in the formats that know them."
    )
    allow_images: bool = Field(description="Whether callers may send images.")
    tokens_per_image: int = Field(ge=1, description="Tokens that are reserved for an image.")
    upstream_timeout_s: float = Field(gt=0, description="Seconds an upstream may be silent before its call failed.")
    connect_timeout_s: float = Field(gt=0, description="Seconds to reach an upstream.")
    retries: int = Field(ge=0, le=10, description="Further tries of a call that surely never reached the upstream.")
    body_limit_bytes: int = Field(gt=0, description="Largest body of a request.")
    body_deadline_s: float = Field(gt=0, description="Seconds in which the body of a request must be there.")
    header_deadline_s: float = Field(gt=0, description="Seconds in which the header of a request must be there.")
    max_connections: int = Field(gt=0, le=65_536, description="Callers served at once; others get a 503.")
    unsent_is_free: bool = Field(
        description="Whether a call that surely never reached the upstream costs nothing, not its reservation."
    )
    upstreams: dict[str, UpstreamSettings] = Field(
        default_factory=dict, description="Name to address; asked before those that keys in the environment stand for."
    )
    prices: dict[str, PriceSettings] = Field(
        default_factory=dict, description="Glob of model names to prices; the most specific glob counts."
    )

    @field_validator("pinned")
    @classmethod
    def _require_json(cls, pinned: dict[str, JsonValue]) -> dict[str, JsonValue]:
        json.dumps(pinned, allow_nan=False)  # raises a ValueError that says so
        return pinned
