"""Lean 4 for WebAssembly under Node, in a folder of the user's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ekiden_lean.errors import LeanError
from ekiden_lean.library import module_present
from ekiden_lean.loader import REVISION
from ekiden_lean.manifest import LIBRARY, LOADER, Manifest, read_manifest
from ekiden_lean.release import Release, packaged_release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ekiden_config import LeanSettings

NODE_MINIMUM = 24
"""Older ones refuse a module with more than 100,000 exports; this one has 201,110."""

_PATIENCE_S = 30.0
_FLAGS = (
    # deep terms recurse deeply; in KiB
    "--stack-size=8000",
    # eval() in the loader would turn a wild pointer of Lean code into JavaScript
    "--disallow-code-generation-from-strings",
    # no child processes, no add-ons, no files but those that follow
    "--permission",
    "--allow-worker",
    "--disable-warning=SecurityWarning",
)


@dataclass(frozen=True, slots=True)
class WasmToolchain:
    """An installed Lean for WebAssembly.

    Its library has no proofs of its theorems. Its processes have no file system but the folders they are given, and can
    start no other process: Node's permission model says no.
    """

    folder: Path
    node: Path
    manifest: Manifest
    threads: int
    memory_mb: int
    kind: Literal["wasm"] = "wasm"
    has_proofs: bool = False

    @property
    def version(self) -> str:
        """The version that Lean tells."""
        return self.manifest.lean_version

    @property
    def identity(self) -> str:
        """A short hash of the module, the loader and the library."""
        return self.manifest.identity

    @property
    def library_path(self) -> tuple[Path, ...]:
        """The folder of the library."""
        return (self.folder / LIBRARY,)

    @property
    def reads(self) -> tuple[Path, ...]:
        """The folder of the installation, and Node's own."""
        return (self.folder, self.node.parent)

    def command(
        self,
        file: Path,
        arguments: Sequence[str] = (),
        *,
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
    ) -> list[str]:
        """Return the command that runs a file's `main`, allowed to use these folders and no others."""
        return [*self._node(file, reads, writes), *self._limits(), "--run", str(file.resolve()), *arguments]

    def check_command(self, file: Path, *, reads: Sequence[Path] = (), writes: Sequence[Path] = ()) -> list[str]:
        """Return the command that elaborates a file, allowed to use these folders and no others."""
        return [*self._node(file, reads, writes), *self._limits(), "--json", str(file.resolve())]

    def environment(self) -> dict[str, str]:
        """Return the whole environment of such a command."""
        return {"LEAN_PATH": str(self.folder / LIBRARY), "PATH": os.defpath, "LANG": "C.UTF-8"}

    def modules_present(self, name: str) -> bool:
        """Tell whether the library has a module."""
        return module_present(self.library_path, name)

    def _node(self, file: Path, reads: Sequence[Path], writes: Sequence[Path]) -> list[str]:
        writable = {folder.resolve() for folder in writes}
        readable = {self.folder, file.resolve().parent, *(folder.resolve() for folder in reads), *writable}
        # the loader makes a mount of each, and one inside another would hide it
        outermost = sorted(folder for folder in readable if readable.isdisjoint(folder.parents))
        allowed = [f"--allow-fs-read={folder}" for folder in outermost]
        allowed += [f"--allow-fs-write={folder}" for folder in sorted(writable)]
        return [str(self.node), *_FLAGS, *allowed, str(self.folder / LOADER)]

    def _limits(self) -> list[str]:
        return [f"-j{self.threads}", f"-M{self.memory_mb}"]


def wasm_home(settings: LeanSettings) -> Path:
    """Return the folder that holds the WebAssembly Lean, present or not."""
    if settings.home is not None:
        return settings.home.expanduser().resolve()
    import platformdirs

    return Path(platformdirs.user_cache_dir("ekiden")).resolve() / "lean-wasm"


def lean_folder(home: Path, release: Release) -> Path:
    """Return where a release's Lean goes; another release or another loader goes elsewhere."""
    return home / f"lean-{release.lean_version}-{release.lean.version}-r{REVISION}"


def node_folder(home: Path, release: Release) -> Path:
    """Return where a release's Node goes, when one is installed."""
    return home / f"node-{release.node.version}"


def find_wasm(
    settings: LeanSettings, environ: Mapping[str, str] | None = None, release: Release | None = None
) -> WasmToolchain | None:
    """Return the installed WebAssembly Lean, or `None` when there is none.

    Raises:
        LeanError: If it is installed, and there is no Node to run it.
    """
    release = release or packaged_release()
    home = wasm_home(settings)
    folder = lean_folder(home, release)
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    node = find_node(settings, home, release, environ)
    if node is None:
        raise LeanError(
            f"The Lean for WebAssembly in {str(folder)!r} needs Node {NODE_MINIMUM} or newer, and there is none: "
            "ekiden lean install --wasm --node"
        )
    return WasmToolchain(folder, node, manifest, settings.threads, settings.memory_mb)


def find_node(
    settings: LeanSettings, home: Path, release: Release, environ: Mapping[str, str] | None = None
) -> Path | None:
    """Return the Node to use: the configured one, else the installed one, else one on the PATH that is new enough.

    Raises:
        LeanError: If the configured one is not there or too old.
    """
    path = (os.environ if environ is None else environ).get("PATH")
    if settings.node is not None:
        configured = shutil.which(Path(settings.node).expanduser(), path=path)
        if configured is None:
            raise LeanError(f"The setting lean.node is {settings.node!r}, and there is no such program.")
        if (major := node_major(configured)) < NODE_MINIMUM:
            raise LeanError(
                f"The setting lean.node is {settings.node!r}, which is Node {major or 'of no known version'}; "
                f"Lean for WebAssembly needs {NODE_MINIMUM} or newer."
            )
        return Path(configured).absolute()
    installed = installed_node(home, release)
    if installed is not None:
        return installed
    # not resolved: version managers put one program under many names
    found = shutil.which("node", path=path)
    return Path(found).absolute() if found is not None and node_major(found) >= NODE_MINIMUM else None


def installed_node(home: Path, release: Release) -> Path | None:
    """Return the Node that was installed with the WebAssembly Lean, if any."""
    folder = node_folder(home, release)
    return next((node for name in ("bin/node", "node.exe") if (node := folder / name).is_file()), None)


def node_major(node: str) -> int:
    """Return the first part of a Node's version, or 0 when it does not tell."""
    try:
        told = subprocess.run(
            [node, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.match(rb"v(\d+)\.", told)
    return int(found[1]) if found else 0
