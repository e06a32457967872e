"""Saying which Lean would be used here, without using it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ekiden_config import LeanSettings
from ekiden_lean.errors import LeanError, LeanMissingError
from ekiden_lean.manifest import verify
from ekiden_lean.native import NativeToolchain
from ekiden_lean.toolchain import Toolchain, ToolchainKind, find_toolchain
from ekiden_lean.wasm import WasmToolchain


class LeanDescription(BaseModel):
    """The Lean that the settings choose on this machine, or why there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Literal["ok", "missing", "broken"] = Field(description="Whether it can be used.")
    kind: ToolchainKind | None = Field(default=None, description="Native, or for WebAssembly.")
    version: str | None = Field(default=None, description="The version that Lean tells.")
    program: str | None = Field(default=None, description="The native lean, or the Node that runs the other one.")
    library: tuple[str, ...] = Field(default=(), description="The folders in which modules are looked for.")
    has_proofs: bool = Field(default=False, description="Whether the axioms behind the library's theorems show.")
    has_mathlib: bool = Field(default=False, description="Whether Mathlib can be imported.")
    identity: str | None = Field(default=None, description="A hash of what verdicts depend on.")
    problem: str | None = Field(default=None, description="What is wrong, and what to do about it.")

    @property
    def summary(self) -> str:
        """One line for a person."""
        if self.state != "ok":
            return self.problem or ""
        what = f"native Lean {self.version}" if self.kind == "native" else f"Lean {self.version} for WebAssembly"
        library = "with" if self.has_mathlib else "without"
        proofs = "" if self.has_proofs else ", and without the proofs of its library's theorems"
        return f"{what}, {library} Mathlib{proofs}"


def describe(settings: LeanSettings, *, verified: bool = False) -> LeanDescription:
    """Describe the Lean that the settings choose; never an exception.

    Args:
        settings: The section `lean`.
        verified: Read the whole installation of a WebAssembly Lean, and compare it with what was installed.
    """
    try:
        toolchain = find_toolchain(settings)
        if verified and isinstance(toolchain, WasmToolchain):
            verify(toolchain.folder, toolchain.manifest)
    except LeanMissingError as error:
        return LeanDescription(state="missing", problem=str(error))
    except LeanError as error:
        return LeanDescription(state="broken", problem=str(error))
    return LeanDescription(
        state="ok",
        kind=toolchain.kind,
        version=toolchain.version,
        program=_program(toolchain),
        library=tuple(map(str, toolchain.library_path)),
        has_proofs=toolchain.has_proofs,
        has_mathlib=toolchain.modules_present("Mathlib"),
        identity=toolchain.identity,
    )


def _program(toolchain: Toolchain) -> str | None:
    match toolchain:
        case WasmToolchain():
            return str(toolchain.node)
        case NativeToolchain():
            return str(toolchain.lean)
        case _:
            return None
