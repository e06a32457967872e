"""Fixtures for runs of small solvers."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from ekiden_config import load_settings
from ekiden_orchestrator.marathon.key_safety import keeps_keys
from ekiden_orchestrator.marathon.trial import try_isolation
from marathon_bed import Bed
from model_server import ModelServer

KEYS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY")


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Run as where no language model can be reached, whoever runs the tests."""
    for name in (*KEYS, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    settings = load_settings({"marathon": {"grace_s": 1.0, "poll_s": 0.05, "heartbeat_s": 0.05}})
    return Bed(tmp_path, settings, io.StringIO())


@pytest.fixture(scope="session")
def keys_are_kept() -> bool:
    """Whether this system keeps a solver from reading the keys of its runner."""
    return keeps_keys(try_isolation())


@pytest.fixture
def key(bed: Bed, monkeypatch: pytest.MonkeyPatch, *, keys_are_kept: bool) -> str:
    """The runner's key for its upstream; where nothing hides it from solvers, that is allowed here."""
    monkeypatch.setenv("SCRIPTED_API_KEY", "the-runners-own-key")
    bed.change(allow_readable_keys=not keys_are_kept)
    return "the-runners-own-key"


@pytest.fixture
def models(bed: Bed, key: str) -> Iterator[ModelServer]:
    """A scripted model server that the runs of the bed ask."""
    del key
    with ModelServer() as server:
        bed.connect(server.url)
        yield server
