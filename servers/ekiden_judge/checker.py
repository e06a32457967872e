"""What the judge asks of a checker of Lean code."""

from dataclasses import dataclass
from typing import Protocol

from ekiden_judge.problem import Problem
from ekiden_judge.verdict import CertificateKind, CheckCode, Claim


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a checker found: a code, the reason in words, and the kind of certificate where it recognised one."""

    error_code: CheckCode
    message: str
    certificate: CertificateKind | None = None


class Checker(Protocol):
    """Decides whether code proves, or refutes, what a problem asks."""

    @property
    def name(self) -> str:
        """What verdicts call this checker."""
        ...

    def check(self, problem: Problem, verdict: Claim, code: str) -> CheckResult:
        """Check code that has passed all checks of its text.

        Raises:
            JudgeInfrastructureError: The checker cannot work.
        """
        ...
