"""`ekiden certificate`: Ekiden's own certificates, from the shell."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import Annotated

import typer

app = typer.Typer(name="certificate", help="Print certificates for proof checkers.", no_args_is_help=True)


@app.callback()
def certificate() -> None:
    """Print certificates for proof checkers."""


@app.command("print")
def print_certificate(
    file: Annotated[Path, typer.Argument(metavar="CERT.json", help="The certificate in JSON.", show_default=False)],
    *,
    law1: Annotated[str, typer.Option(help="The premise, such as 'x = x ◇ y'.")],
    law2: Annotated[str, typer.Option(help="The conclusion.")],
    coq: Annotated[bool, typer.Option("--coq", help="Print it for Coq in place of Lean.")] = False,
) -> None:
    """Check a certificate, and print it as the Lean file of an answer, or as a Coq file.

    Exit status: 0 when it is printed; 2 when it is wrong, or has no such form.
    """
    from ekiden_magma import check, from_json, lean_answer, parse_law
    from ekiden_orchestrator.judging import MAX_ANSWER_BYTES, read_text

    premise, conclusion = parse_law(law1), parse_law(law2)
    found = from_json(read_text(file, MAX_ANSWER_BYTES), premise, conclusion)
    check(found)
    if coq:
        from ekiden_magma.coq import CoqTask, coq_file

        typer.echo(coq_file([CoqTask(premise, conclusion, found)]), nl=False)
    else:
        typer.echo(lean_answer(found), nl=False)
