"""Making the record of a verdict: what was found, and what each target rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_blueprint.edges import plain_name
from ekiden_blueprint.reports import report
from ekiden_orchestrator.blueprint.change_rules import CHANGE_CHECK, CHANGE_RULES
from ekiden_orchestrator.blueprint.verdict import (
    AssumptionRecord,
    ChangeRecord,
    CheckRecord,
    FindingRecord,
    LeanRecord,
    TargetRecord,
    Verdict,
)
from ekiden_orchestrator.blueprint.verifying import targets_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ekiden_blueprint.findings import Finding
    from ekiden_orchestrator.blueprint.elaborating import VerifiedDeclaration
    from ekiden_orchestrator.blueprint.verifying import Verified
    from ekiden_policies.blueprint_roles import NodeChange


def verdict_of(verified: Verified) -> Verdict:
    """Make the record of what was verified."""
    by_rules = report(verified.project, [finding for finding in verified.findings if finding.rule not in CHANGE_RULES])
    of_change = [finding for finding in verified.findings if finding.rule in CHANGE_RULES]
    results = [CheckRecord.model_validate(result) for result in by_rules["results"]]
    if verified.changed is not None:
        failures = tuple(_line(finding) for finding in of_change if finding.severity == "error")
        results.insert(0, CheckRecord(name=CHANGE_CHECK, passed=not failures, failures=failures))
    facts = _facts(verified)
    looked = verified.elaborated.facts
    return Verdict(
        files=tuple(by_rules["files"]),
        overall_pass=verified.passes,
        results=tuple(results),
        findings=(
            *(_record(finding) for finding in of_change),
            *(FindingRecord.model_validate(finding) for finding in by_rules["findings"]),
        ),
        states={str(state): count for state, count in verified.progress.counts.items()},
        targets=tuple(_target(verified, name, facts) for name in targets_of(verified.project)),
        assumptions=tuple(_assumption(verified, name, facts) for name in sorted(verified.allowances.assumptions)),
        lean=LeanRecord(
            used=facts is not None,
            identity=looked.identity if looked else "",
            message=looked.message if looked else verified.elaborated.absent,
        ),
        change=_change(verified),
    )


def _facts(verified: Verified) -> Mapping[str, VerifiedDeclaration] | None:
    facts = verified.elaborated.facts
    if facts is None or facts.outcome != "complete":
        return None
    return {plain_name(known.name): known for known in facts.declarations}


def _target(verified: Verified, name: str, facts: Mapping[str, VerifiedDeclaration] | None) -> TargetRecord:
    known = None if facts is None else facts.get(plain_name(name))
    return TargetRecord(
        name=name,
        state=verified.progress.states[name],
        axioms=None if known is None else known.axioms,
        rests_on_sorry=None if known is None else known.sorry,
        taken_as_they_are=known.unproved if known else (),
    )


def _assumption(verified: Verified, name: str, facts: Mapping[str, VerifiedDeclaration] | None) -> AssumptionRecord:
    if facts is not None:
        used_by = tuple(
            node.full_name
            for node in verified.project.nodes
            if (known := facts.get(plain_name(node.full_name)))
            and plain_name(name) in map(plain_name, known.axioms)
            and plain_name(node.full_name) != plain_name(name)
        )
        return AssumptionRecord(name=name, present=plain_name(name) in facts, used_by=used_by)
    named = {
        plain_name(one)
        for file in verified.project.files
        for command in file.commands
        if command.keyword == "axiom"
        for one in command.names
    } | {plain_name(node.full_name) for node in verified.project.nodes}
    return AssumptionRecord(name=name, present=plain_name(name) in named, used_by=None)


def _change(verified: Verified) -> ChangeRecord | None:
    if verified.changed is None:
        return None
    merged, assignment = verified.changed.merged, verified.changed.assignment
    changed = [_told(one) for one in verified.changed.change.nodes if _differs(one)]
    return ChangeRecord(
        role=assignment.role,
        node=assignment.node,
        base=merged.base,
        head=merged.head,
        tree=merged.tree,
        changed=tuple(changed),
    )


def _differs(node: NodeChange) -> bool:
    return node.is_new or node.is_gone or bool(node.parts) or node.meaning == "changed"


def _told(node: NodeChange) -> str:
    parts = ", ".join(sorted(node.parts)) or "meaning"
    return f"{node.name}: {'added' if node.is_new else 'removed' if node.is_gone else parts}"


def _line(finding: Finding) -> str:
    return f"{finding.path}:{finding.start.line}:{finding.start.column}: {finding.rule} {finding.message}"


def _record(finding: Finding) -> FindingRecord:
    return FindingRecord(
        rule=finding.rule,
        check=CHANGE_CHECK,
        severity=finding.severity,
        message=finding.message,
        path=finding.path,
        line=finding.start.line,
        column=finding.start.column,
        end_line=finding.end.line,
        end_column=finding.end.column,
        start=finding.span.start,
        end=finding.span.end,
    )
