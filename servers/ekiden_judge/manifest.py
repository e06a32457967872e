"""Reading problem files: JSON Lines or one JSON array."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ekiden_judge.errors import JudgeConfigurationError
from ekiden_judge.problem import Problem
from ekiden_judge.strict_json import Element, StrictJsonError, decode, read_array, read_json

MAX_MANIFEST_BYTES = 52_428_800


def read_problems(
    source: bytes | Path, *, name: str | None = None, max_bytes: int = MAX_MANIFEST_BYTES
) -> tuple[Problem, ...]:
    r"""Read the problems of a manifest, in its order.

    A text whose first sign is `[` is one JSON array; any other holds one problem a line. Lines end at `\n` or `\r\n`
    and nowhere else, and blank lines are skipped. An empty text holds no problems.

    Args:
        source: The text in UTF-8, or the file to read.
        name: What the manifest is called in messages; the path, unless given.
        max_bytes: Size above which a manifest is refused before it is read.

    Raises:
        JudgeConfigurationError: The file cannot be read or is too large, a problem is not valid or its id occurs
            twice; the message names the file and the line.
    """
    if isinstance(source, Path):
        called = name or str(source)
        data = _read_file(source, called, max_bytes)
    else:
        called, data = name or "manifest", source
        _require_size(len(data), called, max_bytes)

    problems: dict[str, Problem] = {}
    lines: dict[str, int] = {}
    for element in _elements(data, called):
        where = f"{called}:{element.line}"
        if element.fault is not None:
            raise JudgeConfigurationError(f"{where}: {element.fault}.") from element.fault
        problem = Problem.read(element.value, where=where)
        if problem.id in problems:
            raise JudgeConfigurationError(
                f"{where}: the id {problem.id!r} was used on line {lines[problem.id]}; give each problem its own id."
            )
        problems[problem.id], lines[problem.id] = problem, element.line
    return tuple(problems.values())


def _elements(data: bytes, called: str) -> Iterator[Element]:
    try:
        text = decode(data)
        if text.lstrip(" \t\r\n").startswith("["):
            yield from read_array(text)
            return
    except StrictJsonError as error:
        if error.reason == "empty":
            return
        raise JudgeConfigurationError(f"{called}:{error.line}: {error}.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" \t\r"):
            continue
        try:
            yield Element(number, read_json(line), None)
        except StrictJsonError as fault:
            yield Element(number, None, fault)


def _read_file(path: Path, called: str, max_bytes: int) -> bytes:
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise JudgeConfigurationError(f"{called}: this is no ordinary file; name a JSON or JSON Lines file.")
            _require_size(status.st_size, called, max_bytes)
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise JudgeConfigurationError(f"{called}: the manifest cannot be read: {error.strerror or error}.") from error
    _require_size(len(data), called, max_bytes)
    return data


def _require_size(size: int, called: str, max_bytes: int) -> None:
    if size > max_bytes:
        raise JudgeConfigurationError(
            f"{called}: {size:,} bytes exceed the manifest limit of {max_bytes:,} bytes; split the manifest."
        )
