"""Where calls are sent, and that no key goes anywhere else."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_budget.upstreams import UnusableUpstreamError, Upstream, choose_upstream, find_upstreams
from ekiden_budget.wire import Dialect
from ekiden_config import BudgetSettings, UpstreamSettings, default_settings

KEYS = {
    "OPENROUTER_API_KEY": "key-openrouter",
    "OPENAI_API_KEY": "key-openai",
    "DEEPSEEK_API_KEY": "key-deepseek",
    "ANTHROPIC_API_KEY": "key-anthropic",
}


def configured(**upstreams: dict[str, Any]) -> BudgetSettings:
    read = {name: UpstreamSettings(**fields) for name, fields in upstreams.items()}
    return default_settings().budget.model_copy(update={"upstreams": read})


def chosen(environ: dict[str, str], dialect: Dialect, model: str, **upstreams: dict[str, Any]) -> str | None:
    found = choose_upstream(find_upstreams(configured(**upstreams), environ), dialect, model)
    return found.url(dialect) if found else None


def test_without_keys_there_is_nobody_to_ask() -> None:
    assert find_upstreams(configured(), {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}) == ()


@pytest.mark.parametrize(
    ("dialect", "model", "url"),
    [
        ("chat", "openai/gpt-oss-120b", "https://openrouter.ai/api/v1/chat/completions"),
        ("messages", "anthropic/claude-opus-4", "https://openrouter.ai/api/v1/messages"),
        ("chat", "gpt-5.5", "https://api.openai.com/v1/chat/completions"),
        ("responses", "gpt-5.5", "https://api.openai.com/v1/responses"),
        ("embeddings", "text-embedding-3-small", "https://api.openai.com/v1/embeddings"),
        ("chat", "deepseek-chat", "https://api.deepseek.com/chat/completions"),
        ("messages", "deepseek-chat", "https://api.deepseek.com/anthropic/v1/messages"),
        ("messages", "claude-opus-4-8", "https://api.anthropic.com/v1/messages"),
        ("chat", "claude-opus-4-8", "https://api.openai.com/v1/chat/completions"),
        ("messages", "gpt-5.5", "https://openrouter.ai/api/v1/messages"),
    ],
)
def test_each_model_goes_to_who_has_it(dialect: Dialect, model: str, url: str) -> None:
    assert chosen(KEYS, dialect, model) == url


@pytest.mark.parametrize(("name", "url"), [
    ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1/chat/completions"),
    ("OPENAI_API_KEY", "https://api.openai.com/v1/chat/completions"),
    ("DEEPSEEK_API_KEY", None),
    ("ANTHROPIC_API_KEY", None),
])  # fmt: skip
def test_who_is_alone_is_asked_for_what_it_may_have(name: str, url: str | None) -> None:
    assert chosen({name: "k"}, "chat", "some-model") == url


def test_an_address_of_the_callers_own_is_asked_for_all_models_of_its_formats() -> None:
    environ = KEYS | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8"}
    assert chosen(environ, "chat", "openai/gpt-oss-120b") == "http://127.0.0.1:9/v1/chat/completions"
    assert chosen(environ, "messages", "anything") == "http://127.0.0.1:8/v1/messages"
    assert chosen({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://h/v1"}, "messages", "x") == (
        "http://h/v1/messages"
    )


def test_a_configured_upstream_is_asked_first_for_what_it_has() -> None:
    gateway: dict[str, Any] = {"base_url": "http://127.0.0.1:8000/v1", "models": ("qwen*",), "dialects": ("chat",)}
    assert chosen(KEYS, "chat", "qwen3", gateway=gateway) == "http://127.0.0.1:8000/v1/chat/completions"
    assert chosen(KEYS, "responses", "qwen3", gateway=gateway) == "https://api.openai.com/v1/responses"
    assert chosen(KEYS, "chat", "gpt-5.5", gateway=gateway) == "https://api.openai.com/v1/chat/completions"


def test_a_key_stands_in_the_header_that_its_upstream_reads() -> None:
    found = {upstream.name: upstream for upstream in find_upstreams(configured(), KEYS)}
    assert found["openai"].headers("chat") == {"authorization": "Bearer key-openai"}
    assert found["anthropic"].headers("messages") == {"anthropic-version": "2023-06-01", "x-api-key": "key-anthropic"}
    assert found["openrouter"].headers("messages") == {
        "anthropic-version": "2023-06-01",
        "authorization": "Bearer key-openrouter",
    }
    bare, gateway = find_upstreams(
        configured(
            bare={"base_url": "http://127.0.0.1:1"},
            gateway={"base_url": "http://127.0.0.1:2", "key_env": "MY_KEY", "auth": "x-api-key"},
        ),
        {"MY_KEY": " key-mine\n"},
    )
    assert bare.headers("chat") == {}
    assert gateway.headers("chat") == {"x-api-key": "key-mine"}
    assert gateway.models_url == "http://127.0.0.1:2/models"


@given(st.dictionaries(st.sampled_from([*KEYS, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "MY_KEY"]), st.none()))
def test_no_key_goes_to_anothers_address(present: dict[str, None]) -> None:
    values = KEYS | {
        "OPENAI_BASE_URL": "http://openai.mine/v1",
        "ANTHROPIC_BASE_URL": "http://anthropic.mine",
        "MY_KEY": "key-mine",
    }
    environ = {name: values[name] for name in present}
    gateway = {"base_url": "http://gateway.mine", "key_env": "MY_KEY"}
    settings = configured(gateway=gateway) if "MY_KEY" in present else configured()
    owners = {
        "openrouter.ai": "key-openrouter",
        "api.openai.com": "key-openai",
        "openai.mine": "key-openai",
        "api.deepseek.com": "key-deepseek",
        "api.anthropic.com": "key-anthropic",
        "anthropic.mine": "key-anthropic",
        "gateway.mine": "key-mine",
    }
    for upstream in find_upstreams(settings, environ):
        assert upstream.key == owners[urlsplit(upstream.base_url).hostname or ""]
        assert upstream.key not in repr(upstream)


def test_openrouter_is_known_by_its_host_unless_the_settings_say_otherwise() -> None:
    gateway = {"base_url": "http://127.0.0.1:1"}
    found = find_upstreams(
        configured(
            gateway=gateway,
            mirror={**gateway, "openrouter": True},
            plain={"base_url": "https://eu.openrouter.ai/v1", "openrouter": False},
            alike={"base_url": "https://notopenrouter.ai/v1"},
        ),
        KEYS | {"OPENAI_BASE_URL": "https://openrouter.ai/api/v1"},
    )
    assert {upstream.name for upstream in found if upstream.is_openrouter} == {"mirror", "openai", "openrouter"}


def test_a_configured_upstream_without_its_key_is_not_passed_over_in_silence() -> None:
    settings = configured(gateway={"base_url": "http://127.0.0.1:1", "key_env": "MY_KEY"})
    with pytest.raises(UnusableUpstreamError, match=r"'gateway' takes its key from the variable 'MY_KEY'.*not set"):
        find_upstreams(settings, KEYS)


@pytest.mark.parametrize("key", ["schlüssel", "two words", "line\nbreak"])
def test_what_cannot_stand_in_a_header_is_no_key_and_is_not_shown(key: str) -> None:
    with pytest.raises(UnusableUpstreamError, match="'OPENAI_API_KEY' holds no key") as caught:
        find_upstreams(configured(), {"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://h", "openrouter.ai", "https://user:secret@h/v1", "https://h?key=secret"])
def test_what_is_no_address_is_named_but_not_shown(url: str) -> None:
    with pytest.raises(UnusableUpstreamError, match="'OPENAI_BASE_URL' holds no address") as caught:
        find_upstreams(configured(), KEYS | {"OPENAI_BASE_URL": url})
    assert "secret" not in str(caught.value)


def test_a_key_is_never_shown() -> None:
    assert "hush" not in repr(Upstream("x", "http://h", "hush", frozenset({"chat"})))
