"""Reading equational proofs from Lean tactic blocks, for a fragment of what Lean accepts.

Read are `intro`, `have`, `exact` and `calc`, and in proof terms applications of hypotheses and lemmas, `rfl`,
`Eq.symm`, `Eq.trans`, `congrArg` with a function given by `fun` or `·`, the same as `.symm` and `.trans`. Everything
read is turned into rewriting steps, and the sides of every equation are followed: if all of them fit where Lean
compares them, the proof `is_coherent`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ekiden_magma import term as terms
from ekiden_magma.certificate import EquationalProof, Lemma, Step
from ekiden_magma.law import CANONICAL_NAMES, Law
from ekiden_magma.lean_tokens import Undecided
from ekiden_magma.term import Product, Term, Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ekiden_magma.lean_cursor import Cursor

MAX_STEPS = 5_000
MAX_OPERATIONS = 2_000

_CARRIER = "type"
_BUILT_IN = ("rfl", "congrArg", "Eq.symm", "Eq.trans")


@dataclass(frozen=True, slots=True)
class _Equation:
    """A proved equation: its sides, and the steps between them."""

    left: Term
    right: Term
    steps: tuple[Step, ...]

    def symm(self) -> _Equation:
        steps = tuple(Step(s.rule, s.arguments, s.path, not s.reverse) for s in reversed(self.steps))
        return _Equation(self.right, self.left, steps)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A hypothesis or lemma in scope: a law, and which of its variables are arguments, in which order."""

    number: int
    law: Law
    binders: tuple[str, ...]


_Meaning = Term | _Rule | str | None
_Goal = tuple[Term, Term]


