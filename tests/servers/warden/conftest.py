"""Cells, and the kinds of isolation that work here."""

import sys
from pathlib import Path

import pytest

from ekiden_warden import ISOLATIONS, Enforced, Isolation, probe
from servers.warden.cell import Cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell to run programs in, under the strongest isolation that works here."""
    cell = Cell(tmp_path)
    cell.inside.mkdir()
    cell.outside.mkdir()
    return cell


@pytest.fixture(scope="session")
def here() -> Enforced:
    """What holds on this system."""
    return probe()


@pytest.fixture(params=ISOLATIONS)
def isolation(request: pytest.FixtureRequest, here: Enforced) -> Isolation:
    """Each kind of isolation that works here."""
    kind: Isolation = request.param
    if kind in here.refused or (kind == "subreaper" and not sys.platform.startswith("linux")):
        pytest.skip(f"{kind!r} does not work here")
    return kind
