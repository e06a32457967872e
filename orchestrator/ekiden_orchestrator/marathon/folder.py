"""Where things are in a run folder."""

from dataclasses import dataclass
from pathlib import Path

from ekiden_files import write_whole
from ekiden_orchestrator.marathon.manifest import Manifest
from ekiden_orchestrator.marathon.submission import SOLVER_FILE, Submission

_OLD_LEDGER = "budget.sqlite"
"""The ledger's name in the folders of runs that began before it was that of every other ledger."""
HELPER = Path(__file__).parent / "contract" / "marathon_llm.py"


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """The part of the file system that one solver process owns; all paths are absolute.

    `guard` and `sealed` lie beside it: a file that the warden keeps locked as long as anything of the attempt lives,
    and the answers that count, which nobody can change after the fact.
    """

    root: Path

    @property
    def answers(self) -> Path:
        """The answers file that the solver appends to."""
        return self.root / "answers.jsonl"

    @property
    def scratch(self) -> Path:
        """The scratch folder; holds the manifest copy."""
        return self.root / "scratch"

    @property
    def manifest(self) -> Path:
        """The manifest copy without labels."""
        return self.scratch / "manifest.jsonl"

    @property
    def submission(self) -> Path:
        """The private copy of the solver folder; working directory."""
        return self.root / "submission"

    @property
    def home(self) -> Path:
        """The solver's home folder."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """The solver's folder for temporary files."""
        return self.root / "tmp"

    @property
    def library(self) -> Path:
        """The folder of `marathon_llm.py`."""
        return self.root / "lib"

    @property
    def guard(self) -> Path:
        """The file that stays locked while anything of this attempt lives."""
        return self.root.with_suffix(".guard")

    @property
    def sealed(self) -> Path:
        """The answers as they were when everything of this attempt had ended."""
        return self.root.with_suffix(".answers.jsonl")

    def create(self, submission: Submission, manifest: bytes) -> None:
        """Make the folder with everything but the answers file."""
        for folder in (self.scratch, self.submission, self.home, self.temporary, self.library):
            folder.mkdir(parents=True)
        self.manifest.write_bytes(manifest)
        (self.submission / SOLVER_FILE).write_bytes(submission.source)
        (self.library / HELPER.name).write_bytes(HELPER.read_bytes())


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run: its event log, its snapshot of manifest and solver, its attempts and results."""

    root: Path

    @property
    def events(self) -> Path:
        """The event log; its fold is the state of the run."""
        return self.root / "events.jsonl"

    @property
    def answers(self) -> Path:
        """All answers of all attempts, composed when the solver has ended."""
        return self.root / "answers.jsonl"

    @property
    def summary(self) -> Path:
        """The result."""
        return self.root / "summary.json"

    @property
    def log(self) -> Path:
        """The log for people."""
        return self.root / "run.log"

    @property
    def ledger(self) -> Path:
        """The ledger of what language models cost; it holds no token and no key."""
        from ekiden_budget.holder import LEDGER_FILE

        old = self.root / _OLD_LEDGER
        return old if old.is_file() else self.root / LEDGER_FILE

    @property
    def telemetry(self) -> Path:
        """The settled tokens as a number, for whoever watches; nothing reads it here."""
        return self.root / "_proxy_state" / "tokens_used.txt"

    @property
    def lock(self) -> Path:
        """Held by the one runner that may work here."""
        return self.root / "lock"

    @property
    def manifest(self) -> Path:
        """The snapshot of the manifest, labels included; hidden from solvers where that is possible."""
        return self.root / "manifest.jsonl"

    @property
    def solver(self) -> Path:
        """The snapshot of the solver folder."""
        return self.root / "solver"

    def attempt(self, number: int) -> AttemptFolder:
        """Return the folder of an attempt, 1-based."""
        return AttemptFolder(self.root / "attempts" / str(number))

    def keep_inputs(self, submission: Submission, manifest: Manifest) -> None:
        """Store what a resumed run needs."""
        self.solver.mkdir(exist_ok=True)
        write_whole(self.solver / SOLVER_FILE, submission.source, sync=True)
        write_whole(self.manifest, manifest.data, sync=True)
