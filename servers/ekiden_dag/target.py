"""Which blueprint the server reads: what its environment says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_config.places import PREFIXES
from ekiden_dag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT_VARIABLE = "DAG_PROJECT_ROOT"
FILE_VARIABLE = "DAG_TARGET_FILE"
THREADS_VARIABLE = "DAG_TRACKER_LEAN_THREADS"
VARIABLES = (ROOT_VARIABLE, FILE_VARIABLE, THREADS_VARIABLE)
_FOR_THE_RUNNER = "That is for whoever runs this server; the same call fails until it is mended."
_MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Target:
    """The files of one blueprint.

    Attributes:
        root: The project's folder, resolved.
        files: The files in order, from the root on; each lies under it.
        source_folder: The folder, from the root on, that names of modules count from.
    """

    root: Path
    files: tuple[str, ...]
    source_folder: str = ""

    @classmethod
    def of_environment(cls, environ: Mapping[str, str], source_folder: str = "") -> Target:
        """Read the target from the environment.

        Raises:
            ConfigurationError: A variable is missing, or names what cannot be read.
        """
        root = Path(_value(environ, ROOT_VARIABLE) or Path.cwd()).resolve()
        if not root.is_dir():
            raise ConfigurationError(
                f"{ROOT_VARIABLE} names {root.name!r}, which is no folder. Set it to the project's folder. "
                + _FOR_THE_RUNNER
            )
        named = [name for part in re.split(r"[,\n]", _value(environ, FILE_VARIABLE)) if (name := part.strip())]
        if not named:
            raise ConfigurationError(
                f"{FILE_VARIABLE} is not set. Set it to the blueprint's file, from {ROOT_VARIABLE} on, such as "
                f"'LeanMarathon/Main.lean'; several are parted by commas. {_FOR_THE_RUNNER}"
            )
        return cls(root, tuple(dict.fromkeys(_placed(root, name) for name in named)), source_folder)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where the files are."""
        return tuple(self.root / file for file in self.files)


def lean_threads(environ: Mapping[str, str]) -> int | None:
    """Return how many threads the environment grants Lean, if it says so.

    Raises:
        ConfigurationError: It is no such number.
    """
    text = _value(environ, THREADS_VARIABLE)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_THREADS):
        raise ConfigurationError(
            f"{THREADS_VARIABLE} is {text!r}; set it to a number from 1 to {_MOST_THREADS}, or not at all. "
            + _FOR_THE_RUNNER
        )
    return int(text)


def _value(environ: Mapping[str, str], name: str) -> str:
    """Read a variable: what was set for this server before what was set for all of Ekiden."""
    names = (name, *(prefix + name for prefix in PREFIXES))
    return next((value for one in names if (value := environ.get(one, "").strip())), "")


def _placed(root: Path, name: str) -> str:
    place = (root / name).resolve()
    if not place.is_relative_to(root):
        raise ConfigurationError(
            f"{FILE_VARIABLE} names {name!r}, which does not lie in the project's folder; links are followed. Name a "
            f"file in it. {_FOR_THE_RUNNER}"
        )
    if not place.is_file():
        raise ConfigurationError(
            f"{FILE_VARIABLE} names {name!r}, and there is no such file in the project's folder. Write it, or name "
            f"another. {_FOR_THE_RUNNER}"
        )
    return place.relative_to(root).as_posix()
