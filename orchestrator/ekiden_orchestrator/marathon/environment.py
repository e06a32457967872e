"""What a solver finds around it: the contract's variables, and the part of the file system it sees."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from ekiden_orchestrator.marathon.folder import AttemptFolder, RunFolder
from ekiden_orchestrator.marathon.manifest import PROBLEM_SETS
from ekiden_warden import View, as_seen, home_folders, python_folders

CHECKOUT = Path(__file__).parents[3]
"""The root of the source tree, where this is one: its tests bring labelled problems."""
PASSED_THROUGH = ("PATH", "USER", "LANG", "TERM", "FEWSHOT_VERIFY_BEFORE_CACHE")
POOL_VARIABLE = "EKIDEN_HARVEST_SECONDS"
_ANSWERS_VARIABLE = "JUDGE_MARATHON_OUTPUT"


def contract_environment(
    folder: AttemptFolder, *, wall_s: float, tokens: int, model: str = "", inherited: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment that every solver gets; nothing else of the runner's reaches it.

    `HOME` and `TMPDIR` are private folders of the attempt, so that nothing persists from run to run.
    """
    environment = {name: inherited[name] for name in PASSED_THROUGH if name in inherited}
    if model:
        environment["JUDGE_MARATHON_MODEL"] = model
    path = os.pathsep.join(filter(None, (str(folder.library), inherited.get("PYTHONPATH"))))
    return environment | {
        "HOME": str(folder.home),
        "TMPDIR": str(folder.temporary),
        "PYTHONPATH": path,
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",
        "JUDGE_MARATHON_MANIFEST": str(folder.manifest),
        _ANSWERS_VARIABLE: str(folder.answers),
        "JUDGE_MARATHON_SCRATCH_DIR": str(folder.scratch),
        "JUDGE_MARATHON_BUDGET_SECONDS": str(int(wall_s)),
        "JUDGE_MARATHON_BUDGET_TOKENS": str(tokens),
        "JUDGE_MARATHON_LIB_DIR": str(folder.library),
    }


def built_in_environment(pool_s: float | None, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a built-in solver gets besides: the caches of compiled kernels, and its share of the time if any."""
    extra = {"XDG_CACHE_HOME": str(Path(platformdirs.user_cache_dir("ekiden")).parent)}
    if pool_s is not None:
        extra[POOL_VARIABLE] = f"{pool_s:.3f}"
    if "NUMBA_CACHE_DIR" in inherited:
        extra["NUMBA_CACHE_DIR"] = inherited["NUMBA_CACHE_DIR"]
    return extra


def stray_mark(folder: AttemptFolder) -> tuple[str, str]:
    """Return the variable and its value that tell every process of an attempt."""
    return _ANSWERS_VARIABLE, str(folder.answers)


def confined_view(run: RunFolder, folder: AttemptFolder, manifest_origin: Path) -> View:
    """Return the view of a solver that is not ours: Python, the system, and its attempt's folder to write in.

    Hidden are the run folder with its labelled manifest, the manifest's origin and the folder that it lies in, the
    packaged problem sets, Ekiden's own source tree, home folders, and shared temporary folders.
    """
    temporary = str(folder.temporary.resolve())
    modules = [Path(path) for path in (*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)) if path]
    shows = as_seen(path for path in (*python_folders(), *modules) if path.is_dir())
    covers: dict[str, str | None] = {
        os.path.realpath(path): None for path in (*home_folders(), "/run/user", run.root, PROBLEM_SETS, manifest_origin)
    }
    covers |= dict.fromkeys(_label_folders(manifest_origin) - shows)
    covers |= {os.path.realpath(path): temporary for path in ("/tmp", "/var/tmp")}  # noqa: S108
    covers.pop("/", None)
    root = os.path.realpath(folder.root)
    return View(tuple(sorted(covers.items())), tuple(sorted(shows - covers.keys() - {root, "/"})), (root,))


def _label_folders(manifest_origin: Path) -> set[str]:
    """Return folders where labelled problems lie besides the manifest itself.

    Sets overlap, so the manifest's neighbours count; a folder right under the root may be the system's and stays.
    """
    folders = {CHECKOUT} if (CHECKOUT / "pyproject.toml").is_file() else set[Path]()
    if len(manifest_origin.parts) > len(Path("/folder/file").parts):
        folders.add(manifest_origin.parent)
    return {os.path.realpath(path) for path in folders}
