"""What a Solo run leaves: a record for each problem, in one file that is written whole after each of them."""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ekiden_config import JudgeName
from ekiden_judge import Problem, Verdict
from ekiden_orchestrator.judging import read_bounded
from ekiden_orchestrator.marathon.folder import write_whole
from ekiden_orchestrator.solo.errors import SoloError

MAX_RESULTS_BYTES = 1 << 30

EntryType = Literal["judge", "llm", "unknown", "error", "timeout", "solver_stderr"]
Ending = Literal[
    "solved",
    "solver ended",
    "solver failed",
    "solver killed",
    "out of budget",
    "no model",
    "out of time",
    "line too long",
]
"""How a problem ended. A solver that ended by itself was `out of budget`, or had `no model`, if the last model that it
asked for was refused to it for that; `line too long` is an error of the protocol."""


class LogEntry(BaseModel):
    """One thing that happened."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: EntryType
    at_seconds: float = Field(description="Since the solver was started.")
    seconds: float = Field(default=0.0, description="How long the call took.")
    request: dict[str, str] = Field(default_factory=dict[str, str], description="Values that are no texts, as JSON.")
    reply: dict[str, str] = Field(default_factory=dict[str, str])
    text: str = ""
    verdict: Verdict | None = Field(default=None, description="All that the judge said, where it judged.")


class SoloRecord(BaseModel):
    """How one problem went."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    solved: bool
    verdict: str | None = Field(description="The verdict of the accepted answer.")
    code: str | None = Field(description="Its code.")
    llm_calls: int
    judge_calls: int
    tokens: int = Field(description="Tokens of its calls, as the budget settled them.")
    llm_endings: dict[str, int] = Field(
        default_factory=dict[str, int], description="Its calls of models by how they ended."
    )
    llm_failures: dict[str, int] = Field(
        default_factory=dict[str, int], description="Why they were not answered, the most frequent reason first."
    )
    seconds: float
    ending: Ending
    reason: str = Field(default="", description="More about the end: an exit status, a signal, a model's error.")
    exit_code: int | None = Field(description="The solver's exit status, negative for the signal that ended it.")
    judge: JudgeName
    equation1: str
    equation2: str
    began_ms: int = Field(default=0, description="When the solver was started, in ms since 1970; 0: not known.")
    budget: str = Field(default="", description="Its budget in the ledger beside this file; empty: it had none.")
    settings_sha256: str = Field(default="", description="Hash of the solver and of all that it was run with.")
    log: tuple[LogEntry, ...]

    @property
    def outcome(self) -> str:
        """How it went, in words."""
        if self.solved:
            return "solved"
        ending = "protocol error: line too long" if self.ending == "line too long" else self.ending
        return f"{ending} ({self.reason})" if self.reason else ending

    def settles(self, problem: Problem, judge: JudgeName) -> bool:
        """Tell whether the problem need not be run again: this very question is solved by this very judge."""
        same_question = (self.equation1, self.equation2) == (problem.equation1, problem.equation2)
        return self.solved and self.judge == judge and same_question


class Results(BaseModel):
    """The results file: the solver, and its records by problem id."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    id: str = Field(default="", description="Tells the file from others of its name; empty in old ones.")
    solver: str
    results: dict[str, SoloRecord] = Field(default_factory=dict[str, SoloRecord])

    def keep(self, path: Path, problem: Problem, record: SoloRecord) -> None:
        """Add or replace a record, and write the file whole.

        Raises:
            SoloError: It cannot be written.
        """
        self.results[problem.id] = record
        text = json.dumps(self.model_dump(mode="json"), ensure_ascii=True, indent=1)
        try:
            write_whole(path, text.encode() + b"\n")
        except OSError as error:
            raise SoloError(f"Cannot write {str(path)!r}: {error.strerror or error}.") from error


def read_results(path: Path, solver: str) -> Results:
    """Read the results of an earlier run of a solver, or begin new ones.

    Raises:
        CommandError: The file holds something else, or another solver's results.
    """
    if not path.exists():
        return Results(id=secrets.token_hex(6), solver=solver)
    try:
        results = Results.model_validate_json(read_bounded(path, MAX_RESULTS_BYTES))
    except ValidationError as error:
        raise SoloError(f"{str(path)!r} holds no results of a Solo run; name another file with --output.") from error
    if results.solver != solver:
        raise SoloError(
            f"{str(path)!r} holds results of the solver {results.solver!r}; name another file with --output."
        )
    results.id = results.id or hashlib.sha256(results.model_dump_json().encode()).hexdigest()[:12]
    return results
