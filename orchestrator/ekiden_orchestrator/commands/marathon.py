"""`ekiden marathon`: run a solver over a batch of problems, judge, report."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from ekiden_orchestrator.commands.judge_name import JUDGES, judge_name

if TYPE_CHECKING:
    from collections.abc import Generator

    from ekiden_config import Settings
    from ekiden_orchestrator.marathon.display import Display
    from ekiden_orchestrator.marathon.request import Request
    from ekiden_orchestrator.marathon.summary import Summary

app = typer.Typer(name="marathon", help="Run a solver over a batch of problems and judge it.", no_args_is_help=True)

STOPPED = 1
INTERRUPTED = 130


def _dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except ArithmeticError as error:
        raise typer.BadParameter(f"{text!r} is no amount of dollars; write one such as 0.50") from error
    if amount.is_finite() and 0 < amount < Decimal("1e-9"):
        raise typer.BadParameter(f"{text!r} is less than can be counted; write 0, or at least 0.000000001")
    return amount


@app.callback()
def marathon() -> None:
    """Run a solver over a batch of problems and judge it."""


@app.command()
def run(
    *,
    solver: Annotated[
        str, typer.Option(metavar="DIR|NAME", help="A folder that holds solver.py, or a built-in solver.")
    ] = "harvest",
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE|NAME", help="A problem file, or a packaged set such as normal_100.")
    ] = None,
    budget_seconds: Annotated[
        float | None, typer.Option(help="Wall time of the solver, in place of the ratio.")
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens of language models, in place of the ratio: 0 denies every call, below 0 is no cap.",
            show_default="ratio x problems x 65536; 0 without a model to ask",
        ),
    ] = None,
    budget_usd: Annotated[
        Decimal | None,
        typer.Option(
            parser=_dollars, metavar="USD", help="Dollars for language models; needs prices.", show_default="no cap"
        ),
    ] = None,
    compression_ratio: Annotated[
        float | None,
        typer.Option(help="Wall time and tokens as a share of 600 s and 65536 a problem.", show_default="0.5"),
    ] = None,
    output_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="The run folder, new or empty.")] = None,
    no_score: Annotated[bool, typer.Option("--no-score", help="Run, but do not judge.")] = False,
    score_only: Annotated[
        bool, typer.Option("--score-only", help="Judge the answers.jsonl that is in --output-dir.")
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with a run that was killed or interrupted.")
    ] = None,
    problem_seconds: Annotated[
        float | None, typer.Option(help="Search time of the solver harvest, in seconds a problem.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model that the solver is told to ask.",
            show_default="the settings' marathon.model, else the solver's own choice",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar=JUDGES, help="Who judges.", show_default="the settings' judge.default"),
    ] = None,
) -> None:
    """Run a solver over a batch of problems, judge its answers, and print the result.

    Exit status: 0 whatever the score; 1 when no answer could be judged at all or the system stopped the run; 2 for bad
    input or a judge that is not to be had here, before anything starts; 130 when interrupted.
    """
    from ekiden_orchestrator.marathon.errors import MarathonError
    from ekiden_orchestrator.marathon.request import Request
    from ekiden_orchestrator.marathon.run import RunInterrupted, RunStopped

    request = Request(
        solver=solver,
        manifest=manifest or "",
        budget_seconds=budget_seconds,
        budget_tokens=budget_tokens,
        budget_usd=budget_usd,
        compression_ratio=compression_ratio,
        output_dir=output_dir,
        problem_seconds=problem_seconds,
        judge=None if judge is None else judge_name(judge),
        model=model,
    )
    if score_only and (no_score or resume is not None):
        raise MarathonError("--score-only judges what is there; give neither --no-score nor --resume with it.")
    try:
        with _sigterm_interrupts():
            summary = _carry_out(request, resume=resume, score_only=score_only, score=not no_score)
    except RunInterrupted as interruption:
        typer.echo(f"{interruption}", err=True)
        raise typer.Exit(INTERRUPTED) from interruption
    except RunStopped as stop:
        typer.echo(f"ekiden: {stop}", err=True)
        raise typer.Exit(STOPPED) from stop
    except OSError as error:
        raise MarathonError(f"Nothing was run: {error}.") from error
    if summary.harness_errors and not summary.attempted:
        typer.echo("ekiden: the judge failed on every answer; see the log.", err=True)
        raise typer.Exit(1)


@contextmanager
def _sigterm_interrupts() -> Generator[None]:
    """Have the request to end do what Ctrl-C does: everything ended, the time kept, the terminal left in order."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _carry_out(request: Request, *, resume: Path | None, score_only: bool, score: bool) -> Summary:
    from ekiden_config import load_settings
    from ekiden_orchestrator.marathon.display import Display, Screen

    settings = load_settings()
    display = Display(Screen())
    if resume is not None:
        return _resume(resume, request, settings, display, score=score)
    if score_only:
        return _score(request, settings, display)
    return _start(request, settings, display, score=score)


def _start(request: Request, settings: Settings, display: Display, *, score: bool) -> Summary:
    from ekiden_orchestrator.marathon.errors import MarathonError
    from ekiden_orchestrator.marathon.run import start_run

    if not request.manifest:
        raise MarathonError("Name the problems with --manifest: a file, or a packaged set such as 'normal_100'.")
    return start_run(request, settings, display, score=score)


def _score(request: Request, settings: Settings, display: Display) -> Summary:
    from ekiden_orchestrator.marathon.errors import MarathonError
    from ekiden_orchestrator.marathon.run import is_run, score_foreign, score_run

    if request.output_dir is None:
        raise MarathonError("Say with --output-dir which folder's answers.jsonl --score-only should judge.")
    if is_run(request.output_dir):
        if request.manifest:
            raise MarathonError("This run has its own snapshot of the manifest; leave --manifest out.")
        return score_run(request.output_dir, settings, display, judge=request.judge)
    if not request.manifest:
        raise MarathonError("This folder is no run of Ekiden; name the problems of its answers with --manifest.")
    return score_foreign(request.output_dir, request.manifest, settings, display, judge=request.judge)


def _resume(root: Path, request: Request, settings: Settings, display: Display, *, score: bool) -> Summary:
    from ekiden_orchestrator.marathon.errors import MarathonError
    from ekiden_orchestrator.marathon.request import Request
    from ekiden_orchestrator.marathon.run import resume_run

    if request != Request(solver="harvest", manifest=""):
        raise MarathonError(
            "A resumed run keeps its solver, manifest, budget, model, judge and folder; give --resume alone."
        )
    return resume_run(root, settings, display, score=score)
