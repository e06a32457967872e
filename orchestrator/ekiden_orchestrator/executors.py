"""Who runs the orchestrator's jobs: Slurm, or this machine."""

from ekiden_config import Settings
from ekiden_jobs import Executor


def choose_executor(settings: Settings) -> Executor:
    """Return who runs jobs, as the settings say; whoever it is answers the same questions.

    Raises:
        JobsError: Jobs cannot be run so here.
    """
    from ekiden_slurm.choice import choose_executor as choose

    return choose(settings.slurm).executor
