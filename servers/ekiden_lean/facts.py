"""What a text declares, as the kernel has it."""

from dataclasses import dataclass
from typing import Literal

from ekiden_lean.diagnostics import Diagnostic
from ekiden_lean.names import canonical

DeclarationKind = Literal["theorem", "def", "instance", "axiom", "inductive", "opaque", "unsafe"]
ProbeOutcome = Literal["complete", "refused", "timeout", "memory", "crashed", "unavailable"]


@dataclass(frozen=True, slots=True)
class DeclarationFacts:
    """What is known of one declaration. Pieces that Lean makes of a declaration count as part of it.

    Attributes:
        name: What the source calls it, with its namespaces; a private name without Lean's prefix.
        kind: What it is for the kernel; `instance` is a `def` that type class search finds; `unsafe` is nothing to it.
        private: Whether it is private.
        type_hash: A hash of its type; other declarations count by name.
        value_hash: The same of its value: a proof, a definition's body, the constructors of an inductive type. Empty
            where there is none.
        meaning_hash: A hash of its type, and unless it is a theorem of its value, in which definitions of the same text
            count by what they mean, all the way down, and not by name.
        axioms: All axioms that it rests on; of a declaration that is refused those that show.
        unproved: Library theorems that it rests on and whose axioms this toolchain cannot show.
        sorry: Whether it rests on `sorry`, however far down.
        own_sorry: Whether its own type or value holds a `sorry`.
        uses_type: Declarations of the same text that its type names.
        uses_value: Declarations of the same text that its value names, in its type or not.
        refusal: Why the kernel refuses it; empty when it does not.
        line: The line at which its command begins, by the account of the process that read the text: good for showing,
            not for deciding.
    """

    name: str
    kind: DeclarationKind
    private: bool
    type_hash: str
    value_hash: str
    meaning_hash: str
    axioms: tuple[str, ...]
    unproved: tuple[str, ...]
    sorry: bool
    own_sorry: bool
    uses_type: tuple[str, ...]
    uses_value: tuple[str, ...]
    refusal: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class LeanFacts:
    """What Lean and its kernel say of a text.

    Attributes:
        outcome: `complete`: the facts are those of all that the text declares. `refused`: its header or its export
            cannot be read. `timeout`, `memory`, `crashed`: its process ended that way. `unavailable`: it imports a
            library that this toolchain does not have.
        message: The outcome in words.
        plain: Whether nothing in the text could make Lean run code of it. Code could have declared other things than
            the text says; what was declared is reported truly all the same.
        declarations: Facts of each declaration, in the order of the text.
        diagnostics: Lean's messages, by the account of the process that read the text.
        identity: The toolchain, driver and limits.
        seconds: Wall seconds that it took, start-up left out.
    """

    outcome: ProbeOutcome
    message: str
    plain: bool
    declarations: tuple[DeclarationFacts, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    identity: str = ""
    seconds: float = 0.0

    @property
    def has_errors(self) -> bool:
        """Tell whether Lean or the kernel objects to anything; a `sorry` is no error."""
        return (
            self.outcome != "complete"
            or any(message.severity == "error" for message in self.diagnostics)
            or any(declaration.refusal for declaration in self.declarations)
        )

    def declaration(self, name: str) -> DeclarationFacts | None:
        """Give the facts of a name as source text has it, or None."""
        name = canonical(name)
        return next((one for one in self.declarations if one.name == name), None)
