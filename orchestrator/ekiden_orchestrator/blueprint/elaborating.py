"""What Lean says of the versions of a blueprint that are verified."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from ekiden_blueprint.version import ComparedDeclaration
from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ekiden_blueprint.project import Project
    from ekiden_blueprint.rules import Diagnostic
    from ekiden_config import LeanSettings

    Elaborator = Callable[[Project], "Elaborated"]
    """Asks Lean about a version."""

LeanUse = Literal["auto", "off", "required"]
"""Whether to ask Lean where it is there and has the libraries, not to ask it, or to fail without it."""


class VerifiedDeclaration(ComparedDeclaration, Protocol):
    """All that a verdict needs of one declaration."""

    @property
    def axioms(self) -> tuple[str, ...]:
        """All axioms that it rests on."""
        ...

    @property
    def unproved(self) -> tuple[str, ...]:
        """Library theorems that it rests on and whose axioms this Lean cannot show."""
        ...

    @property
    def sorry(self) -> bool:
        """Whether it rests on `sorry`, however far down."""
        ...


class VerifiedFacts(Protocol):
    """All that a verdict needs of one version."""

    @property
    def outcome(self) -> str:
        """`complete`, or how the work ended before that."""
        ...

    @property
    def message(self) -> str:
        """The outcome in words."""
        ...

    @property
    def identity(self) -> str:
        """The Lean that was asked."""
        ...

    @property
    def declarations(self) -> Sequence[VerifiedDeclaration]:
        """The declarations, in the order of the text."""
        ...


class Elaborated(NamedTuple):
    """What Lean says of a version: facts and messages, or in `absent` why there are none."""

    facts: VerifiedFacts | None = None
    diagnostics: Sequence[Diagnostic] = ()
    absent: str = ""


@contextmanager
def elaborator(settings: LeanSettings, use: LeanUse) -> Generator[Elaborator]:
    """Open the Lean that the settings choose, as far as it is wanted.

    Raises:
        CommandError: It is required and is not there.
    """
    if use == "off":
        yield lambda _: Elaborated(absent="Lean was not asked: `--lean off`.")
        return
    from ekiden_dag.elaboration import LeanElaborator

    lean = LeanElaborator(settings)
    try:
        yield lambda project: _ask(lean, project, use)
    finally:
        lean.close()


def _ask(lean: object, project: Project, use: LeanUse) -> Elaborated:
    from ekiden_dag.elaboration import LeanElaborator
    from ekiden_dag.errors import ElaborationError
    from ekiden_lean.facts import LeanFacts

    assert isinstance(lean, LeanElaborator)
    try:
        found = lean.elaborate(project)
    except ElaborationError as error:
        if use == "required":
            raise CommandError(str(error)) from error
        return Elaborated(absent=str(error))
    assert isinstance(found.facts, LeanFacts)
    if found.facts.outcome == "unavailable" and use == "auto":
        return Elaborated(absent=found.facts.message)
    return Elaborated(found.facts, found.diagnostics)