@dataclass(slots=True)
class ProofReader:
    """Reads one tactic block that proves the goal of a question."""

    cursor: Cursor
    law1: Law
    law2: Law
    is_coherent: bool = True
    _lemmas: list[Lemma] = field(default_factory=list[Lemma])
    _scope: dict[str, _Meaning] = field(default_factory=dict[str, "_Meaning"])
    _letters: set[str] = field(default_factory=set[str])

    def read(self) -> EquationalProof:
        """Read the block up to its end.

        Raises:
            Undecided: The text is outside the fragment.
        """
        self._letters.update(self.law2.variables)
        waiting: list[Callable[[str], None]] = [
            self._binding(_CARRIER),
            self._binding(None),
            self._binding(_Rule(0, self.law1, self.law1.variables)),
            *(self._binding(Variable(letter)) for letter in self.law2.variables),
        ]
        proved = self._block(waiting, 3, (self.law2.left, self.law2.right))
        return EquationalProof(self.law1, self.law2, proved.steps, tuple(self._lemmas))

    def _bind(self, name: str, meaning: _Meaning) -> None:
        if name in _BUILT_IN:
            raise Undecided
        if name != "_":
            self._scope[name] = meaning

    def _binding(self, meaning: _Meaning) -> Callable[[str], None]:
        return lambda name: self._bind(name, meaning)

    def _block(self, waiting: list[Callable[[str], None]], before_have: int, goal: _Goal) -> _Equation:
        """Read a tactic block; `waiting` are the binders of its goal, of which a `have` needs the first few."""
        proved: _Equation | None = None
        given = 0
        for _ in self.cursor.items():
            if proved is not None:
                raise Undecided
            if self.cursor.accept("intro"):
                name = self.cursor.new_name()
                while True:
                    if given == len(waiting):
                        raise Undecided
                    waiting[given](name)
                    given += 1
                    if not self._sees_name():
                        break
                    name = self.cursor.new_name()
            elif self.cursor.sees("have") and given >= before_have:
                self._have()
            elif self.cursor.sees("calc") and given == len(waiting):
                proved = self._expression(goal)
            elif self.cursor.accept("exact") and given >= before_have:
                given += self._function_binders(waiting[given:])
                if given < len(waiting):
                    raise Undecided
                proved = self._expression(goal)
            else:
                raise Undecided
        if proved is None:
            raise Undecided
        return proved

    def _sees_name(self) -> bool:
        token = self.cursor.next
        return token.kind == "name" and token.spaced and self.cursor.sees(token.text)

    def _function_binders(self, waiting: list[Callable[[str], None]]) -> int:
        """Read `fun a b =>`, perhaps several times, for binders that the goal waits for."""
        given = 0
        while self.cursor.sees("fun"):
            self.cursor.take()
            while not self.cursor.sees("=>", "↦"):
                if given == len(waiting):
                    raise Undecided
                waiting[given](self.cursor.new_name())
                given += 1
            self.cursor.take()
        return given

    def _have(self) -> None:
        """Read `have name binders : statement := proof`."""
        self.cursor.expect("have")
        name = self.cursor.new_name()
        outer, letters = dict(self._scope), set(self._letters)
        binders: list[str] = []
        while self.cursor.next.spaced and self.cursor.sees("("):
            binders += self._binder_group()
        if self.cursor.accept(":="):
            if binders or name == "_":
                raise Undecided
            proved = self._expression(None)
            law = Law(proved.left, proved.right)
        else:
            self.cursor.expect(":")
            own = self._quantifiers()
            left = self._term()
            self.cursor.expect("=")
            law = Law(left, self._term())
            self.cursor.expect(":=")
            if binders and own:
                raise Undecided
            if own:  # the names after `∀` are not in scope in the proof
                self._scope = dict(outer)
            proved = self._lemma_proof([self._binding(Variable(letter)) for letter in own], law)
            binders += own
        self._scope, self._letters = outer, letters
        self._lemmas.append(Lemma(law, _closed(proved.steps, law)))
        self._bind(name, _Rule(len(self._lemmas), law, tuple(binders)))

    def _lemma_proof(self, waiting: list[Callable[[str], None]], law: Law) -> _Equation:
        if self.cursor.accept("by"):
            return self._block(waiting, 0, (law.left, law.right))
        if self._function_binders(waiting) < len(waiting):
            raise Undecided
        return self._expression((law.left, law.right))

    def _quantifiers(self) -> list[str]:
        letters: list[str] = []
        while self.cursor.accept("∀"):
            if self.cursor.sees("("):
                while self.cursor.sees("("):
                    letters += self._binder_group()
            else:
                letters += self._names_of_type()
            self.cursor.expect(",")
        return letters

    def _binder_group(self) -> list[str]:
        self.cursor.expect("(")
        letters = self._names_of_type()
        self.cursor.expect(")")
        return letters

    def _names_of_type(self) -> list[str]:
        """Read `a b : G`, and give each name a fresh letter."""
        names: list[str] = []
        while not self.cursor.sees(":"):
            names.append(self.cursor.new_name())
        self.cursor.expect(":")
        if not names or len(set(names)) < len(names) or "_" in names:
            raise Undecided
        self._carrier()
        letters: list[str] = []
        for name in names:
            letters.append(self._fresh_letter())
            self._bind(name, Variable(letters[-1]))
        return letters

    def _carrier(self) -> None:
        if self._scope.get(self.cursor.take("name").text) != _CARRIER:
            raise Undecided

    def _fresh_letter(self) -> str:
        """Return a letter that no variable of this or an enclosing derivation has."""
        for letter in CANONICAL_NAMES:
            if letter not in self._letters:
                self._letters.add(letter)
                return letter
        raise Undecided

    # Terms of the magma.

    def _term(self) -> Term:
        with self.cursor.deeper():
            left = self._operand()
            if self.cursor.accept("◇"):
                return Product(left, self._operand())
            return left

    def _operand(self) -> Term:
        if self.cursor.accept("("):
            term = self._term()
            self.cursor.expect(")")
            self._no_field()
            return term
        return self._element(self.cursor.take("name").text)

    def _element(self, name: str) -> Term:
        meaning = self._scope.get(name)
        if not isinstance(meaning, Variable | Product):
            raise Undecided
        return meaning

    def _no_field(self) -> None:
        if self.cursor.next.text == ".":
            raise Undecided

    # Proof terms.

    def _expression(self, goal: _Goal | None) -> _Equation:
        """Read a proof term; where Lean knows what it must prove, that is the goal."""
        with self.cursor.deeper():
            if self.cursor.accept("calc"):
                proved = self._calc()
            elif goal is not None and self.cursor.accept("rfl"):
                proved = _Equation(goal[0], goal[0], ())
            else:
                proved = self._application()
        if goal is not None:
            self._compare(proved.left, goal[0])
            self._compare(proved.right, goal[1])
        return proved

    def _compare(self, found: Term, expected: Term) -> None:
        self.is_coherent = self.is_coherent and found == expected

    def _application(self) -> _Equation:
        if self.cursor.sees("("):
            return self._parenthesized()
        name = self.cursor.take("name").text
        if name == "Eq.symm":
            return self._argument().symm()
        if name == "Eq.trans":
            return self._joined(self._argument(), self._argument())
        if name == "congrArg":
            return self._congruence()
        rule, fields = self._rule(name)
        if fields:
            return self._with_fields(self._instance(rule, []), fields)
        return self._instance(rule, [self._element_argument() for _ in rule.binders])

    def _argument(self) -> _Equation:
        """Read a proof term in the place of an argument."""
        if not self.cursor.next.spaced:
            raise Undecided
        if self.cursor.sees("("):
            return self._parenthesized(is_argument=True)
        rule, fields = self._rule(self.cursor.take("name").text)
        if "trans" in fields:
            raise Undecided
        return self._with_fields(self._instance(rule, []), fields)

    def _parenthesized(self, *, is_argument: bool = False) -> _Equation:
        self.cursor.expect("(")
        proved = self._expression(None)
        self.cursor.expect(")")
        fields: list[str] = []
        if self.cursor.next.text == "." and not self.cursor.next.spaced:
            self.cursor.expect(".")
            if self.cursor.next.spaced:
                raise Undecided
            fields = self.cursor.take("name").text.split(".")
        if is_argument and "trans" in fields:
            raise Undecided
        return self._with_fields(proved, fields)

    def _with_fields(self, proved: _Equation, fields: list[str]) -> _Equation:
        """Apply `.symm` any number of times, then `.trans` at most once."""
        for place, name in enumerate(fields):
            if name == "symm":
                proved = proved.symm()
            elif name == "trans" and place == len(fields) - 1:
                proved = self._joined(proved, self._argument())
            else:
                raise Undecided
        return proved

    def _rule(self, name: str) -> tuple[_Rule, list[str]]:
        head, *fields = name.split(".")
        rule = self._scope.get(head)
        if not isinstance(rule, _Rule) or (fields and rule.binders):
            raise Undecided
        return rule, fields

    def _element_argument(self) -> Term:
        if not self.cursor.next.spaced:
            raise Undecided
        return self._operand()

    def _instance(self, rule: _Rule, arguments: list[Term]) -> _Equation:
        if len(arguments) != len(rule.binders):
            raise Undecided
        images = dict(zip(rule.binders, arguments, strict=True))
        left, right = _bounded(rule.law.left, images), _bounded(rule.law.right, images)
        step = Step(rule.number, tuple(images.get(name, Variable(name)) for name in rule.law.variables))
        return _Equation(left, right, (step,))

    def _joined(self, first: _Equation, second: _Equation) -> _Equation:
        self._compare(first.right, second.left)
        if len(first.steps) + len(second.steps) > MAX_STEPS:
            raise Undecided
        return _Equation(first.left, second.right, first.steps + second.steps)

    def _congruence(self) -> _Equation:
        if not self.cursor.next.spaced:
            raise Undecided
        hole = Variable("hole")
        context = self._context(hole)
        inner = self._argument()
        paths = _paths(context, hole)
        if len(paths) * max(1, len(inner.steps)) > MAX_STEPS:
            raise Undecided
        steps = tuple(Step(s.rule, s.arguments, path + s.path, s.reverse) for path in paths for s in inner.steps)
        left, right = _bounded(context, {"hole": inner.left}), _bounded(context, {"hole": inner.right})
        return _Equation(left, right, steps)

    def _context(self, hole: Variable) -> Term:
        """Read `(fun t => term)`, `(· ◇ term)` or `(term ◇ ·)`."""
        self.cursor.expect("(")
        outer = dict(self._scope)
        if self.cursor.accept("fun"):
            is_typed = self._hole_binder(hole)
            self.cursor.expect("=>", "↦")
            context = self._term()
        elif self.cursor.accept("·"):
            is_typed = False
            self.cursor.expect("◇")
            context = Product(hole, self._operand())
        else:
            is_typed = False
            left = self._operand()
            self.cursor.expect("◇")
            self.cursor.expect("·")
            context = Product(left, hole)
        self._scope = outer
        self.cursor.expect(")")
        self._no_field()
        if not is_typed and set(terms.variables(context)) <= {"hole"}:
            raise Undecided  # nothing here tells Lean the type
        return context

    def _hole_binder(self, hole: Variable) -> bool:
        """Read the binder of a context; tell whether it has a type."""
        in_parentheses = self.cursor.accept("(")
        name = self.cursor.new_name()
        is_typed = in_parentheses or self.cursor.sees(":")
        if is_typed:
            self.cursor.expect(":")
            self._carrier()
        if in_parentheses:
            self.cursor.expect(")")
        self._bind(name, hole)
        return is_typed

    def _calc(self) -> _Equation:
        column = self.cursor.next.column
        with self.cursor.item():
            left = self._term()
            here = _Equation(left, left, ())
            if self.cursor.accept("="):
                here = self._calc_step(here)
            elif self.cursor.sees(":="):
                raise Undecided
        if not (self.cursor.next.column <= column and self.cursor.sees("_")):
            if not here.steps:
                raise Undecided
            return here
        for _ in self.cursor.items():
            self.cursor.expect("_")
            self.cursor.expect("=")
            here = self._calc_step(here)
        return here

    def _calc_step(self, here: _Equation) -> _Equation:
        target = self._term()
        self.cursor.expect(":=")
        proved = self._expression((here.right, target))
        return _Equation(here.left, target, self._joined(here, proved).steps)


