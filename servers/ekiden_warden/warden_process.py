"""The owner's end of the warden: starting it, telling it what to do, hearing what it reports."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from ekiden_warden.order import Order

_PACKAGE = Path(__file__).parent
# An empty package stands in for ours, whose __init__ imports what is for owners, and partly out of reach there.
_BOOT = """
import sys, types
package = sys.modules["ekiden_warden"] = types.ModuleType("ekiden_warden")
package.__path__ = [sys.argv[1]]
from ekiden_warden.main import main
main()
"""
Report = dict[str, object]


class WardenProcess:
    """A running warden. When this object's process dies, however, the warden ends everything it started."""

    def __init__(self, order: Order, *, log_fd: int, guard_fd: int | None = None) -> None:
        """Start the warden with an order; it keeps `guard_fd` open as long as anything of the program lives."""
        inherited = (order.stdin_fd, order.stdout_fd, order.stderr_fd, guard_fd)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, str(_PACKAGE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log_fd,
            pass_fds=[descriptor for descriptor in inherited if descriptor is not None],
            env={},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands = self._process.stdin
        self._reports = self._process.stdout
        self._pending = b""
        self._command(order.to_line())

    @property
    def pid(self) -> int:
        """The warden's process id."""
        return self._process.pid

    @property
    def reports_fd(self) -> int:
        """The descriptor that becomes readable when there is something to hear."""
        return self._reports.fileno()

    def ask_to_end(self) -> None:
        """Have SIGTERM sent to the program's process group."""
        self._command(b"T")

    def kill(self) -> None:
        """Have everything killed."""
        self._command(b"K")

    def hear(self) -> Iterator[Report] | None:
        """Return the reports that have arrived, or None when the warden is gone; waits if there are none."""
        data = os.read(self.reports_fd, 65536)
        if not data:
            return None
        *lines, self._pending = (self._pending + data).split(b"\n")
        return (cast("Report", json.loads(line)) for line in lines)

    def close(self) -> None:
        """Have everything killed, if it is not yet, and wait until the warden is gone."""
        with contextlib.suppress(OSError):
            self._commands.close()
        self._process.wait()
        self._reports.close()

    def _command(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ValueError):  # ValueError: another thread has closed it already
            while data:
                data = data[self._commands.write(data) or 0 :]
