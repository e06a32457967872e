"""How verdicts look on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from ekiden_orchestrator.judging import FileReport, JudgedAnswer, JudgedFile

MAX_SHOWN = 20
_MAX_REASON = 300
_MAX_NAMES = 12


def show_file(judged: JudgedFile, *, explain: bool, everything: bool) -> None:
    """Print the verdicts on an answers file: counts, then what is not accepted, with the reasons."""
    from rich.console import Console

    report = judged.report
    console = Console(highlight=False, soft_wrap=True)
    console.print(_counts(report))
    for line in _remarks(report):
        console.print(line, markup=False)
    refused = [answer for answer in judged.answers if answer.verdict.status != "accepted"]
    for answer in refused if everything else refused[:MAX_SHOWN]:
        console.print()
        told = f"{answer.verdict.error_code}\n{_explanation(answer)}" if explain else _reason(answer)
        console.print(f"{_visible(answer.problem.id)}: {told}", markup=False)
    if not everything and len(refused) > MAX_SHOWN:
        console.print(f"\n... and {len(refused) - MAX_SHOWN} more that are not accepted; --all lists them.")


def show_answer(judged: JudgedAnswer, *, explain: bool) -> None:
    """Print the verdict on one answer, and what it rests on."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    verdict = judged.verdict
    style = "green" if verdict.status == "accepted" else "red"
    console.print(f"{verdict.status} ({verdict.error_code})", style=style)
    told = _explanation(judged) if explain and verdict.status != "accepted" else _visible(verdict.message)
    console.print(told, markup=False)
    if verdict.axioms:
        console.print(f"Axioms: {_names(verdict.axioms)}", markup=False)
    if verdict.declarations:
        console.print(f"Constants that `submission` names: {_names(verdict.declarations)}", markup=False)


def _counts(report: FileReport) -> Table:
    from rich.table import Table

    table = Table(title=f"{report.manifest}, judged by {report.judge} in {report.seconds:.1f} s", title_justify="left")
    table.add_column("status")
    table.add_column("answers", justify="right")
    for status, count in report.by_status.items():
        style = "green" if status == "accepted" else "red" if status == "harness_error" else ""
        table.add_row(status, str(count), style=style)
    return table


def _remarks(report: FileReport) -> Iterator[str]:
    if report.axioms:
        found = ", ".join(f"{_visible(axiom)} in {count}" for axiom, count in report.axioms.items())
        yield f"Axioms of accepted answers: {found}"
    if report.skipped:
        reasons = ", ".join(f"{reason} {count}" for reason, count in report.skipped.items())
        yield f"Lines that are no answer: {reasons}"
    if report.unknown_ids:
        yield f"Lines with ids that are not asked for: {report.unknown_ids}"
    if report.unread:
        yield f"Lines that were not read, the file has too many: {report.unread}"


def _reason(answer: JudgedAnswer) -> str:
    message = answer.verdict.message
    message = message if len(message) <= _MAX_REASON else message[: _MAX_REASON - 3] + "..."
    return f"{answer.verdict.error_code}: {_visible(message)}"


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(_visible, names[:_MAX_NAMES]))
    return shown if len(names) <= _MAX_NAMES else f"{shown} and {len(names) - _MAX_NAMES} more"


def _explanation(answer: JudgedAnswer) -> str:
    """Say which check failed, where, and what helps."""
    from ekiden_judge.explain import explain

    return _visible(str(explain(answer.verdict, answer.code or None)))


def _visible(text: str) -> str:
    """Make control characters visible: what checkers say quotes answers, and answers must not paint the terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)
