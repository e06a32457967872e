"""`ekiden blueprint`: verifying a blueprint and its changes, its graph, its rules, and workflows for GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from ekiden_config import Settings
    from ekiden_orchestrator.blueprint.elaborating import Elaborator
    from ekiden_orchestrator.blueprint.verifying import Verified

app = typer.Typer(name="blueprint", help="Blueprints: verifying them, and looking at them.", no_args_is_help=True)

FAILED = 1
_Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILES]...", help="The blueprint's files; else those of the setting blueprint.files."),
]
_Lean = Annotated[
    Literal["auto", "off", "required"],
    typer.Option(help="Ask Lean where it is there with the libraries; not at all; or fail without it."),
]
_Assume = Annotated[list[str] | None, typer.Option(metavar="NAME", help="An axiom taken without proof; repeatable.")]


@app.callback()
def blueprint() -> None:
    """Blueprints: verifying them, and looking at them."""


@app.command()
def verify(
    files: _Files = None,
    *,
    base: Annotated[str | None, typer.Option(metavar="REF", help="With --head: judge a change against this.")] = None,
    head: Annotated[
        str | None, typer.Option(metavar="REF", help="The change; WORKTREE for the files as they are here.")
    ] = None,
    role: Annotated[str | None, typer.Option(metavar="worker|refiner|blueprinter", help="Whose change it is.")] = None,
    node: Annotated[str | None, typer.Option(metavar="NAME", help="The node that a worker is given.")] = None,
    branch: Annotated[
        str | None, typer.Option(metavar="NAME", help="In place of --role and --node: the change's branch.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="With --branch: its pull request's title.")] = None,
    approvals: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What somebody let targets become, as TOML.")
    ] = None,
    build_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What a build said; anything but a placeholder's warning fails.")
    ] = None,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the report goes, as JSON.")] = Path(
        "verify-report.json"
    ),
    form: Annotated[
        Literal["human", "json", "sarif", "github", "markdown"], typer.Option("--format", help="What is printed.")
    ] = "human",
    lean: _Lean = "auto",
    assume: _Assume = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="First write into the files what is certain to mend them.")
    ] = False,
) -> None:
    """Verify a blueprint by all rules; with --base and --head also a change of it by what its role may do.

    What is judged is what merging the head into the base gives. Exit status: 0 when all checks pass; 1 when one fails;
    2 for bad input.
    """
    from ekiden_config import load_settings
    from ekiden_orchestrator.blueprint.elaborating import elaborator
    from ekiden_orchestrator.blueprint.recording import verdict_of
    from ekiden_orchestrator.blueprint.rendering import rendered

    settings = load_settings()
    job = _Job(files or [], settings, assume or [], build_log)
    with elaborator(settings.lean, lean) as ask:
        if base is None and head is None:
            if any(given is not None for given in (role, node, branch, title, approvals)):
                raise CommandError("--role, --node, --branch, --title and --approvals need --base and --head.")
            if fix:
                job.fix()
            verified = job.verify(ask)
        elif base is None or head is None:
            raise CommandError("Give both --base and --head, or neither.")
        elif fix:
            raise CommandError("--fix mends files, not commits; leave --base and --head out, then commit.")
        else:
            verified = job.verify_change(ask, (base, head), (role, node, branch, title), approvals)
    verdict = verdict_of(verified)
    _write(report, verdict.model_dump_json(indent=2, exclude_none=True) + "\n")
    typer.echo(rendered(verified, verdict, form), nl=False)
    raise typer.Exit(0 if verdict.overall_pass else FAILED)


class _Job:
    """One verification: what it is about, and what is allowed."""

    def __init__(self, files: list[Path], settings: Settings, assumed: list[str], log: Path | None) -> None:
        from ekiden_dag.allowing import allowances_of

        self._files = files
        self._settings = settings.blueprint
        self._allowances = allowances_of(settings.blueprint, assumed)
        self._log = log

    def fix(self) -> None:
        from ekiden_orchestrator.blueprint.session import fix_files

        for path, count in fix_files(self._files, self._settings, self._allowances).items():
            typer.echo(f"fixed {path}: {count} {'place' if count == 1 else 'places'}", err=True)

    def verify(self, ask: Elaborator) -> Verified:
        from ekiden_orchestrator.blueprint.session import read_log, read_project
        from ekiden_orchestrator.blueprint.verifying import verify

        project = read_project(self._files, self._settings)
        return verify(project, ask, self._allowances, build=read_log(self._log))

    def verify_change(
        self,
        ask: Elaborator,
        refs: tuple[str, str],
        who: tuple[str | None, str | None, str | None, str | None],
        approvals: Path | None,
    ) -> Verified:
        from ekiden_orchestrator.blueprint.approvals import read_approvals
        from ekiden_orchestrator.blueprint.repository import Repository
        from ekiden_orchestrator.blueprint.session import files_of, propose, read_assignment, read_log
        from ekiden_orchestrator.blueprint.verifying import verify_change

        assignment = read_assignment(*who, read_approvals(approvals) if approvals else {})
        with Repository(Path.cwd()) as repository:
            chosen = files_of(repository, self._files, self._settings)
            proposal = propose(repository, refs, chosen, assignment, self._settings.source_folder)
            return verify_change(proposal, ask, self._allowances, build=read_log(self._log))


@app.command()
def graph(
    files: _Files = None,
    *,
    form: Annotated[
        Literal["tree", "mermaid", "svg", "json"], typer.Option("--format", help="How the graph is shown.")
    ] = "tree",
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what this node rests on, and what rests on it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="Write it into this file.")
    ] = None,
    lean: _Lean = "auto",
    assume: _Assume = None,
) -> None:
    """Show the proof graph: who rests on whom, and what is proved, ready, waiting, blocked or an assumption."""
    from ekiden_blueprint.edges import edges_of
    from ekiden_blueprint.graph import ProofGraph
    from ekiden_blueprint.pictures import around
    from ekiden_blueprint.states import Progress
    from ekiden_config import load_settings
    from ekiden_orchestrator.blueprint.elaborating import elaborator
    from ekiden_orchestrator.blueprint.session import read_project

    settings = load_settings()
    project = read_project(files or [], settings.blueprint)
    with elaborator(settings.lean, lean) as ask:
        elaborated = ask(project)
    complete = elaborated.facts is not None and elaborated.facts.outcome == "complete"
    facts = elaborated.facts if complete else None
    if facts is None and lean != "off":
        why = elaborated.absent or (elaborated.facts.message if elaborated.facts else "")
        typer.echo(f"Edges and states are what the text declares. {why}", err=True)
    assumed = {*settings.blueprint.assumptions, *(assume or [])}
    progress = Progress(ProofGraph(project, edges_of(project, facts)), facts, assumed=assumed)
    drawn = _drawn(progress, around(progress, node) if node else None, form, to_terminal=output is None)
    if output is None:
        typer.echo(drawn, nl=False)
    else:
        _write(output, drawn)


@app.command()
def rules() -> None:
    """Print all rules: what each is for, and the way out."""
    from ekiden_blueprint.rules.documentation import document_rules
    from ekiden_orchestrator.blueprint.change_rules import CHANGE_CHECK, CHANGE_RULES

    typer.echo(document_rules())
    typer.echo(f"## {CHANGE_CHECK}\n")
    for rule in CHANGE_RULES.values():
        marked = f" ({rule.severity})" if rule.severity != "error" else ""
        typer.echo(f"### {rule.id}: {rule.title}{marked}\n\n{rule.why} {rule.remedy}\n")


@app.command()
def workflows(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where they go, such as .github/workflows.")],
    *,
    ekiden: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="The Ekiden to install, as pip takes it; by default this version."),
    ] = None,
    base: Annotated[str, typer.Option(metavar="BRANCH", help="The branch that is merged into.")] = "main",
    force: Annotated[bool, typer.Option("--force", help="Replace workflows that are there.")] = False,
) -> None:
    """Write workflows for GitHub that verify pull requests without credentials and merge what was tested."""
    from ekiden_orchestrator.blueprint.workflow_files import write_workflows

    for path in write_workflows(folder, ekiden=ekiden, base=base, force=force):
        typer.echo(f"wrote {path}")
    typer.echo("Say in the repository's variable BLUEPRINT_AUTHORS whose pull requests may be merged.")


@app.command()
def gate(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The report of the run that asked Lean.")],
    *,
    pull: Annotated[Path, typer.Option(metavar="FILE", help="The pull request, as GitHub's interface gives it.")],
    base: Annotated[str, typer.Option(metavar="BRANCH", help="The branch that is merged into.")] = "main",
    remote: Annotated[str, typer.Option(metavar="NAME", help="The remote whose branch that is.")] = "origin",
    authors: Annotated[
        str, typer.Option(metavar="NAMES", help="Whose pull requests are merged; parted by commas.", envvar="AUTHORS")
    ] = "",
    approvals: Annotated[Path | None, typer.Option(metavar="FILE", help="What somebody let targets become.")] = None,
    run_url: Annotated[str, typer.Option(metavar="URL", help="Where the run can be looked at.")] = "",
    comment: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the comment goes, as Markdown.")] = None,
) -> None:
    """Decide whether a tested pull request is merged; run by the workflows, where nothing of the pull request runs.

    Prints the decision as outputs of a step. Exit status: 0 when it is merged; 1 when it is not; 2 for bad input.
    """
    from ekiden_config import load_settings
    from ekiden_dag.allowing import allowances_of
    from ekiden_orchestrator.blueprint import gate as gates
    from ekiden_orchestrator.blueprint.approvals import read_approvals
    from ekiden_orchestrator.blueprint.repository import Repository
    from ekiden_orchestrator.blueprint.session import files_of

    settings = load_settings().blueprint
    verdict = gates.read_verdict(report)
    with Repository(Path.cwd()) as repository:
        decision = gates.Gate(
            repository,
            base,
            authors=[name for part in authors.split(",") if (name := part.strip())],
            files=files_of(repository, [], settings),
            source_folder=settings.source_folder,
            allowances=allowances_of(settings),
            approved=read_approvals(approvals) if approvals else {},
        ).decide(gates.read_pull(pull), verdict, repository.commit(f"{remote}/{base}"))
    if comment is not None:
        _write(comment, gates.comment(verdict, decision, run_url))
    typer.echo(gates.outputs(decision), nl=False)
    for reason in decision.reasons:
        typer.echo(reason, err=True)
    raise typer.Exit(0 if decision.merge else FAILED)


def _drawn(progress: object, only: frozenset[str] | None, form: str, *, to_terminal: bool) -> str:
    import json
    import sys

    from ekiden_blueprint import pictures
    from ekiden_blueprint.states import Progress

    assert isinstance(progress, Progress)
    match form:
        case "mermaid":
            return pictures.mermaid(progress, only)
        case "svg":
            return pictures.svg(progress, only)
        case "json":
            return json.dumps(pictures.json_picture(progress, only), ensure_ascii=False, indent=2) + "\n"
        case _:
            return pictures.tree_text(progress, only, colour=to_terminal and sys.stdout.isatty())


def _write(path: Path, text: str) -> None:
    from ekiden_orchestrator.marathon.folder import write_whole

    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise CommandError(f"Cannot write {str(path)!r}: {error.strerror}.") from error
