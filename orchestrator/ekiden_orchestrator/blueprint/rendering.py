"""A verdict on a terminal, for GitHub's annotations, and as SARIF."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import quote

from ekiden_blueprint import reports
from ekiden_blueprint.reports import human
from ekiden_orchestrator.blueprint.change_rules import CHANGE_CHECK, CHANGE_RULES

if TYPE_CHECKING:
    from ekiden_blueprint.findings import Finding
    from ekiden_orchestrator.blueprint.verdict import Verdict
    from ekiden_orchestrator.blueprint.verifying import Verified

VerdictFormat = Literal["human", "json", "sarif", "github", "markdown"]


def rendered(verified: Verified, verdict: Verdict, form: VerdictFormat) -> str:
    """Render a verdict; what is rendered ends with a newline, unless there is nothing to say."""
    match form:
        case "human":
            return human(verified.project, verified.findings) + _about(verdict)
        case "json":
            return verdict.model_dump_json(indent=2, exclude_none=True) + "\n"
        case "sarif":
            return json.dumps(_sarif(verified), ensure_ascii=False, indent=2) + "\n"
        case "github":
            return _github(verified)
        case "markdown":
            from ekiden_orchestrator.blueprint.pull_report import pull_report

            return pull_report(verdict)


def _about(verdict: Verdict) -> str:
    """Say what the summary of findings leaves out: states, axioms, assumptions, and whether Lean looked."""
    counts = ", ".join(f"{count} {state}" for state, count in verdict.states.items() if count)
    lines = [f"Nodes: {counts or 'none'}."]
    for target in verdict.targets:
        if target.axioms is None:
            lines.append(f"Target {target.name!r}: {target.state}; its axioms are not known without Lean.")
        else:
            rests = ", ".join(target.axioms) or "no axioms"
            count = len(target.taken_as_they_are)
            more = f", and on {count} library theorems taken as they are" if count else ""
            lines.append(f"Target {target.name!r}: {target.state}; rests on {rests}{more}.")
    if verdict.assumptions:
        lines.append(f"Assumptions declared: {len(verdict.assumptions)}.")
    for assumption in verdict.assumptions:
        if assumption.used_by is None:
            used = "what rests on it is not known without Lean"
        else:
            used = f"{len(assumption.used_by)} nodes rest on it"
        lines.append(f"  {assumption.name!r}: {used if assumption.present else 'not there'}.")
    return "\n".join(lines) + "\n"


def _parted(verified: Verified) -> tuple[list[Finding], list[Finding]]:
    change = [finding for finding in verified.findings if finding.rule in CHANGE_RULES]
    return change, [finding for finding in verified.findings if finding.rule not in CHANGE_RULES]


def _github(verified: Verified) -> str:
    change, others = _parted(verified)
    levels = {"error": "error", "warning": "warning", "note": "notice"}
    lines = [
        f"::{levels[finding.severity]} file={_property(finding.path)},line={finding.start.line},"
        f"col={finding.start.column},title={_property(f'{finding.rule} {CHANGE_RULES[finding.rule].title}')}"
        f"::{_data(finding.message)}\n"
        for finding in change
    ]
    return "".join(lines) + reports.github(others)


def _sarif(verified: Verified) -> dict[str, object]:
    change, others = _parted(verified)
    log = reports.sarif(verified.project, others)
    run = cast("list[dict[str, object]]", log["runs"])[0]
    driver = cast("dict[str, dict[str, list[object]]]", run["tool"])["driver"]
    known = len(driver["rules"])
    places = {name: known + place for place, name in enumerate(CHANGE_RULES)}
    driver["rules"] += [
        {
            "id": rule.id,
            "name": rule.title,
            "shortDescription": {"text": f"{rule.title}."},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": rule.severity},
            "properties": {"check": CHANGE_CHECK},
        }
        for rule in CHANGE_RULES.values()
    ]
    results = cast("list[object]", run["results"])
    results += [_sarif_result(finding, places[finding.rule]) for finding in change]
    return log


def _sarif_result(finding: Finding, index: int) -> dict[str, object]:
    region = {
        "startLine": finding.start.line,
        "startColumn": finding.start.column,
        "endLine": finding.end.line,
        "endColumn": finding.end.column,
    }
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(finding.path)}, "region": region}}],
    }


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
