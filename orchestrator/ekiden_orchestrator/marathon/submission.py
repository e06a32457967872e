"""Solver folders: a built-in one by name, or anybody's by path; exactly one file, `solver.py`."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ekiden_orchestrator.marathon.errors import MarathonError

SOLVER_FILE = "solver.py"
SHARING_SOLVER = "harvest"
ASKING_SOLVERS = frozenset({"triage", "fewshot"})
BUILT_IN_SOLVERS = Path(__file__).parent.parent / "solvers"


@dataclass(frozen=True, slots=True)
class Submission:
    """One solver, read once: later changes to its folder do not reach the run.

    Attributes:
        name: Name of the built-in solver or of the folder.
        source: The text of `solver.py`.
        built_in: Whether Ekiden brings it; a built-in solver is trusted with the kernel caches.
    """

    name: str
    source: bytes
    built_in: bool

    @property
    def takes_share(self) -> bool:
        """Whether it searches for a share of the time that the runner tells it, and not for all of it."""
        return self.built_in and self.name == SHARING_SOLVER

    @property
    def asks_models(self) -> bool:
        """Whether it is a built-in solver that asks language models in a marathon."""
        return self.built_in and self.name in ASKING_SOLVERS

    @property
    def sha256(self) -> str:
        """The hash of the source."""
        return hashlib.sha256(self.source).hexdigest()


def built_in_names() -> list[str]:
    """Return the names of the built-in solvers."""
    return sorted(path.parent.name for path in BUILT_IN_SOLVERS.glob(f"*/{SOLVER_FILE}"))


def read_submission(solver: str, *, limit_bytes: int) -> Submission:
    """Find and read a solver.

    Args:
        solver: A built-in name without any slash, or the path of a folder.
        limit_bytes: Largest `solver.py`.

    Raises:
        MarathonError: There is no such solver, its folder holds anything but `solver.py`, or that is no ordinary
            file or too large.
    """
    if solver in built_in_names():
        return Submission(solver, _read(BUILT_IN_SOLVERS / solver / SOLVER_FILE, limit_bytes), built_in=True)
    folder = Path(solver)
    if not folder.is_dir():
        known = ", ".join(map(repr, built_in_names()))
        raise MarathonError(
            f"There is no solver {solver!r}; name a folder that holds {SOLVER_FILE}, or one of {known}."
        )
    names = sorted(entry.name for entry in folder.iterdir())
    if SOLVER_FILE not in names:
        raise MarathonError(f"The solver folder {solver!r} holds no {SOLVER_FILE}.")
    if names != [SOLVER_FILE]:
        others = ", ".join(repr(name) for name in names if name != SOLVER_FILE)
        raise MarathonError(f"The solver folder {solver!r} must hold {SOLVER_FILE} and nothing else; remove {others}.")
    return Submission(folder.resolve().name, _read(folder / SOLVER_FILE, limit_bytes), built_in=False)


def _read(path: Path, limit_bytes: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            ordinary = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(limit_bytes + 1) if ordinary else b""
    except OSError as error:
        if path.is_symlink():
            raise MarathonError(f"{str(path)!r} is a link; a submission holds {SOLVER_FILE} itself.") from error
        raise MarathonError(f"Cannot read {str(path)!r}: {error.strerror}.") from error
    if not ordinary:
        raise MarathonError(f"{str(path)!r} is no ordinary file.")
    if len(data) > limit_bytes:
        raise MarathonError(f"{str(path)!r} exceeds the limit of {limit_bytes:,} bytes for {SOLVER_FILE}.")
    return data
