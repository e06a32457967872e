"""The one interface to Lean, and the choice between a native Lean and the WebAssembly one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from ekiden_lean.errors import LeanMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ekiden_config import LeanSettings

ToolchainKind = Literal["native", "wasm"]

HOW_TO_GET = (
    "Get Lean either way: natively through elan (then `lean` is on the PATH, or name it in the setting lean.lean), "
    "or for WebAssembly, about 200 MB: ekiden lean install --wasm"
)


class Toolchain(Protocol):
    """A Lean that can be run."""

    @property
    def kind(self) -> ToolchainKind:
        """Which of the two it is."""
        ...

    @property
    def version(self) -> str:
        """The version that Lean tells, such as '4.28.0'."""
        ...

    @property
    def identity(self) -> str:
        """A short hash of what a verdict depends on: Lean, its library, its loader."""
        ...

    @property
    def has_proofs(self) -> bool:
        """Whether the library holds the proofs of its theorems, so that all axioms show."""
        ...

    @property
    def library_path(self) -> tuple[Path, ...]:
        """The folders in which modules are looked for, first one first."""
        ...

    @property
    def reads(self) -> tuple[Path, ...]:
        """The folders that a process of this Lean must see, besides the system's own."""
        ...

    def command(
        self,
        file: Path,
        arguments: Sequence[str] = (),
        *,
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
    ) -> list[str]:
        """Return the command that runs a file's `main` (`lean --run FILE ARGUMENTS`).

        Args:
            file: A Lean file; its folder may be read.
            arguments: What `main` gets.
            reads: Further folders that it may read, where the toolchain can say no: the WebAssembly Lean can.
            writes: Folders that it may read and write, likewise.
        """
        ...

    def check_command(self, file: Path, *, reads: Sequence[Path] = (), writes: Sequence[Path] = ()) -> list[str]:
        """Return the command that elaborates a file and prints its messages as JSON lines."""
        ...

    def environment(self) -> dict[str, str]:
        """Return the whole environment that such a command needs; nothing of ours is in it."""
        ...

    def modules_present(self, name: str) -> bool:
        """Tell whether a module, such as 'Mathlib', can be imported."""
        ...


def find_toolchain(settings: LeanSettings, environ: Mapping[str, str] | None = None) -> Toolchain:
    """Return the Lean that the settings choose among those of this machine.

    A native Lean goes first; the WebAssembly one is taken where there is no native one, or where it is asked for.

    Raises:
        LeanMissingError: If there is none; the message names the ways to get one.
        LeanError: If the one chosen cannot be used.
    """
    from ekiden_lean.native import find_native
    from ekiden_lean.wasm import find_wasm

    found: Toolchain | None = None
    if settings.toolchain != "wasm":
        found = find_native(settings, environ)
    if found is None and settings.toolchain != "native":
        found = find_wasm(settings, environ)
    if found is None:
        wanted = {"auto": "Lean", "native": "native Lean", "wasm": "Lean for WebAssembly"}[settings.toolchain]
        raise LeanMissingError(f"There is no {wanted} on this machine. {HOW_TO_GET}")
    return found
