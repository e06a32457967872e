"""A script that says what a local job does, for people to read before they submit it."""

import shlex

from ekiden_jobs.request import JobRequest


def script_of(request: JobRequest) -> str:
    """Return a shell script that runs the program of a job as its runner does; the secrets are left out."""
    lines = ["#!/bin/sh", f"cd {shlex.quote(str(request.folder))} || exit 127"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in request.environment.items()]
    if request.secrets:
        lines.append(f"# Secrets that only the job sees: {', '.join(sorted(request.secrets))}")
    command = shlex.join(request.command)
    if request.tasks:
        lines.append('case "$EKIDEN_TASK" in')
        lines += [f"{number}) set -- {shlex.join(words)} ;;" for number, words in enumerate(request.tasks)]
        lines += ["esac", f'exec {command} "$@"']
    else:
        lines.append(f"exec {command}")
    return "\n".join(lines) + "\n"
