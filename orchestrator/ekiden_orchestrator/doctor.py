"""Looking at what this machine has outside Ekiden: programs, optional packages, means of isolating a process."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

_PATIENCE_S = 10.0
_PYTHON_MINIMUM = "3.11"
_VERSION = re.compile(r"\d+(?:\.\d+)+|\d+")

State = Literal["ok", "old", "missing", "broken"]


class Wanted(BaseModel):
    """One thing outside Ekiden that it can use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    purpose: str
    how_to_get: str
    required: bool = False
    minimum: str | None = None


class WantedProgram(Wanted):
    """A program on the `PATH`."""

    version: tuple[str, ...] = ("--version",)


class WantedIsolation(Wanted):
    """Something the kernel may allow: a command that succeeds, or a path that can be written."""

    command: tuple[str, ...] = ()
    writable: str = ""


class Outside(BaseModel):
    """The whole list; `outside.toml` holds it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: tuple[WantedProgram, ...]
    package: tuple[Wanted, ...]
    isolation: tuple[WantedIsolation, ...]


class Finding(BaseModel):
    """What was found of one thing."""

    kind: Literal["python", "program", "package", "isolation"] = Field(description="What sort of thing it is.")
    name: str = Field(description="What it is called.")
    state: State = Field(description="Whether it is there and new enough; 'broken' when it does not even tell.")
    required: bool = Field(description="Whether Ekiden cannot do without it.")
    version: str | None = Field(description="The version found, when it tells one; of solver isolation the kind.")
    minimum: str | None = Field(description="The oldest version expected, when it matters.")
    purpose: str = Field(description="What Ekiden uses it for.")
    how_to_get: str = Field(description="Where it comes from.")

    @property
    def prevents_work(self) -> bool:
        """Tell whether something required is not as it must be."""
        return self.required and self.state != "ok"


def wanted() -> Outside:
    """Return the list of what Ekiden can use."""
    text = (files("ekiden_orchestrator") / "outside.toml").read_text(encoding="utf-8")
    return Outside.model_validate(tomllib.loads(text))


def examine(outside: Outside) -> list[Finding]:
    """Look for everything on a list, at this Python, and at what holds a marathon's solver here."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        programs = pool.map(_program, outside.program)
        isolation = pool.map(_isolation, outside.isolation)
        return [_python(), *programs, *map(_package, outside.package), *isolation, _solver_isolation()]


def _python() -> Finding:
    item = Wanted(
        name="python",
        purpose="runs Ekiden",
        how_to_get="the system's package manager: python3",
        required=True,
        minimum=_PYTHON_MINIMUM,
    )
    return _finding("python", item, ".".join(map(str, sys.version_info[:3])))


def _program(item: WantedProgram) -> Finding:
    path = shutil.which(item.name)
    if path is None:
        return _finding("program", item, None, state="missing")
    told = _run([path, *item.version])
    if told is None:
        return _finding("program", item, None, state="broken")
    found = _VERSION.search(told)
    return _finding("program", item, found.group() if found else None)


def _package(item: Wanted) -> Finding:
    try:
        return _finding("package", item, importlib.metadata.version(item.name))
    except importlib.metadata.PackageNotFoundError:
        return _finding("package", item, None, state="missing")


def _isolation(item: WantedIsolation) -> Finding:
    given = os.access(item.writable, os.W_OK) if item.writable else _run(list(item.command)) is not None
    return _finding("isolation", item, None, state=None if given else "missing")


def _solver_isolation() -> Finding:
    from ekiden_orchestrator.marathon.errors import MarathonError
    from ekiden_orchestrator.marathon.trial import try_isolation

    try:
        tried = try_isolation()
    except MarathonError:
        tried = None
    item = Wanted(
        name="solver isolation",
        purpose="keeps a marathon's solver from labels and keys, and leaves nothing of it running",
        how_to_get="the administrator: allow unprivileged user namespaces (the strongest kind is 'confined')",
    )
    if tried is None:
        return _finding("isolation", item, None, state="broken")
    return _finding("isolation", item, tried.isolation, state="missing" if tried.refused else "ok")


def _finding(
    kind: Literal["python", "program", "package", "isolation"],
    item: Wanted,
    version: str | None,
    *,
    state: State | None = None,
) -> Finding:
    if state is None:
        too_old = item.minimum and version and _numbers(version) < _numbers(item.minimum)
        state = "old" if too_old else "ok"
    return Finding(
        kind=kind,
        name=item.name,
        state=state,
        required=item.required,
        version=version,
        minimum=item.minimum,
        purpose=item.purpose,
        how_to_get=item.how_to_get,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _run(command: list[str]) -> str | None:
    """Return what a command says, or `None` when it fails, hangs or is not there."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", errors="replace")
