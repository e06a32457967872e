"""Where settings are read from, and a glance at them that needs nothing but the standard library.

`ekiden serve` must answer within a fraction of a second, before pydantic is imported, and has to know by then whether
anybody has set anything that changes a server's listing.
"""

import os
from collections.abc import Mapping
from pathlib import Path

PROJECT_FILE = "ekiden.toml"
USER_FILE = "config.toml"
PREFIXES = ("EKIDEN_", "LEANMARATHON_")
"""Prefixes of environment variables, the stronger one first."""
SEPARATOR = "_"
"""Stands between section and key in an environment variable: `EKIDEN_CAYLEY_SEED` is `cayley.seed`."""


def user_file() -> Path:
    """Return where the user's own settings live, present or not."""
    import platformdirs

    return Path(platformdirs.user_config_dir("ekiden")) / USER_FILE


def project_file(directory: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the project's settings file: the one `EKIDEN_CONFIG` names, else the nearest `ekiden.toml` upwards."""
    for prefix in PREFIXES:
        if named := environ.get(f"{prefix}CONFIG"):
            return Path(named)
    start = (directory or Path.cwd()).resolve()
    return next((file for folder in (start, *start.parents) if (file := folder / PROJECT_FILE).is_file()), None)


def is_set(section: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a user file, a project file or the environment sets anything in a section.

    A file that cannot be read counts as setting it, so that whoever loads the settings in full reports the error.
    """
    variables = tuple(f"{prefix}{section.upper()}" for prefix in PREFIXES)
    if any(name == variable or name.startswith(variable + SEPARATOR) for name in environ for variable in variables):
        return True
    mine = user_file()
    present = (mine if mine.is_file() else None, project_file(environ=environ))
    for file in filter(None, present):
        import tomllib

        try:
            if section in tomllib.loads(file.read_text(encoding="utf-8")):
                return True
        except (OSError, ValueError):
            return True
    return False
