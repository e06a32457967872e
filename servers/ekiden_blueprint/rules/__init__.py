"""The rules of a blueprint: all run, and all that they find is reported together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_blueprint.edges import edges_of
from ekiden_blueprint.rules.allowances import CONTRACT, Allowances
from ekiden_blueprint.rules.commands import check_commands
from ekiden_blueprint.rules.compilation import Diagnostic, check_compilation, read_build_log
from ekiden_blueprint.rules.dependencies import check_closeness, check_dependencies
from ekiden_blueprint.rules.labels import check_labels
from ekiden_blueprint.rules.nodes import check_nodes
from ekiden_blueprint.rules.scene import Scene
from ekiden_blueprint.rules.soundness import check_soundness
from ekiden_blueprint.rules.table import CHECKS, RULES, Rule, check_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_blueprint.edges import Edges
    from ekiden_blueprint.findings import Finding
    from ekiden_blueprint.project import Project
    from ekiden_blueprint.rules.facts import CheckedFacts, LeanMessage

__all__ = ["CHECKS", "CONTRACT", "RULES", "Allowances", "Diagnostic", "Rule", "check", "check_name", "read_build_log"]


def check(
    project: Project,
    *,
    edges: Edges | None = None,
    diagnostics: Iterable[LeanMessage] | None = None,
    allowances: Allowances = CONTRACT,
    facts: CheckedFacts | None = None,
) -> list[Finding]:
    """Run all rules on a project.

    Args:
        project: The files.
        edges: Which node rests on which; made from the facts, or from the text without them, when not given.
        diagnostics: What Lean and the build said, if either ran; `read_build_log` makes them from a log.
        allowances: What the project allows.
        facts: What Lean knows of the declarations; where they speak, they win over the text.

    Returns:
        All findings, by file, place and rule.
    """
    scene = Scene(project, edges or edges_of(project, facts), allowances, facts)
    check_compilation(scene, diagnostics or ())
    check_nodes(scene)
    check_labels(scene)
    check_dependencies(scene)
    check_closeness(scene)
    check_commands(scene)
    check_soundness(scene)
    order = {place.path: index for index, place in enumerate(scene.places)}
    return sorted(
        dict.fromkeys(scene.findings),
        key=lambda finding: (order.get(finding.path, len(order)), finding.path, finding.start, finding.rule),
    )
