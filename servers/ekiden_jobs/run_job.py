"""Starts the runner of a job by this file's path: `python -I -S run_job.py FOLDER --id ID [options]`.

Nothing but the interpreter and this installation's files is needed: no site-packages, no variable, no folder.
"""

import os
import signal
import sys
from types import ModuleType

if __name__ == "__main__":
    # What asks the job to end before the runner can listen has to wait until it can.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    installation = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - quick to start
    sys.path.append(installation)
    # Empty packages stand in for ours, whose `__init__` imports what is for those who submit.
    for name in ("ekiden_jobs", "ekiden_warden"):
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [os.path.join(installation, name)]  # noqa: PTH118 - as above

    from ekiden_jobs.runner import main

    sys.exit(main(sys.argv[1:]))
