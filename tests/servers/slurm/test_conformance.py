"""The Slurm executor does on a real cluster what every executor must."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ekiden_config import default_settings
from ekiden_jobs import Resources
from ekiden_slurm.executor import SlurmExecutor
from executor_conformance import Bed, ExecutorConformance
from slurm_rig import SlurmRig

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(120)]


@pytest.fixture
def bed(tmp_path: Path, slurm: SlurmRig, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    """An executor on the shared cluster; whatever still runs when the test is over is ended."""
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    jobs, folder = tmp_path / "jobs", tmp_path / "work"
    folder.mkdir()
    quick = {"submissions_per_minute": 1000, "poll_first_s": 0.5, "poll_longest_s": 2.0}
    settings = default_settings().slurm.model_copy(update=quick)

    def executor() -> SlurmExecutor:
        return SlurmExecutor(jobs, settings)

    bed = Bed(executor(), jobs, folder, executor, lambda: Resources(directives=("--hold",)))
    yield bed
    bed.executor.cancel(bed.executor.known())


class TestSlurmExecutor(ExecutorConformance):
    """The tests."""
