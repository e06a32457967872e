"""`ekiden doctor`: what this machine has, and what that is good for."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ekiden_orchestrator.doctor_findings import Finding

app = typer.Typer()

_SIGNS = {
    "ok": "[green]found[/]",
    "old": "[yellow]too old[/]",
    "missing": "[dim]missing[/]",
    "broken": "[red]broken[/]",
}


@app.command()
def doctor(*, as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Look for proof checkers and models that Ekiden can use, say what each is for, and what confines programs here.

    Ends with status 1 only when something required is missing.
    """
    from ekiden_config import load_settings
    from ekiden_orchestrator.doctor import examine, wanted

    findings = examine(wanted(), load_settings())
    if as_json:
        typer.echo(json.dumps([finding.model_dump() for finding in findings], ensure_ascii=False, indent=2))
    else:
        from rich.console import Console

        console = Console(highlight=False)
        console.print(_table(findings))
        console.print(_verdict(findings))
    if any(finding.prevents_work for finding in findings):
        raise typer.Exit(1)


def _verdict(findings: "Sequence[Finding]") -> str:
    if lacking := [finding.name for finding in findings if finding.prevents_work]:
        return f"[red]Ekiden cannot work without: {', '.join(lacking)}.[/]"
    return "[green]Everything that Ekiden needs is here;[/] what is missing above is optional."


def _table(findings: "Sequence[Finding]") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table("what", "state", "version", "what it is for, and how to get it", box=box.SIMPLE_HEAD, pad_edge=False)
    previous = findings[0].kind
    for finding in findings:
        if finding.kind != previous:
            table.add_section()
            previous = finding.kind
        expected = f" want {finding.minimum}" if finding.minimum and finding.state != "ok" else ""
        table.add_row(
            f"[bold]{finding.name}[/]" if finding.required else finding.name,
            f"{'[red]required,[/] ' if finding.prevents_work else ''}{_SIGNS[finding.state]}",
            (finding.version or "") + expected,
            escape(finding.purpose) + ("" if finding.state == "ok" else f"\n[dim]{escape(finding.how_to_get)}[/]"),
        )
    return table
