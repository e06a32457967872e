"""What the commands of `ekiden store` have in common: their options, and the way to the store."""

from __future__ import annotations

from pathlib import Path  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ekiden_config import StoreSettings
    from ekiden_store import Store

NOT_OK = 1
FILLING, LOOKING, MAKING, KEEPING = "Filling it", "Looking into it", "Making data", "Keeping it sound"
"""The panels of the help."""

Folder = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="The store.", show_default="the settings' store.folder")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write all to this file: .parquet, .csv or .jsonl, as its name ends.", dir_okay=False
    ),
]
Asked = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The names of all theorems that were to be proved, one a line.",
        show_default="those that were attempted",
        exists=True,
        dir_okay=False,
    ),
]
Run = Annotated[str, typer.Option(metavar="ID", help="Only of this run.", show_default="any")]


def settings_of(folder: Path | None) -> StoreSettings:
    """Return the settings, with another folder if one is given."""
    from ekiden_config import load_settings

    return load_settings({"store": {"folder": None if folder is None else str(folder)}}).store


def open_of(settings: StoreSettings, *, create: bool = False) -> Store:
    """Open the store of some settings.

    Raises:
        StoreError: It is not there, or cannot be used.
    """
    from ekiden_store.serving.views import open_store

    return open_store(settings, create=create)
