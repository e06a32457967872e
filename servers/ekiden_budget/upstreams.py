"""Where calls are sent, and with which key.

A key goes only to the address it belongs to: one found in the environment to its own vendor's, or to the one that the
variable for just this vendor names; one of a configured upstream to that upstream's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import urlsplit

from ekiden_budget.errors import BudgetError
from ekiden_budget.wire.call import Dialect
from ekiden_config import BudgetSettings, UpstreamSettings

ANTHROPIC_VERSION = "2023-06-01"
Scheme = Literal["auto", "bearer", "x-api-key"]

KEY_VARIABLES = {
    "openrouter": "OPENROUTER_API_KEY",
    "openai": "OPENAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
"""Vendor to the variable that its key is found in without any setting."""

_PATHS: Mapping[Dialect, str] = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "messages": "/messages",
    "embeddings": "/embeddings",
}


class UnusableUpstreamError(BudgetError):
    """A configured upstream that cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """An address that calls can be sent to.

    Attributes:
        name: What it is called in records.
        base_url: What stands before the path of a dialect.
        key: The key; empty if none is sent. Never shown.
        dialects: The wire formats that are spoken there.
        models: Globs of the models found there.
        scheme: How the key is sent: auto is x-api-key for messages and a bearer token for others.
        openrouter: Whether it takes what OpenRouter adds to the formats; None if its address tells.
    """

    name: str
    base_url: str
    key: str = field(repr=False)
    dialects: frozenset[Dialect]
    models: tuple[str, ...] = ("*",)
    scheme: Scheme = "auto"
    openrouter: bool | None = None

    @property
    def is_openrouter(self) -> bool:
        """Whether it takes what OpenRouter adds to the formats."""
        if self.openrouter is not None:
            return self.openrouter
        host = urlsplit(self.base_url).hostname or ""
        return host == "openrouter.ai" or host.endswith(".openrouter.ai")

    def url(self, dialect: Dialect) -> str:
        """Return the address of a dialect's calls."""
        return self.base_url + _PATHS[dialect]

    @property
    def models_url(self) -> str:
        """The address of the list of models."""
        return f"{self.base_url}/models"

    def headers(self, dialect: Dialect) -> dict[str, str]:
        """Return the headers that the upstream demands for a dialect."""
        sent: dict[str, str] = {"anthropic-version": ANTHROPIC_VERSION} if dialect == "messages" else {}
        if not self.key:
            return sent
        if self.scheme == "x-api-key" or (self.scheme == "auto" and dialect == "messages"):
            return sent | {"x-api-key": self.key}
        return sent | {"authorization": f"Bearer {self.key}"}

    def serves(self, dialect: Dialect, model: str) -> bool:
        """Tell whether a call can be sent there."""
        return dialect in self.dialects and any(fnmatchcase(model, glob) for glob in self.models)


def find_upstreams(settings: BudgetSettings, environ: Mapping[str, str]) -> tuple[Upstream, ...]:
    """Return the upstreams in the order in which they are asked.

    First the configured ones, then those that keys in the environment stand for: a vendor of the caller's own choice
    (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`), DeepSeek and Anthropic for models of theirs, OpenRouter for names with
    a slash, and OpenAI for the rest, or without it OpenRouter.

    Raises:
        UnusableUpstreamError: A configured upstream lacks its key, or an address is none.
    """
    configured = [_configured(name, upstream, environ) for name, upstream in settings.upstreams.items()]
    return (*configured, *_known(environ))


def choose_upstream(upstreams: Sequence[Upstream], dialect: Dialect, model: str) -> Upstream | None:
    """Return the first upstream that serves a model in a dialect."""
    return next((upstream for upstream in upstreams if upstream.serves(dialect, model)), None)


def key_variable(upstream: Upstream, settings: BudgetSettings) -> str:
    """Return the variable that an upstream's key came from; empty if it gets none."""
    configured = settings.upstreams.get(upstream.name)
    if configured is not None and configured.base_url == upstream.base_url:
        return configured.key_env
    return KEY_VARIABLES[upstream.name]


def _configured(name: str, settings: UpstreamSettings, environ: Mapping[str, str]) -> Upstream:
    key = _key(environ, settings.key_env) if settings.key_env else ""
    if settings.key_env and not key:
        raise UnusableUpstreamError(
            f"The upstream {name!r} takes its key from the variable {settings.key_env!r}, which is not set: set it, or "
            f"take [budget.upstreams.{name}] out of the settings."
        )
    dialects = frozenset(settings.dialects)
    return Upstream(name, settings.base_url, key, dialects, settings.models, settings.auth, settings.openrouter)


def _known(environ: Mapping[str, str]) -> list[Upstream]:
    keys = {vendor: _key(environ, variable) for vendor, variable in KEY_VARIABLES.items()}
    openai, anthropic, openrouter, deepseek = keys["openai"], keys["anthropic"], keys["openrouter"], keys["deepseek"]
    found: list[Upstream] = []
    own: frozenset[Dialect] = frozenset({"chat", "responses", "embeddings"})
    messages: frozenset[Dialect] = frozenset({"messages"})
    openai_url = _url(environ, "OPENAI_BASE_URL")
    anthropic_url = _url(environ, "ANTHROPIC_BASE_URL")
    if openai and openai_url:
        found.append(Upstream("openai", openai_url, openai, own))
    if anthropic and anthropic_url:
        found.append(Upstream("anthropic", _with_version(anthropic_url), anthropic, messages))
    if deepseek:
        globs = ("deepseek-*",)
        found.append(Upstream("deepseek", "https://api.deepseek.com", deepseek, frozenset({"chat"}), globs))
        found.append(Upstream("deepseek", "https://api.deepseek.com/anthropic/v1", deepseek, messages, globs))
    if anthropic and not anthropic_url:
        found.append(Upstream("anthropic", "https://api.anthropic.com/v1", anthropic, messages, ("claude-*",)))
    if openrouter:
        found.append(_openrouter(openrouter, "*/*"))
    if openai and not openai_url:
        found.append(Upstream("openai", "https://api.openai.com/v1", openai, own))
    if openrouter:
        found.append(_openrouter(openrouter, "*"))
    return found


def _openrouter(key: str, glob: str) -> Upstream:
    dialects: frozenset[Dialect] = frozenset({"chat", "responses", "messages", "embeddings"})
    return Upstream("openrouter", "https://openrouter.ai/api/v1", key, dialects, (glob,), "bearer")


def _key(environ: Mapping[str, str], variable: str) -> str:
    """Return a key as it can stand in a header.

    Raises:
        UnusableUpstreamError: It cannot.
    """
    key = environ.get(variable, "").strip()
    if not key.isascii() or not all(sign.isprintable() and sign != " " for sign in key):
        raise UnusableUpstreamError(
            f"The variable {variable!r} holds no key: keys are ASCII without blanks; set it again."
        )
    return key


def _url(environ: Mapping[str, str], variable: str) -> str:
    """Return an address from the environment; empty if there is none.

    Raises:
        UnusableUpstreamError: It is no address.
    """
    value = environ.get(variable, "").strip()
    if not value:
        return ""
    try:
        return UpstreamSettings(base_url=value).base_url
    except ValueError as error:
        raise UnusableUpstreamError(
            f"The variable {variable!r} holds no address: it starts with http:// or https://, names a host, and holds "
            "no user, query or fragment."
        ) from error


def _with_version(url: str) -> str:
    """Add the path that Anthropic's clients add to their base URL by themselves."""
    return url if url.endswith("/v1") else f"{url}/v1"
