"""What the judge asks of a checker of Lean code."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

from ekiden_judge.diagnostics import Diagnostic, bounded
from ekiden_judge.errors import JudgeInfrastructureError
from ekiden_judge.problem import Problem
from ekiden_judge.verdict import CertificateKind, CheckCode, Claim

_LOGGER = logging.getLogger(__name__)


class CheckItem(NamedTuple):
    """One answer whose text has passed all checks: the problem, what the answer claims, and its code."""

    problem: Problem
    claim: Claim
    code: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a checker found out about one answer.

    Attributes:
        error_code: The finding; `HARNESS_ERROR` says nothing about the answer.
        message: The reason in words.
        certificate: The kind of certificate, where the checker recognised one.
        axioms: The axioms that the proof rests on, where the checker can tell.
        declarations: The constants that `submission` names itself, where the checker can tell.
        diagnostics: Messages about places of the answer's own text.
        left_out: How many axioms, declarations and diagnostics `bounded` has dropped.
        seconds: How long the check took.
        repeatable: Whether the same check would say the same again; not so after a time-out or a crash.
    """

    error_code: CheckCode
    message: str
    certificate: CertificateKind | None = None
    axioms: tuple[str, ...] = ()
    declarations: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: int = 0
    seconds: float = 0.0
    repeatable: bool = True

    def bounded(self) -> Self:
        """Return the result with lists and texts cut to what a verdict holds."""
        kept = bounded(self.axioms, self.declarations, self.diagnostics)
        return replace(
            self,
            axioms=kept.axioms,
            declarations=kept.declarations,
            diagnostics=kept.diagnostics,
            left_out=self.left_out + kept.left_out,
        )


Done = Callable[[int, CheckResult], None]
"""Told the place of an item in its batch and the result on it, once for each item, in any order."""


class Checker(Protocol):
    """Decides whether code proves, or refutes, what a problem asks."""

    @property
    def name(self) -> str:
        """What verdicts call this checker."""
        ...

    @property
    def identity(self) -> str:
        """All that its results depend on besides the items: its version, its toolchain, its limits."""
        ...

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        """Check codes that have passed all checks of their text; each result depends on its own item alone.

        Args:
            items: What to check.
            done: Told each result as soon as it is there, on the thread of the call.

        Returns:
            One result for each item, in the order of the items.

        Raises:
            JudgeInfrastructureError: The checker cannot work, whatever the items are.
        """
        ...


def check_one(checker: Checker, problem: Problem, claim: Claim, code: str) -> CheckResult:
    """Check one code by itself.

    Raises:
        JudgeInfrastructureError: The checker cannot work.
    """
    [result] = checker.check_batch([CheckItem(problem, claim, code)])
    return result


def check_each(
    decide: Callable[[CheckItem], CheckResult], items: Sequence[CheckItem], done: Done | None = None
) -> list[CheckResult]:
    """Check a batch item by item, for checkers that gain nothing from a batch; adds the seconds of each.

    A crash hits only its own item, as `HARNESS_ERROR`.

    Raises:
        JudgeInfrastructureError: As `decide` does.
    """
    results: list[CheckResult] = []
    for place, item in enumerate(items):
        began = time.perf_counter()
        try:
            result = decide(item)
        except JudgeInfrastructureError:
            raise
        except Exception as error:  # the outermost loop over answers: one must not take others along
            _LOGGER.exception("checking the answer to %r", item.problem.id)
            reason = f"The checker crashed, which says nothing about the answer: {type(error).__name__}: {error}"
            result = CheckResult("HARNESS_ERROR", reason, repeatable=False)
        result = replace(result, seconds=time.perf_counter() - began)
        results.append(result)
        if done is not None:
            done(place, result)
    return results
