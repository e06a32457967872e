"""A native Lean: configured, named by the environment, on the `PATH`, or in elan's usual place."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ekiden_lean.elan import chosen_toolchain, elan_home, is_shim
from ekiden_lean.errors import LeanError
from ekiden_lean.library import module_present

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ekiden_config import LeanSettings

_PATIENCE_S = 30.0
_LAKE_PATIENCE_S = 120.0
_VERSION = re.compile(r"version ([^,)\s]+)")


@dataclass(frozen=True, slots=True)
class NativeToolchain:
    """A Lean of this system, with the libraries of a project where one is configured."""

    lean: Path
    prefix: Path
    version: str
    identity: str
    library_path: tuple[Path, ...]
    threads: int
    memory_mb: int
    kind: Literal["native"] = "native"
    has_proofs: bool = True

    @property
    def reads(self) -> tuple[Path, ...]:
        """The toolchain's folder, and those of the libraries outside it."""
        return (self.prefix, *(folder for folder in self.library_path if self.prefix not in folder.parents))

    def command(
        self,
        file: Path,
        arguments: Sequence[str] = (),
        *,
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
    ) -> list[str]:
        """Return the command that runs a file's `main`; a native Lean cannot be told what to leave alone."""
        del reads, writes
        return [*self._lean(), "--run", str(file.resolve()), *arguments]

    def check_command(self, file: Path, *, reads: Sequence[Path] = (), writes: Sequence[Path] = ()) -> list[str]:
        """Return the command that elaborates a file; a native Lean cannot be told what to leave alone."""
        del reads, writes
        return [*self._lean(), "--json", str(file.resolve())]

    def environment(self) -> dict[str, str]:
        """Return the whole environment of such a command."""
        return {
            "LEAN_PATH": os.pathsep.join(map(str, self.library_path)),
            "LEAN_SYSROOT": str(self.prefix),
            "PATH": os.pathsep.join([str(self.lean.parent), os.defpath]),
            "LANG": "C.UTF-8",
        }

    def modules_present(self, name: str) -> bool:
        """Tell whether Lean's own library or the project's has a module."""
        return module_present(self.library_path, name)

    def _lean(self) -> list[str]:
        return [str(self.lean), f"-j{self.threads}", f"-M{self.memory_mb}"]


def find_native(settings: LeanSettings, environ: Mapping[str, str] | None = None) -> NativeToolchain | None:
    """Return the native Lean to use, or `None` when there is none.

    The settings `lean.lean`, `lean.lake` and `lean.project` go before the variables `LEAN_BIN`, `LAKE_BIN` and
    `JUDGE_LEAN_PATH`, those before the `PATH`, and that before `~/.elan/bin`.

    Raises:
        LeanError: If one is named and not there, does not work, or would have to be downloaded by elan.
    """
    environ = os.environ if environ is None else environ
    project = _project(settings)
    found = _program("lean", settings.lean, "LEAN_BIN", environ)
    if found is None:
        return None
    lean = _real(found, project, environ)
    version = _ask(lean, "--version")
    number = _VERSION.search(version)
    if number is None:
        raise LeanError(f"{str(lean)!r} does not tell the version of a Lean: {version[:200]!r}.")
    prefix = Path(_ask(lean, "--print-prefix"))
    own_library = Path(_ask(lean, "--print-libdir"))
    libraries = _libraries(settings, project, lean, environ)
    library_path = tuple(dict.fromkeys([*libraries, own_library]))
    identity = hashlib.sha256("\n".join([version, _project_identity(project), *map(str, libraries)]).encode())
    return NativeToolchain(
        lean=lean,
        prefix=prefix,
        version=number[1],
        identity=identity.hexdigest()[:16],
        library_path=library_path,
        threads=settings.threads,
        memory_mb=settings.memory_mb,
    )


def _project(settings: LeanSettings) -> Path | None:
    if settings.project is None:
        return None
    project = settings.project.expanduser().resolve()
    if not any((project / file).is_file() for file in ("lakefile.toml", "lakefile.lean")):
        raise LeanError(f"The setting lean.project is {str(settings.project)!r}, which is no Lake project.")
    return project


