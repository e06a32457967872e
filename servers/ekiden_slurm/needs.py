"""What a job needs, in one line: `cpus=4 memory=8G gpus=1 minutes=30`."""

import re
import shlex
from dataclasses import dataclass

from ekiden_jobs import JobRequestError, Resources

EXAMPLE = "cpus=4 memory=8G gpus=1 minutes=30"
_KNOWN = ("cpus", "memory", "gpus", "minutes", "nodes", "at_once")
_MEBIBYTES = {"": 1, "M": 1, "G": 1024, "T": 1024**2}
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class Needs:
    """What a job gets, and how many tasks of an array there are at once."""

    resources: Resources
    at_once: int | None = None


def read_needs(text: str) -> Needs:
    """Read what a job needs.

    Raises:
        JobRequestError: It cannot be read.
    """
    given: dict[str, str] = {}
    for part in text.replace(",", " ").split():
        name, equals, value = part.partition("=")
        if not equals or name not in _KNOWN:
            raise JobRequestError(f"{part!r} is nothing that a job can need; write it as {EXAMPLE!r} ({_names()}).")
        if name in given:
            raise JobRequestError(f"{name!r} is there twice; give it once.")
        given[name] = value
    minutes = _number(given, "minutes")
    return Needs(
        Resources(
            cpus=_number(given, "cpus") or 1,
            memory_mb=read_memory(given["memory"]) if "memory" in given else None,
            gpus=_number(given, "gpus", least=0) or 0,
            nodes=_number(given, "nodes") or 1,
            time_limit_s=None if minutes is None else 60 * minutes,
        ),
        _number(given, "at_once"),
    )


def split_task(text: str) -> tuple[str, ...]:
    """Return a task's further arguments, split as a shell does.

    Raises:
        JobRequestError: A quote is not closed.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise JobRequestError(f"The task {text!r} cannot be split into arguments: {error}.") from error


def read_memory(text: str) -> int:
    """Return an amount of memory in mebibytes, of which a bare number is too.

    Raises:
        JobRequestError: It is none.
    """
    found = re.fullmatch(r"([0-9]{1,9})([MGT]?)(?:i?B)?", text, re.IGNORECASE | re.ASCII)
    amount = int(found[1]) * _MEBIBYTES[found[2].upper()] if found else 0
    if not 0 < amount <= _MOST:
        raise JobRequestError(f"{text!r} is no amount of memory; write mebibytes such as '3850', or '8G'.")
    return amount


def read_time(text: str) -> int:
    """Return a time limit in seconds; it is written as Slurm does, where a bare number is minutes.

    Raises:
        JobRequestError: It is none.
    """
    found = re.fullmatch(r"(?:([0-9]{1,5})-)?([0-9]{1,7})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?", text, re.ASCII)
    if found:
        days, *rest = (0 if part is None else int(part) for part in found.groups())
        by_hours = found[1] is not None or found[4] is not None
        hours, minutes, seconds = rest if by_hours else (0, *rest[:2])
        if total := 86_400 * days + 3600 * hours + 60 * minutes + seconds:
            return total
    raise JobRequestError(f"{text!r} is no time limit; write minutes, hours:minutes:seconds, or days-hours:minutes.")


def _number(given: dict[str, str], name: str, least: int = 1) -> int | None:
    if name not in given:
        return None
    value = given[name]
    if not (value.isascii() and value.isdecimal() and len(value) <= 9 and int(value) >= least):
        raise JobRequestError(f"{name}={value!r} will not do: a whole number from {least}.")
    return int(value)


def _names() -> str:
    return ", ".join(_KNOWN)
