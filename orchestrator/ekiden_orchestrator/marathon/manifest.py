"""The batch of problems: read once, kept in memory, shown to solvers without labels."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ekiden_judge import JudgeConfigurationError, Problem, read_problems
from ekiden_orchestrator.marathon.errors import MarathonError

PROBLEM_SETS = Path(__file__).parent.parent / "problem_sets"


@dataclass(frozen=True, slots=True)
class Manifest:
    """An immutable snapshot of the problems of a run.

    Attributes:
        name: The packaged set's name or the file's stem.
        origin: Where it was read, as a path.
        data: The records as JSON Lines, labels included.
        problems: The problems in order.
    """

    name: str
    origin: Path
    data: bytes
    problems: tuple[Problem, ...]

    @property
    def sha256(self) -> str:
        """The hash of the records."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids in order."""
        return tuple(problem.id for problem in self.problems)

    def for_solver(self, without: frozenset[str] = frozenset()) -> bytes:
        """Return the records that a solver sees: no labels, and not the problems named in `without`."""
        return json_lines(problem.unlabelled() for problem in self.problems if problem.id not in without)


def packaged_names() -> list[str]:
    """Return the names of the packaged problem sets."""
    return sorted(path.stem for path in PROBLEM_SETS.glob("*.jsonl"))


def read_manifest(manifest: str, *, limit_bytes: int) -> Manifest:
    """Read a problem file or a packaged set.

    Raises:
        MarathonError: The file is missing, too large, empty or not a valid manifest; the message names the line.
    """
    path = PROBLEM_SETS / f"{manifest}.jsonl" if manifest in packaged_names() else Path(manifest)
    if not path.exists():
        known = ", ".join(map(repr, packaged_names()))
        raise MarathonError(
            f"There is no problem file {manifest!r}; name a JSON Lines or JSON file, or a packaged set: {known}."
        )
    try:
        problems = read_problems(path, max_bytes=limit_bytes)
    except JudgeConfigurationError as error:
        raise MarathonError(f"{error}") from error
    if not problems:
        raise MarathonError(f"The problem file {manifest!r} holds no problems; write one JSON record a line.")
    records = (problem.model_dump(mode="json", exclude_unset=True) for problem in problems)
    return Manifest(path.stem, path.resolve(), json_lines(records), problems)


def json_lines(records: Iterable[Mapping[str, object]]) -> bytes:
    """Write records as JSON Lines."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)
