"""The process that begins the local runs that are due, and leaves. The standard library alone.

It is started by this file's path, by an executor and by the last act of every runner: so one run begins the next, and
no process has to stay.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn


def starter_command(root: Path, slots: int, grace_s: float) -> list[str]:
    """Return the command that begins what is due.

    Args:
        root: The jobs folder.
        slots: How many processors all runs may take together.
        grace_s: How long a program may take to end after it was asked to.
    """
    return [sys.executable, "-I", "-S", __file__, str(root), str(slots), str(grace_s)]


def main(arguments: Sequence[str]) -> None:
    """Begin what is due.

    Args:
        arguments: The last ones of `starter_command`.
    """
    from ekiden_jobs.local_queue import LocalQueue, Unit
    from ekiden_warden.identity import this_process

    root, slots, grace_s = Path(arguments[0]), int(arguments[1]), float(arguments[2])

    def become_runner(unit: Unit) -> NoReturn:
        process = this_process()
        command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("run_job.py")), str(root / unit.key)]
        command += ["--id", f"{process.pid}-{process.started}", "--keep-bounds", "--grace-s", str(grace_s)]
        command += [] if unit.task is None else ["--task", f"{unit.task}"]
        command += ["--afterwards", json.dumps(starter_command(root, slots, grace_s))]
        os.execv(command[0], command)  # noqa: S606 - an own program with an argument list

    LocalQueue(root).start_due(slots, become_runner)


if __name__ == "__main__":
    installation = Path(__file__).resolve().parents[1]
    sys.path.append(str(installation))
    # Empty packages stand in for ours, whose `__init__` imports what is for those who submit.
    for name in ("ekiden_jobs", "ekiden_warden"):
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(installation / name)]
    main(sys.argv[1:])
