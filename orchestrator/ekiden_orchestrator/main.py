"""The console command `ekiden`.

`ekiden serve NAME...` over the standard streams takes a short cut: its client may wait no longer than a second, and the
command line's libraries alone take a good part of that.
"""

import sys


def main() -> None:
    """Run the command line, and end the process with its exit status."""
    command, *arguments = sys.argv[1:] or [""]
    try:
        if command != "serve" or not arguments or any(argument.startswith("-") for argument in arguments):
            from ekiden_orchestrator.cli import run

            sys.exit(run())
        from ekiden_kit.front_desk import serve
        from ekiden_kit.table import entries

        sys.exit(serve(entries(arguments)))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001  # the outermost place; what it does not know is raised again
        from ekiden_orchestrator.errors import report

        sys.exit(report(error))
