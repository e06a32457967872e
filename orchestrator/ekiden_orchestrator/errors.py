"""The one place that turns an anticipated exception into a line on standard error and an exit status."""

import errno
import sys

USAGE = 2
"""The exit status of a command that could not do what it was asked, as it was asked."""

UNWRITTEN = 1
"""The exit status of a command whose output could not be written."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_BASES = frozenset(
    {
        "ekiden_blueprint.errors.BlueprintError",
        "ekiden_budget.errors.BudgetError",
        "ekiden_cayley.errors.CayleyError",
        "ekiden_config.errors.ConfigError",
        "ekiden_dag.errors.DagError",
        "ekiden_jobs.errors.JobsError",
        "ekiden_judge.errors.JudgeError",
        "ekiden_kit.errors.KitError",
        "ekiden_lean.errors.LeanError",
        "ekiden_magma.errors.MagmaError",
        "ekiden_orchestrator.errors.CommandError",
        "ekiden_orchestrator.marathon.errors.MarathonError",
        "ekiden_store.errors.StoreError",
        "ekiden_warden.errors.WardenError",
    }
)
"""The exception bases of our packages, by name: an exception's module is imported, the others need not be."""


class CommandError(Exception):
    """A command was given something it cannot work with."""


def report(error: Exception) -> int:
    """Say on standard error what was wrong, and return the exit status.

    Raises:
        Exception: The error itself, when it is none that our packages anticipate.
    """
    if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
        sys.stderr.write(f"ekiden: cannot write: {error.strerror}.\n")
        return UNWRITTEN
    if not any(f"{base.__module__}.{base.__qualname__}" in _BASES for base in type(error).__mro__):
        raise error
    sys.stderr.write(f"ekiden: {error}\n")
    return USAGE
