"""Who runs jobs here: Slurm, or this machine."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ekiden_jobs import Executor, ExecutorUnavailableError, JobKey, JobsError, Resources, Statuses
from ekiden_jobs.folder import sound_jobs
from ekiden_slurm.commands import SlurmCommands
from ekiden_slurm.profiles import with_site_defaults

if TYPE_CHECKING:
    from ekiden_config import SlurmSettings

CONFIGURATIONS = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf")
"""Where a cluster's configuration stands on its machines."""


class Reasoned(NamedTuple):
    """Which executor, and why it and not the other one, in a sentence."""

    name: Literal["slurm", "local"]
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """An executor, and how it came to be chosen.

    Attributes:
        executor: It.
        reason: Why it and not the other one, in a sentence.
        jobs_folder: Where its jobs have their folders; each executor has its own.
        settings: Accounts, partitions, and limits.
    """

    executor: Executor
    reason: str
    jobs_folder: Path
    settings: "SlurmSettings"

    def completed(self, wanted: Resources) -> Resources:
        """Return resources with what the settings say of this site, where that is a cluster."""
        if self.executor.name == "local":
            return wanted
        return with_site_defaults(wanted, self.settings)

    def standing(self, keys: Sequence[JobKey]) -> tuple[Statuses, list[str]]:
        """Tell where jobs stand, and what is wrong with those whose folders are damaged, which keep no other from it.

        Raises:
            JobsError: Jobs cannot be asked for.
        """
        if not keys:
            return {}, []
        try:
            return self.executor.status(keys), []
        except ExecutorUnavailableError:
            raise
        except JobsError:
            sound, troubles = sound_jobs(self.jobs_folder, keys)
            if not troubles:
                raise
        return (self.executor.status(sound) if sound else {}), troubles


def which_executor(settings: "SlurmSettings", environ: Mapping[str, str] = os.environ) -> Reasoned:
    """Tell who runs jobs here.

    A cluster whose controller does not answer for the moment is still the one that jobs go to: they would otherwise
    run where nobody meant them to.
    """
    if settings.executor != "auto":
        return Reasoned(settings.executor, "the settings say so (slurm.executor)")
    commands = SlurmCommands(settings, environ)
    if commands.where("sbatch") is None:
        return Reasoned("local", "there is no Slurm here")
    named = environ.get("SLURM_CONF")
    if named and not Path(named).is_file():  # the commands would look for it for a minute
        return Reasoned("local", f"the variable SLURM_CONF names no file: {Path(named).name!r}")
    if named or any(Path(file).is_file() for file in CONFIGURATIONS):
        return Reasoned("slurm", "a Slurm cluster is configured")
    if commands.answers():  # it is found in other ways, such as by the name service
        return Reasoned("slurm", "a Slurm controller answers")
    return Reasoned("local", "Slurm's commands are here, but no cluster")


def choose_executor(settings: "SlurmSettings", environ: Mapping[str, str] = os.environ) -> Choice:
    """Choose who runs jobs, as the settings say.

    Raises:
        JobsError: Jobs cannot be run so here.
    """
    name, reason = which_executor(settings, environ)
    folder = Path(settings.jobs_dir).expanduser().absolute() / name
    if name == "local":
        from ekiden_jobs.local import LocalExecutor

        return Choice(LocalExecutor(folder, slots=settings.slots or None), reason, folder, settings)
    from ekiden_slurm.executor import SlurmExecutor

    return Choice(SlurmExecutor(folder, settings), reason, folder, settings)
