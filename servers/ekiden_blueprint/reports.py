"""Findings for people, for programs, for code scanners and for GitHub."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict
from urllib.parse import quote

from ekiden_blueprint.rules.table import CHECKS, RULES, check_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_blueprint.findings import Finding, Fix, Severity
    from ekiden_blueprint.parser import BlueprintFile
    from ekiden_blueprint.project import Project

ReportFormat = Literal["human", "json", "sarif", "github"]

_WIDTH = 100
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_SARIF_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "note"}
_GITHUB_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}


class FixRecord(TypedDict):
    """A fix in a JSON report; offsets count characters."""

    start: int
    end: int
    replacement: str


class FindingRecord(TypedDict):
    """A finding in a JSON report; lines and columns count from 1, offsets count characters."""

    rule: str
    check: str
    severity: Severity
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int
    fix: NotRequired[FixRecord]


class CheckRecord(TypedDict):
    """The outcome of one check."""

    name: str
    passed: bool
    failures: list[str]


class Report(TypedDict):
    """A whole JSON report."""

    files: list[str]
    overall_pass: bool
    results: list[CheckRecord]
    findings: list[FindingRecord]


def passes(findings: Sequence[Finding]) -> bool:
    """Tell whether nothing but warnings and notes was found."""
    return not any(finding.severity == "error" for finding in findings)


def render(project: Project, findings: Sequence[Finding], form: ReportFormat) -> str:
    """Render findings in a format; each ends with a newline, unless there is nothing to say."""
    if form == "human":
        return human(project, findings)
    if form == "json":
        return json.dumps(report(project, findings), ensure_ascii=False, indent=2) + "\n"
    if form == "sarif":
        return json.dumps(sarif(project, findings), ensure_ascii=False, indent=2) + "\n"
    return github(findings)


def human(project: Project, findings: Sequence[Finding]) -> str:
    """Write each finding with its line of source, and a summary."""
    files = {file.source.path: file for file in project.files}
    lines: list[str] = []
    for finding in findings:
        where = f"{finding.path}:{finding.start.line}:{finding.start.column}"
        lines.append(f"{where}: {finding.severity} {finding.rule} {_printable(finding.message)}")
        file = files.get(finding.path)
        if file is not None:
            lines += _excerpt(file, finding)
    return "\n".join([*lines, summary(project, findings)]) + "\n"


def summary(project: Project, findings: Sequence[Finding]) -> str:
    """Say in one line how many files and nodes were checked, and what was found."""
    counts = Counter(finding.severity for finding in findings)
    looked = f"{_many(len(project.files), 'file')}, {_many(len(project.nodes), 'node')}"
    kinds: tuple[Severity, ...] = ("error", "warning", "note")
    found = ", ".join(_many(counts[kind], kind) for kind in kinds if counts[kind]) or "nothing to report"
    fixable = sum(finding.fix is not None for finding in findings)
    ending = f" ({fixable} can be fixed by `--fix`)" if fixable else ""
    return f"{'PASS' if passes(findings) else 'FAIL'}  {looked}: {found}{ending}"


def report(project: Project, findings: Sequence[Finding]) -> Report:
    """Give the report of a pull request: the outcome of each check, and all findings in full."""
    results: list[CheckRecord] = []
    for check in CHECKS:
        failures = [
            f"{finding.path}:{finding.start.line}:{finding.start.column}: {finding.rule} {finding.message}"
            for finding in findings
            if finding.severity == "error" and RULES[finding.rule].check == check
        ]
        results.append({"name": check_name(check), "passed": not failures, "failures": failures})
    return {
        "files": [file.source.path for file in project.files],
        "overall_pass": passes(findings),
        "results": results,
        "findings": [_record(finding) for finding in findings],
    }


def sarif(project: Project, findings: Sequence[Finding]) -> dict[str, object]:
    """Give a SARIF 2.1.0 log."""
    index = {name: place for place, name in enumerate(RULES)}
    rules = [
        {
            "id": rule.id,
            "name": rule.title,
            "shortDescription": {"text": f"{rule.title}."},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity]},
            "properties": {"check": check_name(rule.check)},
        }
        for rule in RULES.values()
    ]
    files = {file.source.path: file for file in project.files}
    results = [_sarif_result(finding, index[finding.rule], files.get(finding.path)) for finding in findings]
    driver = {"name": "ekiden-blueprint", "rules": rules}
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": _uri(file.source.path)}} for file in project.files],
        "results": results,
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def github(findings: Sequence[Finding]) -> str:
    """Write one workflow command a finding, which GitHub shows beside the line."""
    lines: list[str] = []
    for finding in findings:
        places = [f"file={_property(finding.path)}", f"line={finding.start.line}", f"col={finding.start.column}"]
        if finding.end.line > finding.start.line:
            places.append(f"endLine={finding.end.line}")
        elif finding.end.column > finding.start.column:
            places.append(f"endColumn={finding.end.column}")
        title = _property(f"{finding.rule} {RULES[finding.rule].title}")
        lines.append(
            f"::{_GITHUB_LEVELS[finding.severity]} {','.join(places)},title={title}::{_data(finding.message)}\n"
        )
    return "".join(lines)


def _record(finding: Finding) -> FindingRecord:
    record: FindingRecord = {
        "rule": finding.rule,
        "check": check_name(RULES[finding.rule].check),
        "severity": finding.severity,
        "message": finding.message,
        "path": finding.path,
        "line": finding.start.line,
        "column": finding.start.column,
        "end_line": finding.end.line,
        "end_column": finding.end.column,
        "start": finding.span.start,
        "end": finding.span.end,
    }
    if finding.fix is not None:
        fix = finding.fix
        record["fix"] = {"start": fix.span.start, "end": fix.span.end, "replacement": fix.replacement}
    return record


def _sarif_result(finding: Finding, index: int, file: BlueprintFile | None) -> dict[str, object]:
    region: dict[str, object] = {
        "startLine": finding.start.line,
        "startColumn": finding.start.column,
        "endLine": finding.end.line,
        "endColumn": finding.end.column,
    }
    place = {"artifactLocation": {"uri": _uri(finding.path)}, "region": region}
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }
    if finding.fix is not None and file is not None:
        result["fixes"] = [_sarif_fix(finding, finding.fix, file)]
    return result


def _sarif_fix(finding: Finding, fix: Fix, file: BlueprintFile) -> dict[str, object]:
    start, end = file.source.position(fix.span.start), file.source.position(fix.span.end)
    region = {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}
    replacement = {"deletedRegion": region, "insertedContent": {"text": fix.replacement}}
    change = {"artifactLocation": {"uri": _uri(finding.path)}, "replacements": [replacement]}
    return {"description": {"text": RULES[finding.rule].remedy}, "artifactChanges": [change]}


def _excerpt(file: BlueprintFile, finding: Finding) -> list[str]:
    """Show the line of a finding with carets below; the bar keeps it from being taken for a workflow command."""
    starts = file.source.line_starts
    number, column = finding.start
    if number > len(starts):
        return []
    begin = starts[number - 1]
    line = file.source.text[begin : starts[number] - 1 if number < len(starts) else len(file.source.text)].rstrip()
    last = finding.end.column if finding.end.line == number else len(line) + 1
    low = max(0, column - 1 - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = line[low : low + _WIDTH]
    before = "".join("\t" if sign == "\t" else " " for sign in line[low : column - 1])
    carets = "^" * max(1, min(last - column, low + len(shown) - column + 1))
    gutter = f"{number:>5} | "
    return [gutter + _printable(shown), " " * (len(gutter) - 2) + "| " + before + carets]


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _printable(text: str) -> str:
    """Replace what could steer a terminal, break a line, or show text in another order than it stands."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\n", " "))


def _uri(path: str) -> str:
    return quote(path)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
