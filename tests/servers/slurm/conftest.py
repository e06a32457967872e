"""Clusters that the tests of a session share: whoever changes one puts it back as it was."""

import os
from collections.abc import Iterator

import pytest

from slurm_rig import Accounting, SlurmRig, missing_programs

REQUIRED = "EKIDEN_TEST_SLURM"
"""Set where a cluster must be there, as in `.ci/run`: its tests then fail rather than being skipped."""


def started(factory: pytest.TempPathFactory, accounting: Accounting) -> Iterator[SlurmRig]:
    """Start a cluster for the rest of the session, or skip where Slurm is not installed."""
    missing = missing_programs(accounting)
    if missing and not os.environ.get(REQUIRED):
        pytest.skip(f"no Slurm: {missing}")
    with SlurmRig(factory.mktemp("slurm") / "rig", accounting=accounting) as rig:
        yield rig


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmRig]:
    """A cluster that forgets finished jobs after a while and has no accounting."""
    yield from started(tmp_path_factory, "none")


@pytest.fixture(scope="session")
def slurm_accounting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmRig]:
    """A cluster that keeps all jobs in a database."""
    yield from started(tmp_path_factory, "slurmdbd")
