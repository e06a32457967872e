"""The command line, run in the process of the test."""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from ekiden_orchestrator import cli


class Done(NamedTuple):
    """What a command printed, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


def ekiden(*arguments: object) -> Done:
    """Run `ekiden` with some arguments, errors reported as the console command does."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = cli.run([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
    return Done(status, out.getvalue(), err.getvalue())
