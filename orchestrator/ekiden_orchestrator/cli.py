"""The command line: one application, and the subcommands that the modules of `commands` mount into it."""

import inspect
from collections.abc import Sequence
from typing import Annotated

import typer

from ekiden_orchestrator.commands import (
    blueprint,
    budget,
    cayley,
    certificate,
    doctor,
    judge,
    lean,
    marathon,
    servers,
    slurm,
    solo,
    store,
)
from ekiden_orchestrator.errors import report

app = typer.Typer(
    name="ekiden",
    help="MCP servers for machine-checked mathematics, and the relay that passes a proof between agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(servers.app)
app.add_typer(marathon.app)
app.add_typer(solo.app)
app.add_typer(blueprint.app)
app.add_typer(budget.app)
app.add_typer(judge.app)
app.add_typer(certificate.app)
app.add_typer(cayley.app)
app.add_typer(slurm.app)
app.add_typer(store.app)
app.add_typer(lean.app)
app.add_typer(doctor.app)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"ekiden {version('ekiden')}")
        raise typer.Exit


@app.callback()
def ekiden(
    *,
    say_version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and leave.")
    ] = False,
) -> None:
    """MCP servers for machine-checked mathematics, and the relay that passes a proof between agents."""


def _fill_paragraphs(commands: typer.Typer) -> None:
    """Have the lines of each help text broken where the terminal ends, and not where the source does."""
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _fill_paragraphs(group.typer_instance)
    for command in (*commands.registered_commands, commands.registered_callback):
        if command is not None and command.callback is not None:
            paragraphs = inspect.cleandoc(command.callback.__doc__ or "").split("\n\n")
            command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


_fill_paragraphs(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; typer ends the process unless one of our errors is raised.

    Args:
        arguments: What follows the command's name; by default the process's own.

    Returns:
        The exit status.
    """
    try:
        app(args=arguments)
    except Exception as error:  # noqa: BLE001  # the outermost place; what it does not know is raised again
        return report(error)
    return 0