def _program(name: str, configured: str | None, variable: str, environ: Mapping[str, str]) -> Path | None:
    """Return a program by its setting, its variable, the `PATH` or elan's folder."""
    named = configured or environ.get(variable)
    path = environ.get("PATH", os.defpath)
    if named:
        found = shutil.which(Path(named).expanduser(), path=path)
        if found is None:
            source = f"The setting lean.{name}" if configured else f"The variable {variable}"
            raise LeanError(f"{source} is {named!r}, and there is no such program.")
        return Path(found).absolute()
    found = shutil.which(name, path=path) or shutil.which(elan_home(environ) / "bin" / name)
    return Path(found).absolute() if found else None


def _real(program: Path, project: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the program itself where elan's stand-in was found."""
    if not is_shim(program):
        return program
    return chosen_toolchain(project or Path.cwd(), environ) / "bin" / program.name


def _libraries(settings: LeanSettings, project: Path | None, lean: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of compiled modules besides Lean's own."""
    if project is None and (given := environ.get("JUDGE_LEAN_PATH")):
        return _paths(given)
    if project is None:
        return []
    return _lake_path(settings, project, lean, environ) or [
        folder
        for folder in (
            project / ".lake" / "build" / "lib" / "lean",
            *sorted((project / ".lake" / "packages").glob("*/.lake/build/lib/lean")),
        )
        if folder.is_dir()
    ]


def _lake_path(settings: LeanSettings, project: Path, lean: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return what Lake says, or nothing where it cannot be asked without fetching something."""
    beside = lean.parent / "lake"
    found = _program("lake", settings.lake, "LAKE_BIN", environ)
    lake = _real(found, project, environ) if found else None
    if settings.lake is None and not environ.get("LAKE_BIN") and beside.is_file():
        lake = beside
    if lake is None or not _packages_fetched(project):
        return []
    surroundings = {
        "PATH": os.pathsep.join([str(lean.parent), environ.get("PATH", os.defpath)]),
        "HOME": environ.get("HOME", ""),
        "LAKE_NO_CACHE": "1",
    }
    try:
        told = subprocess.run(
            [str(lake), "env", "printenv", "LEAN_PATH"],
            cwd=project,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LAKE_PATIENCE_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return _paths(told.decode("utf-8", errors="replace").strip())


def _packages_fetched(project: Path) -> bool:
    """Tell whether Lake has everything it would otherwise fetch."""
    try:
        manifest: Any = json.loads((project / "lake-manifest.json").read_text(encoding="utf-8"))
        packages = project / (manifest.get("packagesDir") or ".lake/packages")
        return all(
            package.get("type") == "path" or (packages / package["name"]).is_dir()
            for package in manifest.get("packages", [])
        )
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return False


def _project_identity(project: Path | None) -> str:
    """Return what tells one state of a project's libraries from another: its dependencies' revisions."""
    if project is None:
        return ""
    try:
        return hashlib.sha256((project / "lake-manifest.json").read_bytes()).hexdigest()
    except OSError:
        return str(project)


def _paths(text: str) -> list[Path]:
    return [Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part]


def _ask(lean: Path, option: str) -> str:
    """Return what Lean answers to an option.

    Raises:
        LeanError: If it does not.
    """
    try:
        told = subprocess.run(
            [str(lean), option], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True
        ).stdout
    except subprocess.TimeoutExpired as error:
        raise LeanError(f"{str(lean)!r} did not answer {option} within {_PATIENCE_S:.0f} seconds.") from error
    except subprocess.CalledProcessError as error:
        complaint = error.stderr.decode("utf-8", errors="replace").strip()[:300]
        raise LeanError(
            f"{str(lean)!r} does not answer {option}: {complaint or f'status {error.returncode}'}"
        ) from error
    except OSError as error:
        raise LeanError(f"Cannot start {str(lean)!r}: {error.strerror}.") from error
    return told.decode("utf-8", errors="replace").strip()
