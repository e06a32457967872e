"""What leaves the store: data sets, and attempts for other tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from pathlib import Path

    from ekiden_config import StoreSettings
    from ekiden_store.data_sets.exports_manifest import Manifest


class Exported(NamedTuple):
    """An attempt that was written.

    Attributes:
        steps: How many steps it has.
        redacted: How many secrets were struck out, by kind.
    """

    steps: int
    redacted: dict[str, int]


def export_data_set(settings: StoreSettings, mix: Path, out: Path) -> Manifest:
    """Make a data set as a new folder.

    Raises:
        StoreError: The mix is none, there is something at the place, or the store cannot be read.
    """
    from ekiden_store.data_sets.exports import export_mix
    from ekiden_store.data_sets.mixes import read_mix
    from ekiden_store.serving.views import open_store, redactor_of

    parsed = read_mix(mix)
    if all(source.kind == "file" for source in parsed.sources):
        return export_mix(parsed, out, redactor=redactor_of(settings))
    with open_store(settings, create=False).snapshot() as snapshot:
        return export_mix(parsed, out, snapshot=snapshot, redactor=redactor_of(settings))


def export_attempt_to(settings: StoreSettings, attempt: str, run: str, out: Path) -> Exported:
    """Write an attempt, with those below it, as a trajectory of ATIF.

    Raises:
        CommandError: The file cannot be written.
        StoreError: There is no such attempt, or the store cannot be read.
    """
    from ekiden_files import write_whole
    from ekiden_store.serving.views import attempt_steps, open_store, redactor_of
    from ekiden_store.sessions.atif import export_attempt

    redactor = redactor_of(settings)
    with open_store(settings, create=False).snapshot() as snapshot:
        steps = attempt_steps(snapshot, attempt, run_id=run or None)
    trajectory = export_attempt([redactor.redact_step(step) for step in steps])
    try:
        write_whole(out, json.dumps(trajectory, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise CommandError(f"{str(out)!r} cannot be written: {error.strerror}.") from error
    return Exported(len(steps), dict(redactor.found))
