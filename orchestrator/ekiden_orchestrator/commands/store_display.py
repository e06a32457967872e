"""How a store looks on a terminal, and to programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from ekiden_orchestrator.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ekiden_orchestrator.commands.store_export import Exported
    from ekiden_orchestrator.commands.store_files import Imported
    from ekiden_store import Finding, Report
    from ekiden_store.compaction import Compaction
    from ekiden_store.data_sets.exports_manifest import Manifest
    from ekiden_store.embeddings.fill import FillReport
    from ekiden_store.queries.stats import LabelCounts, Stats
    from ekiden_store.redaction.redactor import Redactor
    from ekiden_store.serving.views import ShownAttempt


def show_stats(stats: Stats, *, as_json: bool) -> None:
    """Print what a store holds."""
    if as_json:
        _json(asdict(stats))
        return
    proved, candidates = stats.proved, stats.candidates
    typer.echo(f"rows        {stats.rows:,}{_list(stats.kinds)}")
    typer.echo(f"from        {_list(stats.origins).removeprefix(': ') or 'nowhere'}")
    typer.echo(f"attempts    {stats.attempts:,} at {stats.theorems:,} theorems")
    share = "" if proved.of_attempted is None else f" ({proved.of_attempted:.1%})"
    typer.echo(f"proved      {proved.proved:,} of {proved.attempted:,} attempted{share}; {proved.copied:,} only copied")
    if proved.gave_up:
        typer.echo(f"            {proved.gave_up:,} more with `sorry` alone, which proves nothing")
    if proved.asked is not None:
        share = "" if proved.of_asked is None else f" ({proved.of_asked:.1%})"
        typer.echo(f"            of {proved.asked:,} asked for{share}; {proved.not_attempted:,} left no row")
    if stats.verdicts:
        typer.echo(f"verdicts    {_list(stats.verdicts).removeprefix(': ')}")
    typer.echo(f"labels      {_labels(stats.labels)}")
    both = f", {stats.states_with_both_labels:,} with both labels" if stats.states_with_both_labels else ""
    typer.echo(f"states      {stats.unique_states:,} different{both}")
    if candidates.expansions:
        typer.echo(
            f"candidates  {candidates.average:.1f} tactics a state ({candidates.least} to {candidates.most}) "
            f"in {candidates.expansions:,} states"
        )
    _rows("depth", stats.depths)
    _rows("theorem", stats.largest)


def warn_of(findings: Iterable[Finding]) -> None:
    """Say on standard error what is wrong with files of the store: their rows are not there."""
    for finding in findings:
        typer.echo(f"ekiden: {finding.kind.replace('_', ' ')}: {finding.name}: {finding.detail}", err=True)


def show_imports(imports: Sequence[Imported], *, as_json: bool) -> None:
    """Print what became of files; what could not be imported goes to standard error."""
    if as_json:
        _json([asdict(one) for one in imports])
        return
    for one in imports:
        if one.error:
            typer.echo(f"ekiden: {one.error}", err=True)
            continue
        known = f", {one.known:,} known already" if one.known else ""
        typer.echo(f"{visible(one.file)}: {one.rows:,} rows ({one.kind}){known}")
        for note in one.notes:
            typer.echo(f"  {visible(note)}")
    if len(imports) > 1:
        failed = sum(bool(one.error) for one in imports)
        told = f"; {failed:,} could not be imported" if failed else ""
        typer.echo(f"{sum(one.rows for one in imports):,} rows of {len(imports) - failed:,} files{told}")


def show_compaction(done: Compaction, *, as_json: bool) -> None:
    """Print what a compaction did."""
    if as_json:
        _json(asdict(done) | {"findings": [finding._asdict() for finding in done.findings]})
        return
    if done.is_busy:
        typer.echo("Another process compacts the store now; nothing was done.")
        return
    if not done.parts:
        typer.echo("Nothing was to be done.")
    else:
        typer.echo(
            f"{done.rows:,} rows of {done.segments:,} files are compacted; "
            f"{done.parts:,} parts written, {done.merged:,} merged"
        )
    _findings(done.findings)


def show_report(report: Report, *, as_json: bool) -> None:
    """Print what was found wrong with a store."""
    if as_json:
        _json({"is_complete": report.is_complete, "findings": [finding._asdict() for finding in report.findings]})
        return
    if not report.is_complete:
        typer.echo("Not all could be looked at: another process changes the store, or it cannot be written.")
    elif not report.findings:
        typer.echo("The store is sound.")
    _findings(report.findings)


def show_attempts(attempts: Sequence[ShownAttempt], theorem: str, redactor: Redactor, *, as_json: bool) -> None:
    """Print attempts at a theorem, as trees if they are such."""
    if as_json:
        _json(
            [
                {"run_id": one.run_id, "attempt_id": one.attempt_id, "theorem_name": theorem}
                | {"is_proved": one.is_proved, "nodes": one.nodes}
                | {"lines": [redactor.redact(line) for line in one.lines]}
                for one in attempts
            ]
        )
        return
    for one in attempts:
        typer.echo(visible(one.head))
        for line in one.lines:
            typer.echo(f"  {visible(redactor.redact(line))}")


def show_fill(report: FillReport, *, as_json: bool, verb: str = "encoded") -> None:
    """Print what became of states that were to be encoded, or whose vectors were to be taken over."""
    if as_json:
        _json(asdict(report))
        return
    typer.echo(f"{report.encoded:,} states {verb}, {report.known:,} known already")
    for reason, times in report.refused.most_common(5):
        typer.echo(f"  {times:,} without a vector: {visible(reason)}")


def show_data_set(manifest: Manifest, out: Path, *, as_json: bool) -> None:
    """Print what a data set holds."""
    if as_json:
        _json(manifest.model_dump(mode="json"))
        return
    for source in manifest.sources:
        counts = {"left out": source.left_out, "unusable": source.unusable}
        lost = "".join(f"; {what}: {_list(found).removeprefix(': ')}" for what, found in counts.items() if found)
        typer.echo(
            f"{source.name}: {source.chosen:,} of {source.examples:,} examples, {source.doubles:,} doubles{lost}"
        )
    for file in manifest.files:
        typer.echo(f"{out / file.name}: {file.lines:,} lines of {file.theorems:,} theorems, sha256 {file.sha256[:12]}")
    if manifest.redacted:
        typer.echo(f"secrets struck out: {sum(manifest.redacted.values()):,}")
    for remark in manifest.remarks:
        typer.echo(f"ekiden: {visible(remark)}", err=True)


def show_verified(problems: Sequence[str], out: Path, *, as_json: bool) -> None:
    """Print what is wrong with a data set."""
    if as_json:
        _json({"folder": str(out), "problems": list(problems)})
        return
    if not problems:
        typer.echo("The data set is what its manifest says.")
    for problem in problems:
        typer.echo(visible(problem))


def show_exported(exported: Exported, out: Path, *, as_json: bool) -> None:
    """Print what was written of an attempt."""
    if as_json:
        _json({"file": str(out)} | exported._asdict())
        return
    struck = f"; secrets struck out: {sum(exported.redacted.values()):,}" if exported.redacted else ""
    typer.echo(f"{out}: {exported.steps:,} steps{struck}")


def say_written(rows: int, out: Path | None) -> None:
    """Say how many rows a file got, or on standard error that there are none."""
    if out is not None:
        typer.echo(f"{out}: {rows:,} rows")
    elif not rows:
        typer.echo("There are no such rows.", err=True)


def _rows(name: str, counts: Mapping[int, LabelCounts] | Mapping[str, LabelCounts]) -> None:
    told = [(visible(str(key)), count) for key, count in counts.items()]
    if not any(count.total for count in counts.values()):
        return  # calls and verdicts alone, which have no label
    width = min(60, max(len(name), *(len(key) for key, _ in told)))
    typer.echo(f"\n{name:{width}}  {'positive':>10}  {'negative':>10}  {'unknown':>10}")
    for key, count in told:
        typer.echo(f"{key:{width}}  {count.positive:>10,}  {count.negative:>10,}  {count.unknown:>10,}")


def _labels(labels: LabelCounts) -> str:
    return f"{labels.positive:,} positive, {labels.negative:,} negative, {labels.unknown:,} unknown"


def _list(counts: Mapping[str, int]) -> str:
    return f": {', '.join(f'{count:,} {visible(name)}' for name, count in counts.items())}" if counts else ""


def _findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        typer.echo(f"{finding.kind.replace('_', ' ')}: {finding.name}: {finding.detail}")


def _json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
