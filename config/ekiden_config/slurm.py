"""Settings of jobs: what runs them, what they get on a cluster, and how politely it is asked."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

_MEMORY = r"[1-9][0-9]*[KMGT]?"
_TIME = r"([0-9]+-)?[0-9]+(:[0-9]{1,2}){0,2}"


def _as_text(value: object) -> object:
    """Take a bare number as its text: in TOML both are natural."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Text = Annotated[str, BeforeValidator(_as_text)]
_Seconds = Annotated[float, Field(gt=0, le=3600)]


class SlurmProgramSettings(BaseModel):
    """Where Slurm's commands are; an empty one is looked for on the PATH."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sbatch: str = Field(default="", description="Submits.")
    squeue: str = Field(default="", description="Tells where jobs stand.")
    sacct: str = Field(default="", description="Tells how jobs ended.")
    scontrol: str = Field(default="", description="Tells what the cluster is.")
    sinfo: str = Field(default="", description="Tells partitions and nodes.")
    scancel: str = Field(default="", description="Ends jobs.")


class SlurmSettings(BaseModel):
    """What runs jobs, and what they get where that is Slurm; the values are in `defaults.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    executor: Literal["auto", "slurm", "local"] = Field(
        description="What runs jobs: auto is Slurm where a cluster is configured, else processes of this machine."
    )
    jobs_dir: str = Field(min_length=1, description="Folder of jobs, relative to the working directory.")
    workspace: str = Field(
        description="Folder in which agents of the server `slurm` may have programs run; empty: where it is started."
    )
    slots: int = Field(ge=0, description="Processors that local jobs share; 0: those of the machine.")
    cpu_partition: str = Field(description="Partition of jobs without graphics processors; empty: Slurm's default.")
    cpu_account: str = Field(description="Account of jobs without graphics processors; empty: Slurm's default.")
    gpu_partition: str = Field(description="Partition of jobs with graphics processors; empty: Slurm's default.")
    gpu_account: str = Field(description="Account of jobs with graphics processors; empty: Slurm's default.")
    gpu_gres: str = Field(description="Generic resources of jobs with graphics processors.")
    mem_per_cpu: _Text = Field(
        description="Memory for each processor: mebibytes, or with a unit such as '4G'; empty: Slurm's default."
    )
    directives: tuple[str, ...] = Field(description="Further options of sbatch for every job, as '--mail-type=END'.")
    secrets: tuple[str, ...] = Field(
        description="Names or globs of variables that are taken along as secrets where they are set."
    )
    submissions_per_minute: int = Field(ge=1, le=6000, description="The most submissions in any minute.")
    poll_first_s: _Seconds = Field(description="Seconds between the first two looks at jobs that somebody waits for.")
    poll_longest_s: _Seconds = Field(description="The longest time between two looks, when nothing changes.")
    query_timeout_s: _Seconds = Field(description="Seconds for a question to Slurm.")
    submit_timeout_s: _Seconds = Field(
        description="Seconds for sbatch; well above Slurm's MessageTimeout, after which it gives up by itself."
    )
    programs: SlurmProgramSettings = Field(
        default_factory=SlurmProgramSettings, description="Where Slurm's commands are."
    )

    @field_validator("mem_per_cpu")
    @classmethod
    def _require_memory(cls, text: str) -> str:
        if text and not re.fullmatch(_MEMORY, text):
            raise ValueError("memory is whole mebibytes such as '3850', or a number with K, M, G or T such as '4G'")
        return text

    @field_validator("directives")
    @classmethod
    def _require_options(cls, directives: tuple[str, ...]) -> tuple[str, ...]:
        for directive in directives:
            if not directive.startswith("-") or "\n" in directive:
                raise ValueError(f"{directive!r} is no option of sbatch; one is '--mail-type=END'")
        return directives


class HpcJobSettings(BaseModel):
    """What one kind of job gets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    resource: Literal["cpu", "gpu"] = Field(description="Whether it gets graphics processors.")
    cpus: int = Field(ge=1, description="Processors.")
    time: _Text = Field(description="Time limit, as Slurm writes it: '48:00:00', '2-00:00:00', or minutes.")

    @field_validator("time")
    @classmethod
    def _require_time(cls, text: str) -> str:
        if not re.fullmatch(_TIME, text):
            raise ValueError("a time limit is minutes, 'hours:minutes:seconds' or 'days-hours:minutes:seconds'")
        return text


class HpcAgentSettings(HpcJobSettings):
    """What a job of one agent gets, and how many there are at once."""

    batch_size: int = Field(ge=1, description="The most agents that work at once.")


class HpcSettings(BaseModel):
    """What the kinds of jobs get; the values are in `defaults.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    auto: HpcJobSettings = Field(description="A run of all stages.")
    stage1_orchestrator: HpcJobSettings = Field(description="The loop that makes the blueprint.")
    stage2_orchestrator: HpcJobSettings = Field(description="The loop that proves it.")
    agent: HpcAgentSettings = Field(description="One agent.")
