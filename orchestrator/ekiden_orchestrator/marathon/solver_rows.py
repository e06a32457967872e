"""What a solver tells of its own work: rows that it leaves in its scratch folder, for the trajectory store.

A solver is not trusted: what its rows belong to is said by the run, and that a proof is one, by the judge alone.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ekiden_orchestrator.marathon.answers import read_sealed

if TYPE_CHECKING:
    from ekiden_store import Step

FILE = "trajectory.jsonl"
"""What the file is called, in the folder of `JUDGE_MARATHON_SCRATCH_DIR`."""
MOST_BYTES = 64 << 20
MOST_ROWS = 100_000
_KINDS = ("search_node", "tactic", "tool_call", "model_call", "message")
_SAID_BY_THE_RUN = (
    "row_id",
    "run_id",
    "attempt_id",
    "is_proof_complete",
    "verdict",
    "origin",
    "settings_sha256",
    "source",
    "producer",
)


def read_solver_rows(scratch: Path, blank: "Step", *, attempt: int, problems: Collection[str]) -> Iterator["Step"]:
    """Yield the rows that a solver has left; a line that is none is passed over.

    Args:
        scratch: Its scratch folder; nothing of it runs any more.
        blank: What a row of the run says.
        attempt: Which process of the run it was.
        problems: The problems: a row is about one of them, by its `theorem_name`.
    """
    if scratch.is_symlink():
        return
    lines = read_sealed(scratch / FILE, MOST_BYTES).data.split(b"\n")
    for number, line in enumerate(lines[:MOST_ROWS]):
        step = _step(line, blank, problems)
        if step is not None:
            yield replace(
                step,
                attempt_id=f"{blank.run_id}/{step.theorem_name}",
                row_id=f"{blank.run_id}:solver:{attempt}:{number}",
            )


def _step(line: bytes, blank: "Step", problems: Collection[str]) -> "Step | None":
    from ekiden_store import InvalidStepError
    from ekiden_store.steps import step_line

    try:
        value: object = json.loads(line)
        row = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        own = {name: told for name, told in row.items() if name not in _SAID_BY_THE_RUN}
        if own.get("theorem_name") not in problems or own.get("kind") not in _KINDS:
            return None
        step = replace(blank, **own)
        step_line(step, row_id="any", now_ms=0, producer="")
    except (ValueError, TypeError, RecursionError, InvalidStepError):
        return None
    return step
