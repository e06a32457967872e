"""What the user sees of a run: a live line on a terminal, plain lines elsewhere, and the report."""

import errno
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ekiden_config import JudgeName
from ekiden_judge import STATUSES
from ekiden_orchestrator.marathon.attempt import Glance
from ekiden_orchestrator.marathon.events import AttemptEnded, RunStarted
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.spending import calls_in_words
from ekiden_orchestrator.marathon.summary import Summary
from ekiden_orchestrator.visible_text import visible

Phase = Literal["solving", "settling", "judging"]

_REFRESH_S = 0.1
_PLAIN_INTERVAL_S = 30.0
_BAR_WIDTH = 30
_SHORTEST_BAR = 5
_SHOWN_STDERR_LINES = 8
_SHOWN_CONTRADICTIONS = 10


class Screen(Console):
    """The standard output, as a console."""

    def on_broken_pipe(self) -> None:
        """Report that nobody reads any more, where the base class would end the process without a word."""
        with suppress(SystemExit):
            super().on_broken_pipe()
        raise BrokenPipeError(errno.EPIPE, "nobody reads the output any more")


class Display:
    """Shows one run on a console; without a terminal it prints plain lines, few of them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._expected_s = 0.0
        self._problems = 0
        self._next_at = 0.0
        self._began = 0.0
        self._shown = Text()
        self._share: float | None = None
        self._has_clock = False

    def line(self, text: str = "") -> None:
        """Print one line as it is, control characters made visible."""
        self._console.print(Text(visible(text)), soft_wrap=True)

    def heading(self, started: RunStarted, folder: RunFolder, judge: JudgeName) -> None:
        """Say what is about to run."""
        self.line("Marathon Run")
        self.line(f"  Solver:   {started.solver}{' (built in)' if started.built_in else ''}")
        self.line(f"  Manifest: {started.manifest} ({started.problems})")
        dollars = "" if started.budget_usd is None else f", ${started.budget_usd:f}"
        tokens = _tokens(started.budget_tokens)
        self.line(f"  Budget:   {started.budget_seconds:g} s, {tokens}{dollars} ({started.budget_origin})")
        if started.models:
            model = f" (the solver is told {started.model!r})" if started.model else ""
            self.line(f"  Models:   {', '.join(started.models)}{model}")
        if started.pool_seconds is not None:
            self.line(f"  Search:   {started.pool_seconds:g} s for the whole batch (raise it with --problem-seconds)")
        self.line(f"  Judge:    {judge}")
        self.line(f"  Run dir:  {folder.root}")

    def note(self, text: str) -> None:
        """Say that something was unusual."""
        self.line(f"  Note: {text}")

    @contextmanager
    def phase(self, phase: Phase, *, expected_s: float = 0.0, problems: int = 0) -> Generator[None]:
        """Show live progress during a phase, on a terminal.

        Args:
            phase: What goes on.
            expected_s: How long the solver is going to run at most, if all goes well.
            problems: How many problems it works on.
        """
        self._expected_s = expected_s
        self._problems = problems
        self._next_at = time.monotonic() + (0.0 if self._console.is_terminal else _PLAIN_INTERVAL_S)
        if not self._console.is_terminal:
            yield
            return
        self._began = time.monotonic()
        self._shown = Text(phase)
        self._share = None
        self._has_clock = phase != "solving"  # a solver's line has its own
        with Live(console=self._console, get_renderable=self._frame, refresh_per_second=10, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def _frame(self) -> Text:
        """Return the live line: a bar in what room the text leaves, and the text cut where it leaves none."""
        text = self._shown.copy()
        if self._has_clock:  # a judge may take a while to its first verdict
            text.append(f"  {time.monotonic() - self._began:.0f} s", style="dim")
        width = min(_BAR_WIDTH, self._console.width - text.cell_len - len("  "))
        if self._share is not None and width >= _SHORTEST_BAR:
            filled = round(width * self._share)
            bar = Text("━" * filled, style="green") + Text("━" * (width - filled), style="dim")
            text = bar + Text("  ") + text
        text.truncate(self._console.width, overflow="ellipsis")
        return text

    def glance(self, glance: Glance) -> None:
        """Show how the solver stands."""
        counts = glance.answers
        claims = "  ".join(f"{claim} {counts[claim]}" for claim in ("false", "true", "other") if counts[claim])
        used = f"{glance.elapsed_s:.{0 if self._expected_s >= 1000 else 1}f} / {self._expected_s:g} s"
        answers = f"{counts.total()} of {self._problems} answered"
        tokens = "" if glance.tokens is None else f"  {glance.tokens:,} tokens"
        self._show(f"solver {glance.state}  {used}  {answers}{tokens}  {claims}", glance.elapsed_s, self._expected_s)

    def judging(self, done: int, total: int) -> None:
        """Show how far the judge is."""
        self._show(f"judging  {done} / {total}", done, total)

    def _show(self, text: str, done: float, total: float) -> None:
        now = time.monotonic()
        if now < self._next_at:
            return
        if self._live is None:
            self._next_at = now + _PLAIN_INTERVAL_S
            if not self._console.is_terminal:
                self.line(f"  {text.rstrip()}")
            return
        self._next_at = now + _REFRESH_S
        self._share = min(1.0, done / total) if total > 0 else 0.0
        self._shown = Text(text.rstrip())

    def solver_ended(self, ended: AttemptEnded) -> None:
        """Say how the solver ended, and how it sounded if that was not well."""
        code = "none" if ended.exit_code is None else ended.exit_code
        self.line(
            f"Solver exited rc={code} wall={ended.wall_seconds:.1f}s "
            f"sigterm={ended.sigterm_fired} sigkill={ended.sigkill_fired}"
            + (f" ({ended.reason} limit)" if ended.sigterm_fired else "")
        )
        if ended.exit_code != 0 and ended.stderr_tail:
            for text in ended.stderr_tail.splitlines()[-_SHOWN_STDERR_LINES:]:
                self.line(f"  stderr: {text}")

    def result(self, summary: Summary, folder: RunFolder) -> None:
        """Print the report."""
        self.line()
        self.line("=== Result ===")
        if summary.score is None:
            self.line("  Score:         not judged (judge with --score-only)")
        else:
            self.line(f"  Score:         {summary.score} / {summary.problems}")
            self.line(f"  Attempted:     {summary.attempted}")
            self.line(f"  Not attempted: {summary.not_attempted}")
            by_status = ", ".join(f"{status} {count}" for status, count in summary.by_status.items())
            self.line(f"  By status:     {by_status}")
        if summary.harness_errors:
            self.line(f"  Harness errors: {summary.harness_errors} answers could not be judged; see the log")
        if summary.wall_seconds is not None:
            self.line(f"  Wall used:     {summary.wall_seconds:.1f} / {summary.budget_seconds:g} s")
            self._spending(summary)
        self._axioms(summary)
        self._labels(summary)
        for note in summary.notes:
            self.note(note)
        self.line(f"  Summary: {folder.summary}")
        self.line(f"  Output:  {folder.answers}")
        self.line(f"  Log:     {folder.log}")
        if summary.score is not None:
            self._console.print(_status_table(summary))

    def _spending(self, summary: Summary) -> None:
        """Say what language models have cost."""
        budget = 0 if summary.budget_tokens is None else summary.budget_tokens
        exhausted = " (exhausted)" if summary.tokens_exhausted else ""
        self.line(f"  Tokens used:   {summary.tokens_used:,} / {'no cap' if budget < 0 else f'{budget:,}'}{exhausted}")
        if summary.usd_spent is not None and (summary.usd_spent or summary.budget_usd is not None):
            cap = "" if summary.budget_usd is None else f" / ${summary.budget_usd:f}"
            self.line(f"  Spent:         ${summary.usd_spent:f}{cap}")
        if summary.model_calls:
            self.line(f"  Model calls:   {calls_in_words(summary.model_calls, summary.model_call_failures)}")

    def _axioms(self, summary: Summary) -> None:
        """Say what accepted answers rest on, where the judge can tell."""
        accepted = [result for result in summary.per_problem if result.status == "accepted"]
        counts = Counter(axiom for result in accepted for axiom in result.axioms)
        if counts:
            listed = ", ".join(f"{axiom} in {count}" for axiom, count in sorted(counts.items()))
            self.line(f"  Axioms:        {listed} accepted answers")
        elif accepted and summary.judge == "lean":
            self.line("  Axioms:        none that this Lean can show")

    def _labels(self, summary: Summary) -> None:
        labels = summary.labels
        if labels is None:
            return
        accepted = labels.agreeing + len(labels.contradicting)
        self.line(f"  Labels:        {labels.agreeing} of {accepted} accepted answers agree with the manifest's labels")
        for name in labels.contradicting[:_SHOWN_CONTRADICTIONS]:
            self.line(f"  Contradicts its label: {name}")
        if len(labels.contradicting) > _SHOWN_CONTRADICTIONS:
            self.line(f"  ... and {len(labels.contradicting) - _SHOWN_CONTRADICTIONS} more; see the summary")


def _tokens(budget: int) -> str:
    return "no cap on tokens" if budget < 0 else f"{budget:,} token{'' if budget == 1 else 's'}"


def _status_table(summary: Summary) -> Table:
    """Tabulate the problems by status and by what the answers claim."""
    table = Table(title=f"{summary.solver or 'answers'} on {summary.manifest}", title_justify="left")
    table.add_column("status")
    for column in ("false", "true", "neither", "all"):
        table.add_column(column, justify="right")
    for status in STATUSES:
        rows = [problem for problem in summary.per_problem if problem.status == status]
        if rows:
            claims = [sum(problem.verdict == claim for problem in rows) for claim in ("false", "true", None)]
            style = "green" if status == "accepted" else "red" if status == "harness_error" else ""
            table.add_row(status, *(str(count) if count else "" for count in claims), str(len(rows)), style=style)
    return table
