"""What the tools answer.

Field names and texts are short, since hosts read all of them at each start.
"""

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from ekiden_blueprint.edges import plain_name
from ekiden_dag.snapshot import theorems

if TYPE_CHECKING:
    from ekiden_blueprint.findings import Finding
    from ekiden_blueprint.graph import Seen
    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.project import Project
    from ekiden_dag.snapshot import Snapshot

MAX_TEXT = 16_000
MAX_NAMES = 200
MAX_FINDINGS = 60
MAX_THEOREMS = 10

Visibility = Literal["visible", "invisible"]


def _brief(schema: dict[str, Any]) -> None:
    """Leave out of a schema what the tool's own description says, and that all fields are always there."""
    schema.pop("description", None)
    schema.pop("required", None)
    for field in schema["properties"].values():
        field.pop("default", None)


def _opaque(schema: dict[str, Any]) -> None:
    """Leave a part's fields to the description of the list that it is in."""
    schema.pop("description", None)
    schema.pop("required", None)
    schema.pop("properties")


class _Answer(BaseModel):
    model_config = ConfigDict(json_schema_extra=_brief)


class _Part(BaseModel):
    model_config = ConfigDict(json_schema_extra=_opaque)


class _OfEdges(_Answer):
    """An answer that comes from edges; it says so when these are only what the text declares."""

    origin: str = Field(default="", description="Only there when 'declared'.")

    @model_serializer(mode="wrap")
    def _without_the_usual(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        shown: dict[str, Any] = handler(self)
        if not shown["origin"]:
            del shown["origin"]
        return shown


class ParentNodes(_OfEdges):
    """What a node rests on directly."""

    target: str = Field(description="The node.")
    parent_nodes: list[str] = Field(description="File order.")
    count: int = Field(description="How many.")


class ChildNodes(_OfEdges):
    """What rests directly on a node."""

    target: str = Field(description="The node.")
    child_nodes: list[str] = Field(description="File order.")
    count: int = Field(description="How many.")


class AdmissibleNode(_Part):
    """A node that a proof may use; it is visible when it stands before the one that asks."""

    lean_name: str
    label: str
    line: int
    visibility: Visibility

    @classmethod
    def of_seen(cls, seen: "Seen", project: "Project") -> Self:
        """Describe a node as another one sees it."""
        return cls(
            lean_name=seen.node.full_name,
            label=seen.node.label,
            line=_line_of(seen.node, project),
            visibility="visible" if seen.visible else "invisible",
        )


class DefinitionNode(_Part):
    """A definitional node; it is visible when it stands before the one that asks."""

    lean_name: str
    label: str
    line: int
    keyword: str
    visibility: Visibility

    @classmethod
    def of_seen(cls, seen: "Seen", project: "Project") -> Self:
        """Describe a definition as a node sees it."""
        return cls(
            lean_name=seen.node.full_name,
            label=seen.node.label,
            line=_line_of(seen.node, project),
            keyword=seen.node.keyword,
            visibility="visible" if seen.visible else "invisible",
        )


class AdmissibleNodes(_OfEdges):
    """What a proof of a node may use without a cycle."""

    target: str = Field(description="The node.")
    admissible_external_nodes: list[AdmissibleNode] = Field(
        description="lean_name, label, line, visibility (visible: before the target)."
    )
    count: int = Field(description="How many.")


class DefinitionalContext(_Answer):
    """All definitional nodes."""

    target: str = Field(description="The node.")
    global_definitional_context: list[DefinitionNode] = Field(
        description="lean_name, label, line, keyword, visibility (visible: before the target)."
    )
    count: int = Field(description="How many.")


class NodeReport(_Answer):
    """A node: what it says, how far it is, and why."""

    place: str = Field(description="File and lines.")
    source: str = Field(description="Prose and Lean.")
    state: str = Field(description="How far it is.")
    reasons: list[str] = Field(description="Why, in sentences.")
    ancestors: list[str] = Field(description="All it rests on, each with its state.")
    origin: str = Field(description="elaborated or declared.")
    truncated: bool = Field(description="Whether parts were cut.")

    @classmethod
    def of_node(cls, snapshot: "Snapshot", name: str) -> Self:
        """Describe a node of any kind."""
        node = snapshot.project.node(name)
        graph = snapshot.graph
        source = snapshot.project.file(node.path).source
        text = source.slice(node.span)
        state, reasons = _reasons(snapshot, name)
        ancestors = graph.ancestors(name) if name in graph.vertices else ()
        first, last = source.position(node.span.start).line, source.position(node.span.end).line
        return cls(
            place=f"{node.path}:{first}-{last}",
            source=text[:MAX_TEXT],
            state=state,
            reasons=reasons[:MAX_NAMES],
            ancestors=[f"{one} ({snapshot.progress.states[one]})" for one in ancestors[:MAX_NAMES]],
            origin=graph.edges.origin,
            truncated=len(text) > MAX_TEXT or max(len(ancestors), len(reasons)) > MAX_NAMES,
        )


class Overview(_Answer):
    """The whole graph at a glance."""

    counts: dict[str, int] = Field(description="Nodes by state.")
    leaves: list[str] = Field(description=f"The first {MAX_NAMES}.")
    total: int = Field(description="All leaves.")
    critical_path: list[str] = Field(description="Unproved nodes.")
    cycles: list[str] = Field(description="Errors.")
    origin: str = Field(description="elaborated or declared.")
    lean: str = Field(description="What Lean does.")

    @classmethod
    def of_snapshot(cls, snapshot: "Snapshot") -> Self:
        """Describe a blueprint."""
        graph, progress = snapshot.graph, snapshot.progress
        return cls(
            counts={str(state): count for state, count in progress.counts.items()},
            leaves=list(progress.leaves[:MAX_NAMES]),
            total=len(progress.leaves),
            critical_path=list(progress.critical_path),
            cycles=[" -> ".join((*cycle, cycle[0])) for cycle in graph.cycles[:MAX_NAMES]],
            origin=graph.edges.origin,
            lean=snapshot.lean_message,
        )


class Picture(_Answer):
    """A picture of the graph."""

    picture: str = Field(description="Its text.")


class Verification(_Answer):
    """What the verifier says of a blueprint."""

    verdict: Literal["passed", "failed", "undecided"] = Field(description="undecided: no error, but no Lean.")
    findings: list[str] = Field(description=f"The first {MAX_FINDINGS}, errors first.")
    total: int = Field(description="All findings.")
    lean: str = Field(description="What Lean does.")

    @classmethod
    def of_snapshot(cls, snapshot: "Snapshot") -> Self:
        """Check a blueprint."""
        found = sorted(snapshot.findings, key=lambda finding: finding.severity != "error")
        failed = any(finding.severity == "error" for finding in found)
        return cls(
            verdict="failed" if failed else "passed" if snapshot.lean.state == "done" else "undecided",
            findings=[_sentence(finding) for finding in found[:MAX_FINDINGS]],
            total=len(found),
            lean=snapshot.lean_message,
        )


def _line_of(node: "BlueprintNode", project: "Project") -> int:
    return project.file(node.path).source.position(node.span.start).line


def _sentence(found: "Finding") -> str:
    return f"{found.path}:{found.start.line}:{found.start.column} {found.severity} {found.rule}: {found.message}"


def _reasons(snapshot: "Snapshot", name: str) -> tuple[str, list[str]]:
    taken = _taken_as_they_are(snapshot, name)
    if name not in snapshot.graph.vertices:
        return "definition", ["It is no vertex of the graph, and must be complete.", *taken]
    found = snapshot.progress.explain(name)
    reasons = [found.reason, *(said for wait in found.waits_for if (said := str(wait)) not in found.reason)]
    if len(found.chain) > 1:
        reasons.append(
            f"The longest way to what can be worked on: {' <- '.join((name, *(w.parent for w in found.chain)))}."
        )
    if found.fully_proved:
        reasons.append("So is all that it rests on.")
    elif found.state == "proved":
        reasons.append("Not all that it rests on is proved.")
    if found.assumptions:
        reasons.append(f"It rests on the assumptions {', '.join(map(repr, found.assumptions))}.")
    return found.state, reasons + taken


def _taken_as_they_are(snapshot: "Snapshot", name: str) -> list[str]:
    names = snapshot.taken_as_they_are.get(plain_name(name), ())
    if not names:
        return []
    more = f" and {len(names) - MAX_THEOREMS} more" if len(names) > MAX_THEOREMS else ""
    shown = ", ".join(map(repr, names[:MAX_THEOREMS]))
    return [f"It rests on {theorems(len(names))} whose axioms this Lean cannot show: {shown}{more}."]
