"""The report that a pull request gets as a comment.

It is made from a record that may come from where a hostile text was read. So its words are shown as code, its size is
bounded, and nothing of it can be a link, a mention or markup.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ekiden_orchestrator.blueprint.verdict import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ekiden_orchestrator.blueprint.verdict import FindingRecord, Verdict

_MOST_FINDINGS = 60
_MOST_ROWS = 100
_MOST_CHARACTERS = 300
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_TICKS = re.compile(r"`+")


def pull_report(verdict: Verdict, *, run_url: str = "", decision: Sequence[str] = ()) -> str:
    """Write the report of a verdict in Markdown.

    Args:
        verdict: The verdict.
        run_url: Where the run can be looked at.
        decision: Sentences of whoever decides about merging.
    """
    headline = "Blueprint verified" if verdict.overall_pass else "Blueprint not verified"
    parts = [MARKER, f"## {'✅' if verdict.overall_pass else '❌'} {headline}", _opening(verdict, run_url)]
    parts += [f"- {code(sentence)}" for sentence in decision]
    parts += [_checks(verdict), _findings(verdict), _targets(verdict), _assumptions(verdict), _next_step(verdict)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(verdict: Verdict, run_url: str) -> str:
    said: list[str] = []
    if (change := verdict.change) is not None:
        node = f" for {code(change.node)}" if change.node else ""
        said.append(
            f"Tested as the work of a {code(change.role)}{node}: {code(change.head[:12])} merged into "
            f"{code(change.base[:12])}, which gives the tree {code(change.tree[:12])}."
        )
    counts = ", ".join(f"{count} {_words(state)}" for state, count in verdict.states.items() if count)
    said.append(f"Nodes: {counts or 'none'}.")
    lean = verdict.lean
    said.append("Lean has looked at all of it." if lean.used else f"Lean has not vouched for it: {code(lean.message)}")
    if re.fullmatch(r"https://[\w.-]+(?:/[\w.-]+)*", run_url):
        said.append(f"[The run]({run_url}).")
    return " ".join(said)


def _checks(verdict: Verdict) -> str:
    lines = ["| Check | Outcome |", "| --- | --- |"]
    for result in verdict.results[:_MOST_ROWS]:
        outcome = "passed" if result.passed else f"**{len(result.failures)} found**"
        lines.append(f"| {_words(result.name)} | {outcome} |")
    return "\n".join(lines)


def _findings(verdict: Verdict) -> str:
    order = {"error": 0, "warning": 1, "note": 2}
    found = sorted(verdict.findings, key=lambda finding: order[finding.severity])
    if not found:
        return ""
    lines = ["### Findings", ""]
    lines += [_finding(finding) for finding in found[:_MOST_FINDINGS]]
    if len(found) > _MOST_FINDINGS:
        rest = Counter(finding.severity for finding in found[_MOST_FINDINGS:])
        counts = ", ".join(f"{count} {severity}s" for severity, count in rest.items())
        lines.append(f"- … and {counts} more, in the file `verify-report.json` of the run.")
    return "\n".join(lines)


def _finding(finding: FindingRecord) -> str:
    place = code(f"{finding.path}:{finding.line}:{finding.column}")
    return f"- **{_words(finding.severity)} {_words(finding.rule)}** {place} {code(finding.message)}"


def _targets(verdict: Verdict) -> str:
    if not verdict.targets:
        return ""
    lines = ["### Axioms", "", "| Target | State | Rests on |", "| --- | --- | --- |"]
    for target in verdict.targets[:_MOST_ROWS]:
        if target.axioms is None:
            rests = "not known without Lean"
        else:
            rests = _listed(target.axioms) or "no axioms"
            if target.taken_as_they_are:
                rests += f"; {len(target.taken_as_they_are)} library theorems taken as they are"
        lines.append(f"| {code(target.name)} | {_words(target.state)} | {rests} |")
    return "\n".join(lines)


def _assumptions(verdict: Verdict) -> str:
    if not verdict.assumptions:
        return ""
    lines = [f"### Assumptions declared: {len(verdict.assumptions)}", ""]
    for assumption in verdict.assumptions[:_MOST_ROWS]:
        if not assumption.present:
            used = "not there"
        elif assumption.used_by is None:
            used = "what rests on it is not known without Lean"
        else:
            used = f"rested on by {_listed(assumption.used_by) or 'nothing'}"
        lines.append(f"- {code(assumption.name)}: {used}")
    return "\n".join(lines)


def _next_step(verdict: Verdict) -> str:
    if verdict.overall_pass:
        return ""
    files = " ".join(verdict.files)
    role = ""
    if (change := verdict.change) is not None:
        node = f" --node {change.node}" if change.node else ""
        role = f" --base origin/main --head WORKTREE --role {change.role}{node}"
    return (
        "### What to do\n\nMend what is marked **error**, and push again. The same check runs before a push with "
        + code(f"ekiden blueprint verify {files}{role}")
    )


def code(text: str) -> str:
    """Show any text as code in a line, also in a table."""
    shown = _UNPRINTABLE.sub(" ", text).replace("|", "¦").strip()
    if len(shown) > _MOST_CHARACTERS:
        shown = shown[:_MOST_CHARACTERS] + "…"
    fence = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _words(text: str) -> str:
    """Keep letters, digits and plain punctuation of what is a word of ours."""
    return re.sub(r"[^\w ,:;'()-]", "", _UNPRINTABLE.sub(" ", text))[:_MOST_CHARACTERS]


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return ", ".join(code(name) for name in shown[:20]) + more
