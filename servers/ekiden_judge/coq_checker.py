"""The Coq checker: certificates as read from the code, checked by Coq's kernel.

An answer is read as the exact checker reads it, but nothing is checked here: the certificate is printed for Coq
(`ekiden_magma.coq`) and Coq decides. It is accepted when Coq takes the theorem that the problem asks for, stated by us
in the problem's laws, and says that it rests on no axiom.

What Coq is given holds nothing of the answer's own text: a certificate is numbers and terms, and is printed anew from
those, the variables as single letters. So an answer cannot bring a command, a notation or an axiom into Coq,
nor a line into its output; the sandbox around Coq is a second fence, and limits time and memory.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from ekiden_judge.certificate import is_json, kind_of, read_certificate
from ekiden_judge.checker import CheckItem, CheckResult, Done
from ekiden_judge.coq_session import Coq, CoqLimits, CoqSession, Reply, find_coq
from ekiden_judge.errors import JudgeInfrastructureError
from ekiden_judge.policy import DefaultPolicy, policy_gap, policy_of
from ekiden_magma import CayleyTable, Certificate, EquationalProof, Refutation, straight_line
from ekiden_magma.coq import CoqTask, coq_certificate, coq_theory
from ekiden_magma.errors import CertificateError

MAX_PRODUCTS = 20_000_000
"""Products of elements that law 1 may take in a table: some seconds of Coq."""

TEXTS_A_SESSION = 400
"""Certificates that one Coq reads before the next is started: it forgets nothing."""

_TEACHING = CoqLimits()
"""What the theory may use; it takes a second or two."""

_CLOSED = "Closed under the global context"
_SHOWN = 300
_UNDEFINED = re.compile(r"The reference (law|fails|done)\d+ was not found")
_EXHAUSTED = re.compile(r"Stack overflow|Out of memory|Timeout", re.IGNORECASE)

_REFUSED_PARTS = {
    ("table", "law"): "that law 1 holds in the table",
    ("table", "fails"): "that law 2 fails in the table under the assignment",
    ("residue_model", "done"): "that law 1 holds in the model",
    ("residue_model", "law"): "that law 1 holds in the model",
    ("residue_model", "fails"): "that law 2 fails in the model under the assignment",
    ("equational_proof", "done"): "that the steps lead from the left side of law 2 to its right side",
}

_STOPPED = {
    "time": "Coq did not end in its time, {cpu_s:g} processor seconds",
    "memory": "Coq needed more than its memory",
    "output": "Coq said more than is read",
    "crash": "Coq crashed",
}


@dataclass(frozen=True, slots=True)
class _Ready:
    """An answer whose certificate is printed for Coq."""

    place: int
    item: CheckItem
    certificate: Certificate
    text: str


class CoqChecker:
    """Decides answers in the standard shapes by Coq's kernel.

    Args:
        coq: The Coq to run, as `find_coq` returns it; looked for if not given.
        limits: What one answer may use.
        default_policy: The rules for a problem without a policy of its own.

    Raises:
        JudgeInfrastructureError: There is no Coq here; the message says how to get it.
    """

    name = "coq"

    def __init__(
        self, coq: Coq | None = None, *, limits: CoqLimits | None = None, default_policy: DefaultPolicy = "tracks"
    ) -> None:
        self._coq = find_coq() if coq is None else coq
        self._limits = CoqLimits() if limits is None else limits
        self._default_policy: DefaultPolicy = default_policy

    @property
    def identity(self) -> str:
        """All that its results depend on besides the items."""
        limits = self._limits
        return (
            f"coq {version('ekiden')} coq={self._coq.version} cpu={limits.cpu_s:g} memory={limits.memory_bytes} "
            f"products={MAX_PRODUCTS} default={self._default_policy}"
        )

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        """Read each code as a certificate, and have Coq check all of them, one process for hundreds.

        A certificate that takes too much ends its Coq; the ones after it get a new one.

        Raises:
            JudgeInfrastructureError: Coq cannot be used.
        """
        results: dict[int, CheckResult] = {}

        def settle(place: int, result: CheckResult) -> None:
            results[place] = result
            if done is not None:
                done(place, result)

        waiting: list[_Ready] = []
        for place, item in enumerate(items):
            ready = _prepared(place, item)
            if isinstance(ready, CheckResult):
                settle(place, ready)
            else:
                waiting.append(ready)
        while waiting:
            checked = 0
            for ready, result in self._session(waiting[:TEXTS_A_SESSION]):
                settle(ready.place, result)
                checked += 1
            waiting = waiting[checked:]
        return [results[place] for place in range(len(items))]

    def _session(self, waiting: Sequence[_Ready]) -> Iterator[tuple[_Ready, CheckResult]]:
        """Check certificates in one Coq, in order, until it must be stopped; at least one is settled."""
        with CoqSession(self._coq, self._limits) as session:
            self._teach(session, waiting)
            for number, ready in enumerate(waiting):
                began = time.perf_counter()
                reply = session.read(ready.text)
                if reply.stopped == "memory" and number:
                    return  # perhaps what came before filled it: this one begins the next Coq
                yield ready, replace(self._result(ready, reply), seconds=time.perf_counter() - began)
                if reply.stopped is not None:
                    return

    def _teach(self, session: CoqSession, waiting: Sequence[_Ready]) -> None:
        theory = coq_theory(ready.certificate for ready in waiting)
        reply = session.read(f"Set Silent.\n{theory}", _TEACHING)
        theorems = theory.count("Print Assumptions")
        if reply.stopped or "Error" in reply.output or reply.output.count(_CLOSED) != theorems:
            ended = f" ({_STOPPED[reply.stopped].format(cpu_s=_TEACHING.cpu_s)})" if reply.stopped else ""
            raise JudgeInfrastructureError(
                f"Coq {self._coq.version} does not take Ekiden's theory{ended}; install 8.16 or newer. "
                f"It said: {_cut(reply.output)}"
            )

    def _result(self, ready: _Ready, reply: Reply) -> CheckResult:
        kind = kind_of(ready.certificate)
        output = reply.output
        if reply.stopped is not None:
            why = _STOPPED[reply.stopped].format(cpu_s=self._limits.cpu_s)
            return CheckResult("NEEDS_LEAN", f"Not decided by Coq: {why}.", kind, repeatable=False)
        if "Error" not in output:
            if output.count(_CLOSED) == 1 and "Axioms:" not in output:
                return self._accepted(ready)
        elif _EXHAUSTED.search(output):
            return CheckResult("NEEDS_LEAN", f"Not decided by Coq: {_error(output)}.", kind, repeatable=False)
        elif "= Open" in output:
            return CheckResult("NEEDS_LEAN", "Not decided by Coq: law 1 needs too many cases in the model.", kind)
        elif (part := _UNDEFINED.search(output)) and "has type" in _error(output):
            claim = _REFUSED_PARTS[kind, part[1]]
            return CheckResult("LEAN_REJECTED", f"Coq refuses {claim}.", kind)
        message = f"Coq does not take what Ekiden printed, which says nothing about the answer: {_error(output)}"
        return CheckResult("HARNESS_ERROR", message, kind, repeatable=False)

    def _accepted(self, ready: _Ready) -> CheckResult:
        kind = kind_of(ready.certificate)
        if gap := policy_gap(policy_of(ready.item.problem, self._default_policy), ready.certificate):
            return CheckResult("NEEDS_LEAN", f"Coq accepts the certificate, but {gap}.", kind)
        shows = "implies law 2" if kind == "equational_proof" else "does not imply law 2"
        message = f"Coq {self._coq.version} accepts, without any axiom, that law 1 {shows}."
        if is_json(ready.item.code):
            message += " The code is a certificate in JSON; a judge that runs Lean needs its Lean text."
        return CheckResult("ACCEPTED", message, kind)


def _prepared(place: int, item: CheckItem) -> _Ready | CheckResult:
    """Read and print a certificate, or say at once what is to be said."""
    try:
        certificate = read_certificate(item)
    except CertificateError as error:
        return CheckResult("LEAN_REJECTED", f"The code is neither Lean nor a certificate in JSON: {error}")
    if certificate is None:
        return CheckResult("NEEDS_LEAN", "The code is in no shape that can be decided without Lean.")
    kind = kind_of(certificate)
    if isinstance(certificate, EquationalProof) != (item.claim == "true"):
        proves = "proves" if isinstance(certificate, EquationalProof) else "refutes"
        message = f"The code {proves} that law 1 implies law 2, but the verdict is {item.claim!r}."
        return CheckResult("LEAN_REJECTED", message, kind)
    if (products := _products(certificate)) > MAX_PRODUCTS:
        message = f"Law 1 takes {products:,} products in the table; Coq is given at most {MAX_PRODUCTS:,}."
        return CheckResult("NEEDS_LEAN", message, kind)
    try:
        text = coq_certificate(place, CoqTask(item.problem.law1, item.problem.law2, certificate))
    except CertificateError as error:
        return CheckResult("LEAN_REJECTED", str(error), kind)
    return _Ready(place, item, certificate, text)


def _products(certificate: Certificate) -> int:
    if isinstance(certificate, Refutation) and isinstance(certificate.model, CayleyTable):
        law = certificate.law1
        return certificate.model.order ** len(law.variables) * max(1, len(straight_line(law).steps))
    return 0


def _error(output: str) -> str:
    """Return Coq's first error message."""
    return _cut(output.partition("Error:")[2].partition("Toplevel input")[0])


def _cut(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