def _bounded(term: Term, images: dict[str, Term]) -> Term:
    """Substitute, unless the result would be large."""
    sizes = {name: terms.operations(image) for name, image in images.items()}
    size = sum(sizes.get(leaf.name, 0) for leaf in terms.subterms(term) if isinstance(leaf, Variable))
    if size + terms.operations(term) > MAX_OPERATIONS:
        raise Undecided
    return terms.substitute(term, images)


def _paths(term: Term, leaf: Variable) -> list[str]:
    if isinstance(term, Variable):
        return [""] if term == leaf else []
    return ["l" + path for path in _paths(term.left, leaf)] + ["r" + path for path in _paths(term.right, leaf)]


def _closed(steps: tuple[Step, ...], law: Law) -> tuple[Step, ...]:
    """Put a variable of the law for the variables that its sides do not have; the steps hold for any value of them."""
    known = set(law.variables)
    stand_in = Variable(law.variables[0])
    closed: list[Step] = []
    for step in steps:
        foreign = {name for argument in step.arguments for name in terms.variables(argument)} - known
        images: dict[str, Term] = dict.fromkeys(foreign, stand_in)
        arguments = tuple(terms.substitute(argument, images) for argument in step.arguments)
        closed.append(Step(step.rule, arguments, step.path, step.reverse))
    return tuple(closed)
