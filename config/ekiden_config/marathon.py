"""Settings of a marathon run."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class MarathonSettings(BaseModel):
    """What a marathon run takes when its flags do not say; the values are in `defaults.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    compression_ratio: float = Field(gt=0, description="Share of the reference time that a run gets.")
    seconds_per_problem: float = Field(gt=0, description="Reference seconds for one problem.")
    tokens_per_problem: int = Field(gt=0, description="Reference tokens of language models for one problem.")
    model: str = Field(description="The model that solvers are told to ask; empty: their own choice.")
    tokens_end_run: bool = Field(
        description="Whether a solver is ended when its tokens are used up, as the SAIR runner does; otherwise it goes "
        "on without models."
    )
    drain_s: float = Field(
        ge=0, le=3600, description="Seconds that calls in flight get to finish when the solver has ended."
    )
    allow_readable_keys: bool = Field(
        description="Whether a solver may run where it could read the keys of the models, for want of isolation."
    )
    grace_s: float = Field(ge=0, le=60, description="Seconds between the request to end and the kill.")
    poll_s: float = Field(gt=0, le=10, description="Seconds between two looks at the answers file and the clock.")
    heartbeat_s: float = Field(gt=0, le=60, description="Seconds between two records of the time used.")
    output_limit_bytes: int = Field(gt=0, description="Largest answers file.")
    manifest_limit_bytes: int = Field(gt=0, description="Largest manifest.")
    solver_limit_bytes: int = Field(gt=0, description="Largest solver.py.")
    file_limit_bytes: int = Field(gt=0, description="Largest single file a solver may write.")
    process_limit: int = Field(gt=0, description="Most processes of a solver, where they can be counted.")
    isolation: Literal["auto", "namespaces", "subreaper", "group"] = Field(
        description="Strongest isolation to try: auto is namespaces with a file system of the solver's own."
    )
    runs_dir: str = Field(min_length=1, description="Folder for run folders, relative to the working directory.")
