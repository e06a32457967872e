"""The documentation of the rules, made from the table that the checks report under."""

from __future__ import annotations

from ekiden_blueprint.rules.table import CHECKS, RULES, check_name

_OPENING = """\
# Blueprint rules

All rules are checked each time, and all findings are reported together. An error fails the check; a warning or a note
does not. A rule marked *fix* offers a change where it is certain, and `ekiden blueprint verify --fix` makes it.
Identifiers are stable.
"""


def document_rules() -> str:
    """Write the page on all rules."""
    parts = [_OPENING]
    for check in CHECKS:
        parts.append(f"## {check_name(check)}\n")
        for rule in RULES.values():
            if rule.check == check:
                marks = [rule.severity] * (rule.severity != "error") + ["fix"] * rule.fixable
                marked = f" ({', '.join(marks)})" if marks else ""
                parts.append(f"### {rule.id}: {rule.title}{marked}\n\n{rule.why} {rule.remedy}\n")
    return "\n".join(parts)
