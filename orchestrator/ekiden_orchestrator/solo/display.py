"""What a Solo run shows: a line a problem, and a table at the end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ekiden_judge import Problem
from ekiden_orchestrator.marathon.spending import calls_in_words
from ekiden_orchestrator.marathon.submission import Submission
from ekiden_orchestrator.solo.results import Results, SoloRecord

MOST_ROWS = 60
_OTHER_COLUMNS = 56
"""What a table's columns need at least beside that of the problems."""


@dataclass(frozen=True, slots=True)
class Undertaking:
    """What a run is about to do.

    Attributes:
        submission: The solver.
        problems: What the problems are called.
        chosen: How many are asked for.
        still_open: How many of them are not solved yet.
        judge: Who judges.
        asks: Whether any model is asked.
        tokens: Tokens of the run; below 0 there is no cap.
        models: Which model is asked and where, or why none is.
        output: The results file.
    """

    submission: Submission
    problems: str
    chosen: int
    still_open: int
    judge: str
    asks: bool
    tokens: int
    models: str
    output: Path


class Display:
    """Shows one run on a console; a call is told only if asked for."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._number = 0
        self._total = 0

    def heading(self, undertaking: Undertaking) -> None:
        """Say what is about to run."""
        self._total = undertaking.still_open
        before = undertaking.chosen - undertaking.still_open
        known = f", {before} of them solved before" if before else ""
        budget = "no cap on tokens" if undertaking.tokens < 0 else f"{undertaking.tokens:,} tokens"
        submission = undertaking.submission
        self._line("Solo Run")
        self._line(f"  Solver:   {submission.name}{' (built in)' if submission.built_in else ''}")
        self._line(f"  Problems: {undertaking.problems} ({undertaking.chosen}{known})")
        self._line(f"  Judge:    {undertaking.judge}")
        self._line(f"  Models:   {undertaking.models}" + (f"; {budget}" if undertaking.asks else ""))
        self._line(f"  Results:  {undertaking.output}")

    def note(self, text: str) -> None:
        """Say that something was unusual."""
        self._line(f"  Note: {text}")

    def begin(self, problem: Problem) -> None:
        """Say which problem comes next, where somebody waits for it."""
        self._number += 1
        if self._verbose:
            self._line(f"  [{self._number}/{self._total}] {problem.id} ...")

    def call(self, problem: Problem, call: str) -> None:
        """Say that a call begins."""
        if self._verbose:
            self._line(f"    {problem.id}: {call}_start")

    def done(self, problem: Problem, record: SoloRecord) -> None:
        """Say how a problem went."""
        outcome = f"solved ({record.verdict})" if record.solved else record.outcome
        calls = f"{record.judge_calls} judge, {record.llm_calls} llm, {record.tokens:,} tokens"
        self._line(f"  [{self._number}/{self._total}] {problem.id}  {outcome}  {record.seconds:.1f} s  {calls}")

    def table(self, problems: Sequence[Problem], results: Results, output: Path) -> None:
        """Show the results; of many problems only those that are not solved."""
        records = {problem.id: results.results[problem.id] for problem in problems if problem.id in results.results}
        solved = sum(record.solved for record in records.values())
        shown = records
        if len(records) > MOST_ROWS:
            shown = {name: record for name, record in records.items() if not record.solved}
        rows = list(shown.items())[:MOST_ROWS]
        table = Table()
        fits = max((cell_len(name) for name, _ in rows), default=0) <= self._console.width - _OTHER_COLUMNS
        # what is cut off two long ids may be all that tells them apart
        table.add_column("Problem", overflow="fold", no_wrap=fits)
        for heading in ("Result", "Verdict"):
            table.add_column(heading, overflow="fold")
        for heading in ("Judge", "LLM", "Tokens", "Seconds"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, record in rows:
            result = Text(record.ending, "green" if record.solved else "yellow")
            figures = (f"{record.judge_calls}", f"{record.llm_calls}", f"{record.tokens:,}", f"{record.seconds:.1f}")
            table.add_row(Text(name), result, record.verdict or "", *figures)
        self._line()
        if shown:
            self._console.print(table)
        if len(shown) > MOST_ROWS:
            self._line(f"  and {len(shown) - MOST_ROWS} more that are not solved")
        tokens = sum(record.tokens for record in records.values())
        seconds = sum(record.seconds for record in records.values())
        self._line("=== Result ===")
        self._line(f"  Solved:   {solved} / {len(problems)}")
        self._line(f"  Spent:    {seconds:.1f} s, {tokens:,} tokens")
        calls, failures = Counter[str](), Counter[str]()
        for record in records.values():
            calls.update(record.llm_endings)
            failures.update(record.llm_failures)
        if calls:
            self._line(f"  Model calls: {calls_in_words(calls, failures)}")
        self._line(f"  Results:  {output}")

    def _line(self, text: str = "") -> None:
        self._console.print(Text("".join(sign if sign.isprintable() else "�" for sign in text)), soft_wrap=True)
