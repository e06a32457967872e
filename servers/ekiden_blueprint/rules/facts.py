"""What the rules need of Lean's facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ekiden_blueprint.edges import DeclarationFacts

if TYPE_CHECKING:
    from collections.abc import Sequence


class CheckedDeclaration(DeclarationFacts, Protocol):
    """What Lean and its kernel say of one declaration."""

    @property
    def axioms(self) -> tuple[str, ...]:
        """All axioms that it rests on, through whatever it uses."""
        ...

    @property
    def sorry(self) -> bool:
        """Whether it rests on a `sorry`, however far down."""
        ...


class CheckedFacts(Protocol):
    """What Lean and its kernel say of all declarations of a blueprint."""

    @property
    def outcome(self) -> str:
        """`complete`, or how the work ended before that."""
        ...

    @property
    def message(self) -> str:
        """The outcome in words."""
        ...

    @property
    def declarations(self) -> Sequence[CheckedDeclaration]:
        """The declarations, in the order of the text."""
        ...


class LeanMessage(Protocol):
    """One message of Lean: lines count from 1, columns from 0 and in code points."""

    @property
    def severity(self) -> str:
        """`error`, `warning`, or anything milder."""
        ...

    @property
    def message(self) -> str:
        """What it says, without place and severity."""
        ...

    @property
    def line(self) -> int:
        """The line; 0 when it is about no place."""
        ...

    @property
    def column(self) -> int:
        """The column."""
        ...
