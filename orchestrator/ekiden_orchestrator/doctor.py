"""Looking at what this machine has outside Ekiden: proof checkers, models, and means of isolating a process."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from ekiden_config import BudgetSettings, LeanSettings, Settings
from ekiden_orchestrator.doctor_findings import Finding, Wanted, finding_of
from ekiden_orchestrator.doctor_jobs import examine_jobs

_PATIENCE_S = 10.0
_PYTHON_MINIMUM = "3.11"
_VERSION = re.compile(r"\d+(?:\.\d+)+|\d+")


class WantedProgram(Wanted):
    """A program on the `PATH`."""

    version: tuple[str, ...] = ("--version",)


class Outside(BaseModel):
    """The whole list; `outside.toml` holds it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: tuple[WantedProgram, ...]


def wanted() -> Outside:
    """Return the list of programs that Ekiden can use."""
    text = (files("ekiden_orchestrator") / "outside.toml").read_text(encoding="utf-8")
    return Outside.model_validate(tomllib.loads(text))


def examine(outside: Outside, settings: Settings) -> list[Finding]:
    """Look for everything on a list, at this Python, Lean, models, who runs jobs, and what holds untrusted programs."""
    with ThreadPoolExecutor(max_workers=5) as pool:
        jobs = pool.submit(examine_jobs, settings.slurm)
        lean, node = pool.submit(_lean, settings.lean), pool.submit(_node, settings.lean)
        programs = pool.map(_program, outside.program)
        confined, solver = pool.submit(_untrusted_lean), pool.submit(_solver_isolation)
        found = [_python(), lean.result(), node.result(), *programs, *_models(settings.budget, os.environ)]
        return [*found, *jobs.result(), solver.result(), confined.result()]


def _python() -> Finding:
    item = Wanted(
        name="python",
        purpose="runs Ekiden",
        how_to_get="the system's package manager: python3",
        required=True,
        minimum=_PYTHON_MINIMUM,
    )
    return finding_of("python", item, ".".join(map(str, sys.version_info[:3])))


def _lean(settings: LeanSettings) -> Finding:
    """Look for the Lean that would be used."""
    from ekiden_lean.describe import describe
    from ekiden_lean.toolchain import HOW_TO_GET

    lean = describe(settings)
    purpose = "judges any answer by Lean's kernel: --judge lean, and --judge cross"
    item = Wanted(
        name="lean",
        purpose=f"{purpose} ({lean.summary})" if lean.state == "ok" else purpose,
        how_to_get=lean.problem or HOW_TO_GET,
    )
    return finding_of("program", item, lean.version, state=lean.state)


def _node(settings: LeanSettings) -> Finding:
    """Look for the Node that would run Lean for WebAssembly."""
    from ekiden_lean.errors import LeanError
    from ekiden_lean.release import packaged_release
    from ekiden_lean.wasm import NODE_MINIMUM, find_node, wasm_home

    item = WantedProgram(
        name="node",
        minimum=str(NODE_MINIMUM),
        purpose="runs Lean for WebAssembly; a native Lean does not need it",
        how_to_get="the system's package manager, or: ekiden lean install --wasm --node",
    )
    try:
        found = find_node(settings, wasm_home(settings), packaged_release())
    except LeanError as error:
        return finding_of("program", item.model_copy(update={"how_to_get": str(error)}), None, state="broken")
    return _program(item, None if found is None else str(found))


def _program(item: WantedProgram, path: str | None = None) -> Finding:
    path = path or shutil.which(item.name)
    if path is None:
        return finding_of("program", item, None, state="missing")
    told = _run([path, *item.version])
    if told is None:
        return finding_of("program", item, None, state="broken")
    found = _VERSION.search(told)
    return finding_of("program", item, found.group() if found else None)


def _models(settings: BudgetSettings, environ: Mapping[str, str]) -> list[Finding]:
    """Look where model calls would go: the variable of each key is told, and never the key."""
    from ekiden_budget.errors import BudgetError
    from ekiden_budget.upstreams import KEY_VARIABLES, find_upstreams, key_variable

    item = Wanted(
        name="models",
        purpose="answer the calls of solvers and agents, through `ekiden budget proxy` and in marathons",
        how_to_get=f"set one of {', '.join(KEY_VARIABLES.values())}, or name an address under [budget.upstreams.NAME]",
    )
    try:
        upstreams = find_upstreams(settings, environ)
    except BudgetError as error:
        return [finding_of("model", item.model_copy(update={"how_to_get": str(error)}), None, state="broken")]
    if not upstreams:
        return [finding_of("model", item, None, state="missing")]
    found: dict[tuple[str, str], Wanted] = {}
    for upstream in upstreams:
        variable = key_variable(upstream, settings)
        key = f"the key in {variable}" if variable else "no key"
        spoken = ", ".join(sorted(upstream.dialects))
        purpose = f"models at {upstream.base_url}, with {key}: {spoken}"
        found[upstream.name, upstream.base_url] = item.model_copy(update={"name": upstream.name, "purpose": purpose})
    return [finding_of("model", wanted, None) for wanted in found.values()]


def _solver_isolation() -> Finding:
    from ekiden_orchestrator.marathon.errors import MarathonError
    from ekiden_orchestrator.marathon.trial import try_isolation

    item = Wanted(
        name="solver isolation",
        purpose="keeps a marathon's solver from labels and keys, and leaves nothing of it running",
        how_to_get="the administrator: allow unprivileged user namespaces (the strongest kind is 'confined')",
    )
    try:
        tried = try_isolation()
    except MarathonError:
        tried = None
    if tried is None:
        return finding_of("isolation", item, None, state="broken")
    return finding_of("isolation", item, tried.isolation, state="missing" if tried.refused else "ok")


def _untrusted_lean() -> Finding:
    """Try what holds here for the code of answers while Lean or Coq reads it."""
    from ekiden_warden import WardenError, probe

    item = Wanted(
        name="judge isolation",
        purpose="holds the code of answers while Lean or Coq reads it",
        how_to_get="the administrator: allow unprivileged user namespaces (the strongest kind is 'confined')",
    )
    try:
        enforced = probe()
    except WardenError as error:
        return finding_of("isolation", item.model_copy(update={"how_to_get": str(error)}), None, state="broken")
    held = {"other files": enforced.files, "the network": enforced.network, "other processes": enforced.tree}
    kept = [what for what, holds in held.items() if holds]
    loose = [what for what, holds in held.items() if not holds]
    told = f"{item.purpose}: kept from {_listed(kept)}" + (f", not from {_listed(loose)}" if loose else "")
    found = item.model_copy(update={"purpose": told})
    return finding_of("isolation", found, enforced.isolation, state="missing" if loose else "ok")


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "nothing"


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
