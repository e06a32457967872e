"""`ekiden solo`: one solver process a problem, over the Solo protocol."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import Annotated

import typer

from ekiden_orchestrator.commands.judge_name import JUDGES, judge_name

app = typer.Typer(
    name="solo", help="Run a solver on problems one by one, over the Solo protocol.", no_args_is_help=True
)

NOT_ALL_SOLVED = 1
INTERRUPTED = 130


@app.callback()
def solo() -> None:
    """Run a solver on problems one by one, over the Solo protocol."""


@app.command()
def run(
    solver: Annotated[
        str, typer.Argument(metavar="DIR|NAME", help="A folder that holds solver.py, or a built-in one.")
    ],
    problems: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A problem file, or a packaged set.")],
    *,
    config: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Configuration in the SAIR judge's shape, JSON or TOML.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="The results file; what is solved there is not run again.",
            show_default="runs/solo/SOLVER__PROBLEMS.json",
        ),
    ] = None,
    problem_ids: Annotated[
        list[str] | None, typer.Option(metavar="ID,...", help="Run only these problems; may be repeated.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar=JUDGES, help="Who judges.", show_default="the settings' judge.default")
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens of the whole run; 0 refuses every call, below 0 there is no cap.",
            show_default="262144 a problem",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model to ask.",
            show_default="llm.model of --config, else the settings' marathon.model, else openai/gpt-oss-120b",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Tell each call as it begins.")] = False,
) -> None:
    """Run a solver on each problem that it has not solved yet, and print a table.

    Exit status: 0 when every problem is solved; 1 when one is not; 2 for bad input or a judge that is not to be had
    here; 130 when interrupted (what is done is in the results file).
    """
    from rich.console import Console

    from ekiden_config import load_settings
    from ekiden_orchestrator.solo.config import read_config
    from ekiden_orchestrator.solo.display import Display
    from ekiden_orchestrator.solo.run import SoloRequest, run_solo

    given = read_config(config)
    settings = load_settings()
    request = SoloRequest(
        solver=solver,
        problems=problems,
        ids=tuple(name for part in problem_ids or () for name in part.split(",") if name),
        output=output,
        judge=None if judge is None else judge_name(judge),
        budget_tokens=budget_tokens,
        model=model,
    )
    try:
        all_solved = run_solo(request, settings, given, Display(Console(), verbose=verbose))
    except KeyboardInterrupt:
        typer.echo("Interrupted; the same command goes on with what is not solved yet.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(0 if all_solved else NOT_ALL_SOLVED)
