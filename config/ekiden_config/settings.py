"""The settings as one object, and the order in which they are read."""

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import cast, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from ekiden_config.blueprint import BlueprintSettings
from ekiden_config.budget import BudgetSettings
from ekiden_config.cayley import CayleySettings
from ekiden_config.errors import ConfigError
from ekiden_config.judge import JudgeSettings
from ekiden_config.lean import LeanSettings
from ekiden_config.marathon import MarathonSettings
from ekiden_config.patch import PatchSettings
from ekiden_config.places import PREFIXES, SEPARATOR, project_file, user_file
from ekiden_config.servers import HttpSettings, ServerSettings
from ekiden_config.slurm import HpcSettings, SlurmSettings
from ekiden_config.store import StoreSettings

Tree = dict[str, object]

_RESEMBLES = 0.7


class Settings(BaseSettings):
    """Everything that can be configured; `load_settings` makes one."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    blueprint: BlueprintSettings
    budget: BudgetSettings
    cayley: CayleySettings
    hpc: HpcSettings
    http: HttpSettings
    judge: JudgeSettings
    lean: LeanSettings
    marathon: MarathonSettings
    patch: PatchSettings
    servers: dict[str, ServerSettings] = Field(description="Server name to what it offers.")
    slurm: SlurmSettings
    store: StoreSettings

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is passed in and nothing else: `load_settings` reads the sources, so that errors can name them."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The values of one source, and how a message calls it."""

    source: str
    values: Tree
    prefix: str = ""

    def sets(self, path: Sequence[str]) -> bool:
        """Tell whether this source sets a key."""
        value: object = self.values
        for part in path:
            if not isinstance(value, Mapping) or part not in value:
                return False
            value = cast("Mapping[str, object]", value)[part]
        return True

    def name_of(self, path: Sequence[str]) -> str:
        """Return how this source spells a key."""
        if not self.prefix:
            return ".".join(path)
        return ".".join((self.prefix + SEPARATOR.join(path[:2]).upper(), *path[2:]))


def load_settings(
    overrides: Mapping[str, Mapping[str, object]] | None = None,
    *,
    user: Path | None = None,
    project: Path | None = None,
) -> Settings:
    """Read the settings: packaged defaults, then the user's file, the project's file, the environment, the arguments.

    Args:
        overrides: Explicit arguments by section and key, strongest of all; `None` values are skipped.
        user: The user's file, in place of the usual one.
        project: The project's file, in place of the nearest `ekiden.toml`.

    Raises:
        ConfigError: If a source cannot be read, or a key or a value is wrong.
    """
    _refuse_misspelt_sections(os.environ)
    arguments: Tree = {
        section: {key: value for key, value in values.items() if value is not None}
        for section, values in (overrides or {}).items()
    }
    layers = [
        _Layer("the packaged defaults", _defaults()),
        _file_layer(user or user_file(), required=user is not None),
    ]
    if (file := project or project_file()) is not None:
        layers.append(_file_layer(file, required=True))
    layers += [_environment_layer(prefix) for prefix in reversed(PREFIXES)]
    layers.append(_Layer("the arguments", arguments))
    merged: Tree = {}
    for layer in layers:
        merged = _merged(merged, layer.values)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_explanation(error, layers)) from error


def default_settings() -> Settings:
    """Return the packaged defaults, whatever files and environment say."""
    return Settings.model_validate(_defaults())


def _defaults() -> Tree:
    return tomllib.loads((files("ekiden_config") / "defaults.toml").read_text("utf-8"))


def _file_layer(file: Path, *, required: bool) -> _Layer:
    if not required and not file.is_file():
        return _Layer(repr(str(file)), {})
    try:
        return _Layer(repr(str(file)), tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"Cannot read the settings file {str(file)!r}: {reason}.") from error
    except ValueError as error:  # malformed TOML or not UTF-8
        raise ConfigError(f"The settings file {str(file)!r} is not TOML: {error}.") from error


def _environment_layer(prefix: str) -> _Layer:
    source = EnvSettingsSource(
        Settings, env_prefix=prefix, env_nested_delimiter=SEPARATOR, env_nested_max_split=1, env_ignore_empty=True
    )
    try:
        return _Layer("the environment", source(), prefix)
    except SettingsError as error:
        raise ConfigError(f"A variable {prefix}* of the environment does not hold JSON: {error}.") from error


def _refuse_misspelt_sections(environ: Mapping[str, str]) -> None:
    """Refuse a variable that is meant as a setting and that nobody reads, since its section is misspelt.

    Other things may begin with our prefix too, so a variable is only meant as one if its first word resembles a
    section, or if two separators part it. The fallback prefix is not ours alone, and not looked at.
    """
    prefix, sections = PREFIXES[0], list(Settings.model_fields)
    for name in (name for name, value in environ.items() if value and name.upper().startswith(prefix)):
        section, _, key = name[len(prefix) :].partition(SEPARATOR)
        if section.lower() in sections:
            continue
        near = difflib.get_close_matches(section.lower(), sections, n=1, cutoff=_RESEMBLES)
        if near:
            meant = prefix + SEPARATOR.join(filter(None, (near[0].upper(), key.lstrip(SEPARATOR))))
            raise ConfigError(f"Unknown setting {name!r} in the environment: did you mean {meant!r}?")
        if key.startswith(SEPARATOR):
            listed = ", ".join(repr(prefix + known.upper() + SEPARATOR) for known in sections)
            raise ConfigError(f"Unknown setting {name!r} in the environment: settings begin with {listed}.")


def _merged(below: Tree, above: Mapping[str, object]) -> Tree:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        both_tables = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = _merged(cast("Tree", old), cast("Tree", value)) if both_tables else value
    return result


def _explanation(refusal: ValidationError, layers: Sequence[_Layer]) -> str:
    """Turn the first flaw into a sentence naming source, key and value."""
    # a misspelt key is the reason why another one is missing
    error = min(refusal.errors(), key=lambda error: error["type"] != "extra_forbidden")
    path = [str(part) for part in error["loc"]]
    present = path[:-1] if error["type"] == "missing" else path
    layer = next((layer for layer in reversed(layers) if layer.sets(present)), layers[0])
    name = layer.name_of(path)
    if error["type"] == "missing":
        return f"Setting {name!r} is missing in {layer.source}: the section {layer.name_of(present)!r} needs it."
    if error["type"] == "extra_forbidden":
        known = _known_keys(path)
        near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
        listed = ", ".join(repr(layer.name_of([*path[:-1], key])) for key in near or known)
        return f"Unknown setting {name!r} in {layer.source}: {'did you mean' if near else 'there is'} {listed}" + (
            "?" if near else "."
        )
    # a key put where the name of its variable belongs, or into an address, is one too
    secret = path[-1] in {"token", "key_env"} or (path[-1] == "base_url" and "@" in str(error["input"]))
    value = "a secret" if secret else repr(error["input"])
    # pydantic would name the class of ours that the section is read into
    told = "Input should be a section" if error["type"] in {"model_type", "dict_type"} else error["msg"]
    told = told.removeprefix("Value error, ")
    return f"Setting {name!r} in {layer.source} is {value}: {told}."


def _known_keys(path: Sequence[str]) -> list[str]:
    """Return the keys that may stand where the last part of a path stands."""
    model: type[BaseModel] = Settings
    above = list(path[:-1])
    while above:
        section = model.model_fields[above.pop(0)].annotation
        if get_origin(section) is dict:  # its keys are names that users choose
            above = above[1:]
            section = get_args(section)[1]
        if not (isinstance(section, type) and issubclass(section, BaseModel)):
            break
        model = section
    return list(model.model_fields)
