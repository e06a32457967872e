"""Small blueprints written as lists of nodes, and what Lean would know of them."""

from __future__ import annotations

from dataclasses import dataclass

from ekiden_blueprint import Project, parse

HEADER = "import Mathlib\nimport Architect\n\nset_option linter.all false\nset_option maxHeartbeats 500000\n"
_PREFIX = {"lemma": "lem", "theorem": "thm", "axiom": "ax"}


def node(
    declaration: str,
    *uses: str,
    body: str = "sorry",
    proof: str = "",
    statement: str = "It holds.",
    title: str = "A title",
) -> str:
    """Write a node.

    Args:
        declaration: Such as `lemma b : True`; a definition with its body.
        uses: Labels that its proof refers to.
        body: `sorry`, which becomes `sorry_using` with the used nodes' names, or a tactic block; unused in definitions.
        proof: Text of the proof before the references.
        statement: Its statement.
        title: Its title.
    """
    keyword, name = declaration.split()[:2]
    prefix = _PREFIX.get(keyword, "def")
    prose = f"{proof} Use \\cref{{{', '.join(uses)}}}." if uses else proof or "Clear."
    options = f"  (statement := /-- {statement} -/)\n  (title := /-- {title} -/)"
    if keyword in ("lemma", "theorem"):
        options = f"  (statement := /-- {statement} -/)\n  (proof := /-- {prose} -/)\n  (title := /-- {title} -/)"
        names = ", ".join(label.partition(":")[2].replace("-", "_") for label in uses if not label.startswith("def:"))
        placeholder = f"sorry_using [{names}]" if names else "sorry"
        declaration += " := by\n  " + (placeholder if body == "sorry" else body)
    environment = {"lem": "lemma", "thm": "theorem"}.get(prefix, "definition")
    label = f"{prefix}:{name.replace('_', '-')}"
    return f'@[blueprint "{label}"\n{options}\n  (latexEnv := "{environment}")]\n{declaration}\n'


def text_of(*nodes: str) -> str:
    """Write a blueprint file."""
    return "\n".join([HEADER, *nodes])


def project_of(*nodes: str) -> Project:
    """Parse a blueprint of some nodes."""
    return Project([parse(text_of(*nodes), "Main.lean")])


@dataclass(frozen=True)
class Known:
    """What Lean knows of one declaration."""

    name: str
    kind: str = "theorem"
    own_sorry: bool = False
    uses_type: tuple[str, ...] = ()
    uses_value: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class Facts:
    """What Lean knows of a blueprint."""

    declarations: tuple[Known, ...] = ()
    outcome: str = "complete"


def facts_of(*declarations: Known) -> Facts:
    """Give facts of some declarations."""
    return Facts(declarations)
