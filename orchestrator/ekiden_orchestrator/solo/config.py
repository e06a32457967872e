"""The configuration of a Solo run, in the shape of the SAIR judge's `config.json`."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ekiden_config import BudgetSettings, Settings
from ekiden_orchestrator.judging import read_text
from ekiden_orchestrator.marathon.served_model import CONTEST_MODEL
from ekiden_orchestrator.solo.errors import SoloError

MAX_CONFIG_BYTES = 1 << 20
_UPSTREAM = "solo"
_KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SolverSection(_Section):
    """What one problem's process may use."""

    timeout_seconds: float = Field(default=3600, gt=0, le=604_800, description="Wall time, calls included.")


class SandboxSection(_Section):
    """Read for the sake of existing files: Ekiden keeps every solver by its warden. Only `pids_limit` is looked at."""

    mode: Literal["none", "docker"] = "none"
    image: str = ""
    memory_mb: int | None = None
    cpus: float | None = None
    pids_limit: int | None = Field(default=None, gt=0, description="Most processes and threads.")
    tmpfs_size_mb: int | None = None


class JudgeSection(_Section):
    """What answers may use, and how large a solver may be."""

    lean_timeout_seconds: float = Field(default=300, gt=0, description="Processor seconds of Lean for one answer.")
    max_code_length: int = Field(default=100_000, ge=1, description="Bytes of code, for either verdict.")
    max_false_cert_bytes: int = Field(default=20_000, ge=1, description="Bytes of code, for the verdict 'false'.")
    max_solver_bytes: int = Field(default=500_000, ge=1, description="Bytes of solver.py.")


class ModelSection(_Section):
    """Which model answers `llm` calls, and how it is asked."""

    model: str = Field(default=CONTEST_MODEL, min_length=1)
    provider: str = "deepinfra/bf16"
    max_output_tokens: int = Field(default=65_536, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    reasoning_effort: str = "medium"
    use_seed: bool = True
    seed: int = 0
    base_url: str = Field(default="", description="Address in place of those that settings and environment name.")
    api_key_env: str = Field(default="", description="Variable that holds the key for `base_url`.")
    http_timeout_seconds: float = Field(default=300, gt=0)


class SoloConfig(_Section):
    """A Solo run's configuration; every key has the SAIR judge's default."""

    solver: SolverSection = SolverSection()
    sandbox: SandboxSection = SandboxSection()
    judge: JudgeSection = JudgeSection()
    llm: ModelSection = ModelSection()


def read_config(path: Path | None) -> SoloConfig:
    """Read a configuration, in JSON or TOML; None gives the defaults.

    Raises:
        CommandError: The file cannot be read, or a key or value is wrong; the message names it.
    """
    if path is None:
        return SoloConfig()
    text = read_text(path, MAX_CONFIG_BYTES)
    try:
        if path.suffix == ".toml":
            return SoloConfig.model_validate(tomllib.loads(text))
        return SoloConfig.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"])) or "the file"
        raise SoloError(f"The configuration {str(path)!r} is refused: {key}: {fault['msg']}.") from error
    except ValueError as error:
        raise SoloError(f"The configuration {str(path)!r} is not TOML: {error}.") from error


def with_model(config: SoloConfig, named: str | None, settings: Settings) -> SoloConfig:
    """Return the configuration with the model to ask: the one named, the configuration's own, that of the settings."""
    model = named or ("" if "model" in config.llm.model_fields_set else settings.marathon.model)
    if not model:
        return config
    return config.model_copy(update={"llm": config.llm.model_copy(update={"model": model})})


def judged_by(settings: Settings, judge: JudgeSection) -> Settings:
    """Return the settings with the sizes and the time that the configuration grants to answers."""
    sizes = {"max_code_bytes": judge.max_code_length, "max_false_certificate_bytes": judge.max_false_cert_bytes}
    changed = {
        "judge": settings.judge.model_copy(update=sizes),
        "lean": settings.lean.model_copy(update={"cpu_s": judge.lean_timeout_seconds}),
    }
    return settings.model_copy(update=changed)


def with_route(budget: BudgetSettings, llm: ModelSection, environ: Mapping[str, str] = os.environ) -> BudgetSettings:
    """Return the budget's settings with the configuration's own address as the first upstream, if it names one.

    Raises:
        SoloError: The address is none, or a key is named without an address.
    """
    if not llm.base_url:
        if llm.api_key_env:
            raise SoloError("The configuration names llm.api_key_env without llm.base_url: add the address it is for.")
        return budget
    if urlsplit(llm.base_url).scheme not in ("http", "https"):
        raise SoloError(f"llm.base_url is {llm.base_url!r}; an address starts with http:// or https://.")
    key_env = llm.api_key_env or next((name for name in _KEYS if environ.get(name)), "")
    values = budget.model_dump(exclude_unset=True)
    others = cast("dict[str, object]", values.get("upstreams") or {})
    own = {_UPSTREAM: {"base_url": llm.base_url, "key_env": key_env}}
    try:
        return BudgetSettings.model_validate({**values, "upstreams": own | others})
    except ValidationError as error:
        raise SoloError(f"llm.base_url or llm.api_key_env cannot be used: {error.errors()[0]['msg']}.") from error
