"""Settings: what can be configured, from where it is read, and in which order.

Packaged `defaults.toml`, then the user's file, then the project's `ekiden.toml`, then the environment
(`EKIDEN_SECTION_KEY`, with `LEANMARATHON_SECTION_KEY` as a fallback), then explicit arguments.

The names are imported when first used: `ekiden serve` looks at `ekiden_config.places` on its way to its first answer
and must not wait for pydantic there.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_config.blueprint import BlueprintSettings
    from ekiden_config.budget import BudgetDialect, BudgetSettings, PriceSettings, UpstreamSettings
    from ekiden_config.cayley import CayleySettings
    from ekiden_config.errors import ConfigError
    from ekiden_config.judge import DefaultPolicy, JudgeName, JudgeSettings
    from ekiden_config.lean import LeanSettings
    from ekiden_config.marathon import MarathonSettings
    from ekiden_config.patch import PatchFileSettings, PatchSettings
    from ekiden_config.servers import HttpSettings, ServerSettings
    from ekiden_config.settings import Settings, default_settings, load_settings
    from ekiden_config.slurm import HpcAgentSettings, HpcJobSettings, HpcSettings, SlurmProgramSettings, SlurmSettings
    from ekiden_config.store import EncoderSettings, StoreSettings

_HOMES = {
    "BudgetDialect": "budget",
    "BlueprintSettings": "blueprint",
    "BudgetSettings": "budget",
    "CayleySettings": "cayley",
    "ConfigError": "errors",
    "DefaultPolicy": "judge",
    "EncoderSettings": "store",
    "HpcAgentSettings": "slurm",
    "HpcJobSettings": "slurm",
    "HpcSettings": "slurm",
    "HttpSettings": "servers",
    "JudgeName": "judge",
    "JudgeSettings": "judge",
    "LeanSettings": "lean",
    "MarathonSettings": "marathon",
    "PatchFileSettings": "patch",
    "PatchSettings": "patch",
    "PriceSettings": "budget",
    "ServerSettings": "servers",
    "Settings": "settings",
    "SlurmProgramSettings": "slurm",
    "SlurmSettings": "slurm",
    "StoreSettings": "store",
    "UpstreamSettings": "budget",
    "default_settings": "settings",
    "load_settings": "settings",
}

__all__ = [
    "BlueprintSettings",
    "BudgetDialect",
    "BudgetSettings",
    "CayleySettings",
    "ConfigError",
    "DefaultPolicy",
    "EncoderSettings",
    "HpcAgentSettings",
    "HpcJobSettings",
    "HpcSettings",
    "HttpSettings",
    "JudgeName",
    "JudgeSettings",
    "LeanSettings",
    "MarathonSettings",
    "PatchFileSettings",
    "PatchSettings",
    "PriceSettings",
    "ServerSettings",
    "Settings",
    "SlurmProgramSettings",
    "SlurmSettings",
    "StoreSettings",
    "UpstreamSettings",
    "default_settings",
    "load_settings",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
