"""Fixtures for runs of small solvers."""

import io
from pathlib import Path

import pytest

from ekiden_config import load_settings
from marathon_bed import Bed


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    settings = load_settings({"marathon": {"grace_s": 1.0, "poll_s": 0.05, "heartbeat_s": 0.05}})
    return Bed(tmp_path, settings, io.StringIO())
