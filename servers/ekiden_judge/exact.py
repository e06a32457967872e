"""The exact checker: certificates read from Lean code and decided by computation.

It accepts only what it has read as a certificate and checked; it refuses only what it has read and found wrong.
Everything else, what would take too long included, is left to Lean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ekiden_judge.certificate import is_json, kind_of, read_certificate
from ekiden_judge.checker import CheckItem, CheckResult, Done, check_each
from ekiden_judge.policy import DefaultPolicy, policy_gap, policy_of
from ekiden_judge.problem import Problem
from ekiden_judge.verdict import CheckCode, Claim
from ekiden_magma import CayleyTable, straight_line
from ekiden_magma.certificate import Certificate, EquationalProof, Refutation
from ekiden_magma.check import check
from ekiden_magma.errors import CertificateError, CertificateLimitError

MAX_PRODUCTS = 20_000_000
"""Products of elements that checking one answer may take: some seconds."""

USUAL_INSTANCES = 1_000
"""Instances of law 1 up to which Lean is known to evaluate a table with ease."""


@dataclass(frozen=True, slots=True)
class ExactChecker:
    """Decides answers in the standard shapes by computation; needs nothing but Python.

    Attributes:
        max_products: Products of elements that one check may take; beyond, an answer is undecided.
        default_policy: The rules for a problem without a policy of its own.
    """

    max_products: int = MAX_PRODUCTS
    default_policy: DefaultPolicy = "tracks"

    @property
    def name(self) -> str:
        """What verdicts call this checker."""
        return "exact"

    @property
    def identity(self) -> str:
        """All that its results depend on besides the items."""
        return f"exact {version('ekiden')} products={self.max_products} default={self.default_policy}"

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        """Read each code as a certificate about its problem's laws, and check it."""
        return check_each(self._check, items, done)

    def _check(self, item: CheckItem) -> CheckResult:
        try:
            certificate = read_certificate(item)
        except CertificateError as error:
            return CheckResult("LEAN_REJECTED", f"The code is neither Lean nor a certificate in JSON: {error}")
        if certificate is None:
            return CheckResult("NEEDS_LEAN", "The code is in no shape that can be decided without Lean.")
        error_code, message = self._decide(item.problem, item.claim, certificate)
        if error_code == "ACCEPTED" and is_json(item.code):
            message += " The code is a certificate in JSON; a judge that runs Lean needs its Lean text."
        return CheckResult(error_code, message, kind_of(certificate))

    def _decide(self, problem: Problem, claim: Claim, certificate: Certificate) -> tuple[CheckCode, str]:
        if isinstance(certificate, EquationalProof) != (claim == "true"):
            proves = "proves" if isinstance(certificate, EquationalProof) else "refutes"
            return "LEAN_REJECTED", f"The code {proves} that law 1 implies law 2, but the verdict is {claim!r}."
        if too_much := self._too_much(certificate):
            return "NEEDS_LEAN", too_much
        try:
            _require_broken_law(certificate)
            check(certificate)
        except CertificateLimitError as error:
            return "NEEDS_LEAN", f"Not decided without Lean: {error}"
        except CertificateError as error:
            return "LEAN_REJECTED", str(error)
        if gap := policy_gap(policy_of(problem, self.default_policy), certificate):
            return "NEEDS_LEAN", f"The certificate is right, but {gap}."
        return "ACCEPTED", _shown(certificate)

    def _too_much(self, certificate: Certificate) -> str | None:
        if not (isinstance(certificate, Refutation) and isinstance(certificate.model, CayleyTable)):
            return None
        order, law = certificate.model.order, certificate.law1
        products = order ** len(law.variables) * max(1, len(straight_line(law).steps))
        if products <= self.max_products:
            return None
        return (
            f"Checking law 1 in the table of order {order} takes {products:,} products; "
            f"at most {self.max_products:,} are computed for one answer."
        )


def _require_broken_law(certificate: Certificate) -> None:
    """Say it plainly if no values at all break law 2 in a table: the reader has looked for some, and found none."""
    if isinstance(certificate, Refutation) and isinstance(certificate.model, CayleyTable):
        left, right = certificate.model.evaluate(certificate.law2, certificate.assignment)
        if left == right:
            order = certificate.model.order
            raise CertificateError(f"Law 2 holds in the table of order {order} for all values, so nothing is refuted.")


def _shown(certificate: Certificate) -> str:
    if isinstance(certificate, EquationalProof):
        steps = len(certificate.steps) + sum(len(lemma.steps) for lemma in certificate.lemmas)
        return f"The steps of the proof, {steps} in all, lead from the left side of law 2 to its right side."
    values = ", ".join(f"{name} = {value}" for name, value in certificate.assignment.items())
    if not isinstance(certificate.model, CayleyTable):
        return f"Law 1 holds in an infinite magma on the naturals, and law 2 fails in it at {values}."
    order = certificate.model.order
    message = f"Law 1 holds in the table of order {order}, and law 2 fails in it at {values}."
    instances = order ** len(certificate.law1.variables)
    if instances > USUAL_INSTANCES:
        message += f" Whether Lean evaluates the {instances:,} instances of law 1 in its time is not decided here."
    return message
