"""Search for infinite counterexamples: magmas on the naturals with an affine rule for each pair of residues.

A backtracking search chooses the rules one by one. Law 1 is computed on a list of assignments; the first product
that needs a rule not chosen yet is where the search branches, and an assignment under which law 1 fails prunes. When
law 1 holds on the whole list, law 2 is made to fail on such a list. What survives is decided exactly for all naturals
by `ekiden_magma.natural`; an assignment that refutes law 1 there joins the list.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numba  # pyright: ignore[reportMissingTypeStubs]  # numba ships no types
import numpy as np
from numpy.typing import NDArray

from ekiden_cayley.kernel_cache import compiled_code_can_be_kept
from ekiden_magma import Assignment, MagmaError, straight_line
from ekiden_magma.natural import AffineRule, ResidueModel

if TYPE_CHECKING:
    from ekiden_magma import Law

MAX_VARIABLES = 6
MAX_OPERATIONS = 16
ASSIGNMENTS = 160
SPARE_ASSIGNMENTS = 64
WIDEST = 60
EXACT_CELLS = 4000

Numbers = NDArray[np.int64]

OUT_OF_BUDGET, CANDIDATE, EXHAUSTED = 0, 1, 2


class InfiniteRefutation(NamedTuple):
    """A model of law 1, and an assignment under which law 2 fails in it."""

    model: ResidueModel
    assignment: Assignment


class RuleSpace(NamedTuple):
    """The models to search: a modulus, and the rules that each pair of residues may choose from."""

    modulus: int
    rules: tuple[AffineRule, ...]


def _rules(factors: tuple[tuple[int, int], ...], reach: int) -> tuple[AffineRule, ...]:
    found = [AffineRule(a, b, c) for a, b in factors for c in range(-reach, reach + 1) if c >= 0 or a or b]
    return tuple(sorted(found, key=lambda rule: (abs(rule.c) + 2 * max(rule.a + rule.b - 1, 0), rule)))


_PROJECTIONS = ((0, 1), (1, 0))
_SIMPLE = (*_PROJECTIONS, (0, 0))
_SMALL = (*_SIMPLE, (1, 1), (2, 0), (0, 2))
_WIDE = tuple((a, b) for a in range(4) for b in range(4))

RULE_SPACES = (
    RuleSpace(1, _rules(_WIDE, 3)),
    RuleSpace(2, _rules(_SIMPLE, 2)),
    RuleSpace(3, _rules(_PROJECTIONS, 1)),
    RuleSpace(2, _rules(_SMALL, 4)),
    RuleSpace(3, _rules(_SIMPLE, 3)),
    RuleSpace(4, _rules(_PROJECTIONS, 2)),
)


class InfiniteSearch:
    """The search through one rule space, advanced by budgets; nothing is tried twice."""

    def __init__(self, law1: Law, law2: Law, space: RuleSpace) -> None:
        self.space = space
        self.exhausted = not _is_small(law1) or not _is_small(law2)
        self._laws = (law1, law2)
        self._programs = (_flat(law1), _flat(law2))
        self._rules = np.array(space.rules, dtype=np.int64)
        cells = space.modulus**2
        self._chosen = np.full(cells, -1, dtype=np.int64)
        self._stack = np.zeros((cells + 1, 3), dtype=np.int64)
        self._depth = np.array([0, 1], dtype=np.int64)
        self._given = np.zeros((ASSIGNMENTS + SPARE_ASSIGNMENTS, max(1, len(law1.variables))), dtype=np.int64)
        self._goals = _assignments(len(law2.variables), ASSIGNMENTS)
        first = _assignments(len(law1.variables), ASSIGNMENTS)
        self._given[: len(first)] = first
        self._count = len(first)

    def advance(self, budget: int) -> InfiniteRefutation | None:
        """Compute about `budget` assignments more, or until a refutation is found or nothing is left."""
        left = np.array([budget], dtype=np.int64)
        while not self.exhausted and left[0] > 0:
            given = self._given[: self._count]
            status = _backtrack(
                *self._programs, self.space.modulus, self._rules, given, self._goals,
                self._chosen, self._stack, self._depth, left,
            )  # fmt: skip
            if status == EXHAUSTED:
                self.exhausted = True
            elif status == CANDIDATE:
                found = self._decide()
                if found is not None:
                    return found
                left[0] -= ASSIGNMENTS
        return None

    def _decide(self) -> InfiniteRefutation | None:
        """Decide the model at hand for all naturals.

        An assignment that breaks law 1 joins the list, and the same choices are tried once more with it: pairs of
        residues without a rule yet may take others than the first, which stands in for them here.
        """
        law1, law2 = self._laws
        rules = self.space.rules
        model = ResidueModel(self.space.modulus, tuple(rules[max(choice, 0)] for choice in self._chosen.tolist()))
        try:
            broken1 = model.counterexample(law1, max_cells=EXACT_CELLS)
            if broken1 is None:
                broken2 = model.counterexample(law2, max_cells=EXACT_CELLS)
                return None if broken2 is None else InfiniteRefutation(model, broken2)
        except MagmaError:
            return None
        if self._count < len(self._given):
            values = [broken1[name] for name in law1.variables]
            if max(values, default=0) < 1000:
                self._given[self._count] = values
                self._count += 1
                self._depth[1] = 1
        return None


def _is_small(law: Law) -> bool:
    return len(law.variables) <= MAX_VARIABLES and law.operations <= MAX_OPERATIONS


def _assignments(variables: int, count: int) -> Numbers:
    """Return assignments, half of them by small numbers, small sums first, half drawn from a wider range.

    Small numbers alone would let models pass in which truncation hides what happens further out.
    """
    if variables == 0 or variables > MAX_VARIABLES:
        return np.zeros((1, max(1, variables)), dtype=np.int64)
    side = max(2, min(40, round((2 * count) ** (1 / variables))))
    points = np.array(list(itertools.product(range(side), repeat=variables)), dtype=np.int64)
    order = np.argsort(points.sum(axis=1) + points.max(axis=1), kind="stable")
    small = points[order[: count // 2]]
    wide = np.random.default_rng(variables).integers(0, WIDEST, (count - len(small), variables))
    return np.ascontiguousarray(np.concatenate([small, wide]))


def _flat(law: Law) -> Numbers:
    """Flatten a law: variables, steps, left, right, then the arguments of the steps."""
    program = straight_line(law)
    arguments = [slot for step in program.steps for slot in step]
    return np.array([program.variables, len(program.steps), program.left, program.right, *arguments], dtype=np.int64)


_compiled = cast("Any", numba).njit
_KEEP = compiled_code_can_be_kept(__file__)


@_compiled("i8(i8[::1], i8[::1], i8, i8[:, ::1], i8[::1], i8[::1])", nogil=True, cache=_KEEP)
def _compare(  # noqa: PLR0917  # compiled functions take no keywords
    code: Numbers,
    values: Numbers,
    modulus: int,
    rules: Numbers,
    chosen: Numbers,
    slots: Numbers,
) -> int:
    """Compute both sides: -1 if they differ, -2 if they are equal, else the pair of residues whose rule is needed."""
    variables = code[0]
    for variable in range(variables):
        slots[variable] = values[variable]
    for step in range(code[1]):
        x = slots[code[4 + 2 * step]]
        y = slots[code[5 + 2 * step]]
        cell = (x % modulus) * modulus + y % modulus
        rule = chosen[cell]
        if rule < 0:
            return int(cell)
        value = rules[rule, 0] * x + rules[rule, 1] * y + rules[rule, 2]
        slots[variables + step] = value if value > 0 else 0
    return -2 if slots[code[2]] == slots[code[3]] else -1


@_compiled(
    "i8(i8[::1], i8[::1], i8, i8[:, ::1], i8[:, ::1], i8[:, ::1], i8[::1], i8[:, ::1], i8[::1], i8[::1])",
    nogil=True,
    cache=_KEEP,
)
def _backtrack(  # noqa: PLR0912, PLR0917  # one compiled loop; compiled functions take no keywords
    code1: Numbers,
    code2: Numbers,
    modulus: int,
    rules: Numbers,
    given: Numbers,
    goals: Numbers,
    chosen: Numbers,
    stack: Numbers,
    depth: Numbers,
    left: Numbers,
) -> int:
    """Go on until the budget is used, a model passes all assignments, or nothing is left.

    `stack` holds for each choice: the pair of residues, the rule, and how many assignments are known to pass.
    `depth` is the number of choices, and whether they are still to be tried (else they were, and the next come).
    """
    slots = np.empty(64, np.int64)
    while True:
        if depth[1] == 0:
            # Take the next rule of the last choice; give up choices without one.
            while depth[0] > 0:
                top = depth[0] - 1
                stack[top, 1] += 1
                if stack[top, 1] < rules.shape[0]:
                    chosen[stack[top, 0]] = stack[top, 1]
                    stack[depth[0], 2] = stack[top, 2]
                    break
                chosen[stack[top, 0]] = -1
                depth[0] = top
            if depth[0] == 0:
                return EXHAUSTED
        depth[1] = 0
        level = depth[0]
        needed = np.int64(-2)
        at = stack[level, 2]
        while at < given.shape[0]:
            needed = _compare(code1, given[at], modulus, rules, chosen, slots)
            left[0] -= 1
            if needed != -2:
                break
            at += 1
        stack[level, 2] = at
        if needed == -1:
            if left[0] <= 0:
                return OUT_OF_BUDGET
            continue
        if needed == -2:
            # Law 1 passes: is there an assignment under which law 2 fails, or may still fail?
            for goal in range(goals.shape[0]):
                result = _compare(code2, goals[goal], modulus, rules, chosen, slots)
                left[0] -= 1
                if result == -1:
                    return CANDIDATE
                if result >= 0 and needed == -2:
                    needed = result
            if needed == -2:
                if left[0] <= 0:
                    return OUT_OF_BUDGET
                continue
        stack[level, 0] = needed
        stack[level, 1] = 0
        chosen[needed] = 0
        depth[0] = level + 1
        stack[level + 1, 2] = at
        depth[1] = 1
        if left[0] <= 0:
            return OUT_OF_BUDGET
