"""A report on a store: one page that needs nothing else, a picture, or data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ekiden_orchestrator.errors import CommandError
from ekiden_orchestrator.reports.pictures import COLOURS, png, svg
from ekiden_orchestrator.reports.store_sections import figures_of, panels_of, remarks_of, sections_of
from ekiden_orchestrator.reports.words import amount, day, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_store import Finding
    from ekiden_store.queries.progress_figures import Progress
    from ekiden_store.redaction.redactor import Redactor


@dataclass(frozen=True, slots=True)
class Report:
    """What a report is about.

    Attributes:
        store: What the store is called.
        run: The run that alone is counted; empty: all.
        progress: The figures, without secrets.
        findings: What is wrong with files of the store, whose rows are not there.
    """

    store: str
    run: str
    progress: Progress
    findings: Sequence[Finding] = ()


def without_secrets(progress: Progress, redactor: Redactor) -> Progress:
    """Return figures in whose names secrets are struck out; reasons that become the same are put together."""
    failures: dict[str, int] = {}
    for kind, rows in progress.failures.items():
        name = redactor.redact(kind)
        failures[name] = failures.get(name, 0) + rows
    return replace(
        progress,
        failures=dict(sorted(failures.items(), key=lambda item: (-item[1], item[0]))),
        runs=[
            replace(run, run_id=redactor.redact(run.run_id), models=[redactor.redact(name) for name in run.models])
            for run in progress.runs
        ],
        models=[replace(model, name=redactor.redact(model.name)) for model in progress.models],
    )


def data_of(report: Report) -> dict[str, Any]:
    """Return a report as data."""
    return {"store": report.store, "run": report.run or None} | asdict(report.progress)


def page_of(report: Report) -> str:
    """Return a report as a page.

    Raises:
        CommandError: jinja2 or matplotlib is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise CommandError(
            "A page needs jinja2, which is not installed: `pip install 'ekiden[report]'`. `--json` needs nothing."
        ) from error
    progress = report.progress
    sections = sections_of(progress) if progress.whole.rows else []
    charts = [part.chart for section in sections for part in section.parts if part.chart]
    drawn = {chart.name: svg(chart.name, chart.draw, height=chart.height) for chart in charts}
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(
        files("ekiden_orchestrator.reports").joinpath("store_report.html").read_text(encoding="utf-8")
    )
    page = template.render(
        store=visible(report.store),
        scope=_scope(report),
        run=visible(report.run),
        colours=COLOURS,
        figures=figures_of(progress) if sections else [],
        remarks=remarks_of(progress) if sections else [],
        findings=[f"{finding.kind.replace('_', ' ')}: {visible(finding.name)}" for finding in report.findings],
        sections=sections,
        drawn=drawn,
    )
    return page if page.endswith("\n") else page + "\n"


def picture_of(report: Report) -> bytes:
    """Return the charts of a report as one picture in PNG.

    Raises:
        CommandError: matplotlib is not installed.
    """
    return png(panels_of(report.progress), _scope(report))


def _scope(report: Report) -> str:
    """Say which rows a report is about."""
    progress = report.progress
    whole = progress.whole
    if not whole.rows:
        return "no rows"
    first, last = day(whole.first_ms), day(whole.last_ms)
    when = first if first == last else f"{first} to {last}"
    of = f"{amount(whole.rows)} rows of {progress.attempts:,} attempts"
    return f"{of} at {progress.theorems:,} theorems, {when}"
