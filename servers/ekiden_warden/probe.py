"""What holds for a confined program on this system."""

import os
import tempfile
from pathlib import Path

from ekiden_warden.confined import ConfinedProcess, Enforced

_PATIENCE_S = 10.0


def probe() -> Enforced:
    """Start a program that does nothing as any confined one would be, and return what holds for it.

    Raises:
        WardenError: No program can be started under a warden at all.
    """
    with tempfile.TemporaryDirectory(prefix="ekiden-") as folder:
        environment = {"PATH": os.defpath}
        with ConfinedProcess(["true"], environment=environment, directory=Path(folder)) as process:
            process.wait(_PATIENCE_S)
            return process.enforced
