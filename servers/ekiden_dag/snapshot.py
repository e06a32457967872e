"""What a blueprint's files say at one moment, parsed once, with what Lean has found so far."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from ekiden_blueprint.edges import edges_of, plain_name
from ekiden_blueprint.graph import ProofGraph
from ekiden_blueprint.parser import parse
from ekiden_blueprint.project import Project
from ekiden_blueprint.rules import CONTRACT, check
from ekiden_blueprint.rules.facts import CheckedDeclaration, CheckedFacts
from ekiden_blueprint.states import Progress
from ekiden_dag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from threading import Event

    from ekiden_blueprint.findings import Finding
    from ekiden_blueprint.rules import Allowances, Diagnostic
    from ekiden_dag.target import Target

LeanState = Literal["done", "running", "failed", "absent"]
"""Lean's part: its facts are in; it is at work; it came to no end; there is no Lean, or it was not asked for."""


class TrackedDeclaration(CheckedDeclaration, Protocol):
    """What Lean says of one declaration."""

    @property
    def unproved(self) -> tuple[str, ...]:
        """Library theorems that it rests on and whose axioms this Lean cannot show."""
        ...


class TrackedFacts(CheckedFacts, Protocol):
    """What Lean says of all declarations of a blueprint."""

    @property
    def declarations(self) -> Sequence[TrackedDeclaration]:
        """The declarations, in the order of the text."""
        ...


class Elaboration(NamedTuple):
    """What Lean said of a blueprint: its facts, and its messages placed in the files."""

    facts: TrackedFacts
    diagnostics: Sequence[Diagnostic]


class Elaborator(Protocol):
    """Has Lean elaborate blueprints, one at a time."""

    def elaborate(self, project: Project, stop: Event) -> Elaboration:
        """Elaborate a blueprint; to be called on a worker thread, and may take minutes.

        Args:
            project: The blueprint.
            stop: Set by another thread when this is no longer wanted.

        Raises:
            ElaborationError: Lean cannot be asked here, or it was stopped.
        """
        ...


@dataclass(frozen=True, slots=True)
class LeanPart:
    """How far Lean is with a snapshot.

    Attributes:
        state: How far.
        message: In words, what that means for the answers.
        elaboration: What it said, if it has said anything.
    """

    state: LeanState
    message: str
    elaboration: Elaboration | None = None

    @classmethod
    def of_elaboration(cls, found: Elaboration) -> LeanPart:
        """Describe what Lean said."""
        facts = found.facts
        if facts.outcome == "complete":
            return cls("done", f"Lean has elaborated the blueprint. {facts.message}", found)
        if facts.outcome == "unavailable":  # as good as no Lean
            return cls("absent", f"Lean cannot be asked: {facts.message} Edges and states are what the text declares.")
        return cls("failed", f"Lean came to no end ({facts.outcome}): {facts.message}", found)


NO_LEAN = LeanPart("absent", "No Lean is asked here: edges and states are what the text declares.")
RUNNING = LeanPart("running", "Lean is at work; until it is done, edges and states are what the text declares.")


@dataclass(frozen=True)
class Snapshot:
    """One moment of a blueprint; what is made from it is made once, when it is first asked for.

    Attributes:
        contents: The bytes of the files.
        project: The parsed files.
        code_key: Names what Lean sees: the same as long as only prose changes.
        allowances: What the rules allow.
        lean: Lean's part.
    """

    contents: tuple[bytes, ...]
    project: Project
    code_key: str
    allowances: Allowances = CONTRACT
    lean: LeanPart = NO_LEAN

    @classmethod
    def of_contents(
        cls,
        target: Target,
        contents: tuple[bytes, ...],
        previous: Snapshot | None = None,
        allowances: Allowances = CONTRACT,
    ) -> Snapshot:
        """Parse files, taking over from an earlier snapshot what did not change.

        Raises:
            ConfigurationError: A file is not UTF-8.
        """
        known = {file.source.path: file for file in previous.project.files} if previous else {}
        files = [
            parse(_decoded(path, data), path, source_folder=target.source_folder, previous=known.get(path))
            for path, data in zip(target.files, contents, strict=True)
        ]
        project = Project(files)
        return cls(contents, project, code_key(project), allowances)

    def with_lean(self, lean: LeanPart) -> Snapshot:
        """Give the same moment with more from Lean."""
        return self if lean == self.lean else replace(self, lean=lean)

    @property
    def facts(self) -> TrackedFacts | None:
        """What Lean found."""
        return self.lean.elaboration.facts if self.lean.elaboration else None

    @cached_property
    def taken_as_they_are(self) -> dict[str, tuple[str, ...]]:
        """For declarations, by plain name, the library theorems that they rest on and whose axioms do not show."""
        known = self.facts.declarations if self.facts else ()
        return {plain_name(one.name): one.unproved for one in known if one.unproved}

    @property
    def lean_message(self) -> str:
        """How far Lean is, and what its word leaves open."""
        count = len({name for names in self.taken_as_they_are.values() for name in names})
        if not count:
            return self.lean.message
        return f"{self.lean.message} Their axioms leave out those of {theorems(count)} taken as they are."

    @cached_property
    def graph(self) -> ProofGraph:
        """The proof graph, from Lean's facts where they are in."""
        return ProofGraph(self.project, edges_of(self.project, self.facts))

    @cached_property
    def progress(self) -> Progress:
        """The nodes' states."""
        return Progress(self.graph, self.facts, assumed=self.allowances.assumptions)

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rules find, Lean's own messages included."""
        found = self.lean.elaboration
        return check(
            self.project,
            edges=self.graph.edges,
            diagnostics=None if found is None else found.diagnostics,
            allowances=self.allowances,
            facts=None if found is None else found.facts,
        )


def theorems(count: int) -> str:
    """Say how many theorems of the library."""
    return f"{count} library theorem{'s' if count > 1 else ''}"


def read_contents(target: Target) -> tuple[bytes, ...]:
    """Read the files.

    Raises:
        ConfigurationError: One cannot be read.
    """
    contents: list[bytes] = []
    for file, path in zip(target.files, target.paths, strict=True):
        if path.resolve() != path:
            raise ConfigurationError(
                f"{file!r} leads elsewhere by a link now. Put the file itself back and call again."
            )
        try:
            contents.append(path.read_bytes())
        except OSError as error:
            raise ConfigurationError(
                f"Cannot read {file!r}: {error.strerror or type(error).__name__}. Put the file back and call again."
            ) from error
    return tuple(contents)


def code_key(project: Project) -> str:
    """Name the code of a project: all but the prose in its nodes' options."""
    digest = hashlib.sha256()
    for file in project.files:
        spans = [option.value_span for node in file.nodes for option in node.options if option.form != "other"]
        for part in (file.source.path, *_without(file.source.text, spans)):
            digest.update(part.encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
    return digest.hexdigest()


def _without(text: str, spans: Iterable[tuple[int, int]]) -> Iterable[str]:
    done = 0
    for start, end in sorted(spans):
        yield text[done:start]
        done = end
    yield text[done:]


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path!r} is not UTF-8: byte {error.start} cannot be read. Save it as UTF-8 and call again."
        ) from error
