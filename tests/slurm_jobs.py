"""What tests of jobs on a cluster share: executors, requests, and programs that stand before Slurm's own."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ekiden_config import SlurmSettings, default_settings
from ekiden_jobs import JobKey, JobRequest, Resources
from ekiden_slurm.executor import SlurmExecutor
from ekiden_slurm.tracking import Patience

HASTY = Patience(settle_s=0.5, lost_after_s=1.5)
ENOUGH_S = 50.0


def settings_for_tests(**changes: object) -> SlurmSettings:
    """Return settings under which nothing waits for long."""
    quick = {
        "submissions_per_minute": 6000,
        "poll_first_s": 0.3,
        "poll_longest_s": 1.0,
        "query_timeout_s": 20.0,
        "submit_timeout_s": 3.0,
    }
    return SlurmSettings.model_validate(default_settings().slurm.model_dump() | quick | changes)


def executor_on(root: Path, env: Mapping[str, str], *, patience: Patience = HASTY, **changes: object) -> SlurmExecutor:
    """Return an executor for a cluster."""
    return SlurmExecutor(root, settings_for_tests(**changes), environ=env, patience=patience)


def job(folder: Path, key: str, script: str = "", **fields: Any) -> JobRequest:
    """Return a request that adds a line to the file `ran` of a folder, and then runs a shell script."""
    resources = Resources(**fields.pop("resources", {}))
    command = ("sh", "-c", f'echo "{key}" "$EKIDEN_TASK" >> ran; {script or ":"}')
    return JobRequest(JobKey(key), command, folder, resources=resources, **fields)


def ran(folder: Path) -> list[str]:
    """Return the lines of the file `ran`, sorted."""
    file = folder / "ran"
    return sorted(line.strip() for line in file.read_text(encoding="utf-8").splitlines()) if file.exists() else []


def before(env: Mapping[str, str], folder: Path, program: str, text: str) -> dict[str, str]:
    """Put a shell script before a program of Slurm's; in it `$REAL` is that program.

    Args:
        env: The environment, which the answer adds to.
        folder: Where to put the script.
        program: Its name.
        text: What it does.
    """
    real = shutil.which(program, path=env["PATH"])
    folder.mkdir(exist_ok=True)
    file = folder / program
    file.write_text(f"#!/bin/bash\nREAL={real}\ncd {folder}\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return {**env, "PATH": f"{folder}:{env['PATH']}"}
