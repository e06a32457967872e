"""Settings of Lean: which toolchain, where it is, and what one process of it may use."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class LeanSettings(BaseModel):
    """Where Lean comes from when the machine has several, and the limits of one Lean process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toolchain: Literal["auto", "native", "wasm"] = Field(
        description="auto takes a native Lean, and the WebAssembly one only where there is no native one."
    )
    lean: str | None = Field(default=None, min_length=1, description="The native `lean`: a path or a name on the PATH.")
    lake: str | None = Field(default=None, min_length=1, description="The native `lake`: a path or a name on the PATH.")
    project: Path | None = Field(
        default=None, description="Lake project, built, whose libraries a native Lean may import."
    )
    node: str | None = Field(
        default=None, min_length=1, description="Node for the WebAssembly Lean: a path or a name on the PATH."
    )
    home: Path | None = Field(
        default=None, description="Folder of the WebAssembly Lean, in place of one in the user's cache folder."
    )
    threads: int = Field(ge=1, le=256, description="Worker threads of one Lean process.")
    memory_mb: int = Field(ge=256, description="Memory of one Lean process and its children, in MiB.")
    cpu_s: float = Field(gt=0, le=86_400, description="CPU seconds for one answer.")
    wall_factor: float = Field(ge=1, le=100, description="Wall-clock limit as a multiple of the CPU seconds.")
