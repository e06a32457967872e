"""`ekiden judge`: verdicts on answers, from the shell."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ekiden_orchestrator.commands.judge_name import JUDGES, judge_name
from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pydantic import BaseModel

    from ekiden_config import Settings
    from ekiden_judge.choice import Judge

app = typer.Typer()

NOT_ACCEPTED = 1


@app.command()
def judge(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Answers, one JSON object a line; or one answer.", show_default=False)
    ],
    *,
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE|NAME", help="The problems that FILE answers, or a packaged set.")
    ] = None,
    law1: Annotated[str | None, typer.Option(help="With one answer: the premise, such as 'x = x ◇ y'.")] = None,
    law2: Annotated[str | None, typer.Option(help="With one answer: the conclusion.")] = None,
    verdict: Annotated[
        str | None, typer.Option(metavar="true|false", help="With one file of Lean code: what it proves.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--judge", metavar=JUDGES, help="Who judges.", show_default="the settings' judge.default"),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="strict|tracks",
            help="Rules for a problem without its own: no axiom at all, or the axioms and constants of the tracks.",
            show_default="the settings' judge.default_policy",
        ),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep earlier verdicts.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each refusal which check failed, at which line, and what helps.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="List all that is not accepted, however much.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the verdicts as JSON into this file as well.")
    ] = None,
) -> None:
    """Judge an answers file, or one answer.

    FILE with --manifest is an answers file: the last answer to each problem counts.
    FILE with --law1 and --law2 is one answer: Lean code with --verdict, a certificate in JSON, or an answer in JSON.

    Exit status: 0 when every answer is accepted; 1 when one is not; 2 for bad input or a judge that cannot be had here.
    """
    from ekiden_config import load_settings
    from ekiden_judge.choice import choose_judge

    name = None if by is None else judge_name(by)
    cache = False if no_cache else None
    settings = load_settings({"judge": {"default": name, "default_policy": policy, "cache": cache}})
    show = _Show(as_json=as_json, output=output, explain=explain, everything=everything)
    with choose_judge(settings.judge.default, settings) as chosen:
        match manifest, law1, law2:
            case str(), None, None if verdict is None:
                accepted = _judge_file(file, manifest, chosen, settings, show)
            case None, str(), str():
                accepted = _judge_answer(file, (law1, law2), verdict, chosen, show)
            case _:
                raise CommandError("Say what FILE answers: --manifest alone, or --law1 and --law2, for one answer.")
    raise typer.Exit(0 if accepted else NOT_ACCEPTED)


class _Show(NamedTuple):
    """How the verdicts are shown, and where else they go."""

    as_json: bool
    output: Path | None
    explain: bool
    everything: bool

    def keep(self, report: BaseModel) -> bool:
        """Write and print the verdicts as JSON where that is asked for; tell whether they are printed."""
        text = report.model_dump_json(indent=2)
        if self.output is not None:
            from ekiden_orchestrator.marathon.folder import write_whole

            try:
                write_whole(self.output, text.encode() + b"\n")
            except OSError as error:
                raise CommandError(f"Cannot write {str(self.output)!r}: {error.strerror}.") from error
        if self.as_json:
            typer.echo(text)
        return self.as_json


def _judge_file(file: Path, manifest: str, judge: Judge, settings: Settings, show: _Show) -> bool:
    from ekiden_orchestrator.commands.judge_outcome import show_file
    from ekiden_orchestrator.judging import judge_file, read_bounded
    from ekiden_orchestrator.marathon.manifest import read_manifest

    data = read_bounded(file, settings.marathon.output_limit_bytes)
    questions = read_manifest(manifest, limit_bytes=settings.marathon.manifest_limit_bytes)
    with _progress(judge) as progress:
        judged = judge_file(data, questions, judge, progress=progress)
    if not show.keep(judged.report):
        show_file(judged, explain=show.explain, everything=show.everything)
    return judged.all_accepted


def _judge_answer(file: Path, laws: tuple[str, str], verdict: str | None, judge: Judge, show: _Show) -> bool:
    from ekiden_orchestrator.commands.judge_outcome import show_answer
    from ekiden_orchestrator.judging import MAX_ANSWER_BYTES, judge_answer, question, read_bounded

    text = read_bounded(file, MAX_ANSWER_BYTES)
    problem = question(file.name, *laws)
    with _progress(judge):
        judged = judge_answer(text, problem, verdict, judge)
    if not show.keep(judged.verdict):
        show_answer(judged, explain=show.explain)
    return judged.verdict.status == "accepted"


@contextmanager
def _progress(judge: Judge) -> Generator[Callable[[int, int], None]]:
    """Show on standard error, where that is a terminal, that the judge is at work, and how far."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(f"judging ({judge.name})", total=1)
        yield lambda done, total: bars.update(task, completed=done, total=total)
