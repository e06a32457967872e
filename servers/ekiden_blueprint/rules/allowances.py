"""What a project allows beyond, or less than, the usual blueprint."""

from __future__ import annotations

from dataclasses import dataclass

AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})
ATTRIBUTES = frozenset(
    """
    aesop bound
    cases_eliminator class coe congr continuity deprecated elab_as_elim ext fun_prop
    gcongr grind induction_eliminator inherit_doc inline instance irreducible match_pattern measurability mono nolint
    norm_cast nontriviality push_cast reducible refl rfl semireducible simp simps specialize stacks symm
    to_additive trans
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Allowances:
    """What a project allows. The defaults are the blueprint contract.

    Attributes:
        imports: Modules that a file must import, in this order, unless it imports another file of the project.
        more_imports: Modules that it may import besides.
        header_options: Options that each file must set before its first node, in this order, with their values.
        options: Options that a `set_option` elsewhere between nodes may set.
        local_options: Options that a `set_option .. in` inside a node may set.
        opens: Namespaces that may be opened anywhere.
        header_opens: Whether any namespace may be opened before a file's first node.
        commands: Keywords of further commands that may stand between nodes, such as `variable` or `notation`.
        modifiers: Modifiers that a node may have.
        attributes: Attributes that a node may have besides `blueprint`.
        blueprint_options: Options that a blueprint attribute may have.
        axioms: Axioms that anything may rest on.
        assumptions: Axioms of the project's own that it declares openly; each is told in a note.
        comments: Whether comments may stand outside the prose.
    """

    imports: tuple[str, ...] = ("Mathlib", "Architect")
    more_imports: frozenset[str] = frozenset()
    header_options: tuple[tuple[str, str], ...] = (("linter.all", "false"), ("maxHeartbeats", "500000"))
    options: frozenset[str] = frozenset()
    local_options: frozenset[str] = frozenset(
        {"maxHeartbeats", "maxRecDepth", "synthInstance.maxHeartbeats", "synthInstance.maxSize"}
    )
    opens: frozenset[str] = frozenset()
    header_opens: bool = True
    commands: frozenset[str] = frozenset()
    modifiers: frozenset[str] = frozenset({"noncomputable", "private", "local"})
    attributes: frozenset[str] = ATTRIBUTES
    blueprint_options: frozenset[str] = frozenset({"statement", "proof", "title", "latexEnv"})
    axioms: frozenset[str] = AXIOMS
    assumptions: frozenset[str] = frozenset()
    comments: bool = False


CONTRACT = Allowances()
