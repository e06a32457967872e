"""The Lean checker: what Lean's kernel accepts, under the policy of the problem."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Protocol, assert_never

from ekiden_judge.certificate import certificate_kind, is_json, read_json_certificate
from ekiden_judge.checker import CheckItem, CheckResult, Done
from ekiden_judge.diagnostics import Diagnostic, cut
from ekiden_judge.errors import JudgeInfrastructureError
from ekiden_judge.lean_modules import NOT_OFFERED, judge_modules
from ekiden_judge.policy import DefaultPolicy, Dependencies, axioms_of, library_digest, policy_of, rule_on
from ekiden_lean.errors import HeaderError, LeanError
from ekiden_lean.header import read_header
from ekiden_lean.submission import Checked, Submission
from ekiden_magma import MagmaError, lean_answer
from ekiden_magma.errors import CertificateError

_MAX_LEAN_MESSAGE = 1_500


class Prover(Protocol):
    """What checks submissions with Lean: `ekiden_lean.checker.ProofChecker`, or whatever does the same."""

    def check(
        self, submissions: Sequence[Submission], *, done: Callable[[Checked], None] | None = None
    ) -> list[Checked]:
        """Check submissions, and tell each result as soon as it is there."""
        ...


class LeanChecker:
    """Decides answers by Lean: the kernel accepts the proof of our own `Goal`, and the policy what it rests on.

    Args:
        prover: Checks submissions; stays the caller's to close.
        toolchain: What its verdicts depend on: the toolchain's identity and the limits.
        default_policy: The rules for a problem without a policy of its own.
    """

    name = "lean"

    def __init__(self, prover: Prover, *, toolchain: str, default_policy: DefaultPolicy = "tracks") -> None:
        self._prover = prover
        self._toolchain = toolchain
        self._default_policy: DefaultPolicy = default_policy

    @property
    def identity(self) -> str:
        """All that its results depend on besides the items."""
        return f"lean {version('ekiden')} {self._toolchain} default={self._default_policy} library={library_digest()}"

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        """Hand all codes to Lean at once.

        Raises:
            JudgeInfrastructureError: Lean cannot be used.
        """
        results: dict[int, CheckResult] = {}

        def settle(place: int, result: CheckResult) -> None:
            results[place] = result
            if done is not None:
                done(place, result)

        submissions: list[Submission] = []
        for place, item in enumerate(items):
            opened = _submission(str(place), item)
            if isinstance(opened, CheckResult):
                settle(place, opened)
            else:
                submissions.append(opened)

        def settle_checked(checked: Checked) -> None:
            place = int(checked.key)
            settle(place, self._result(items[place], checked))

        if submissions:
            try:
                self._prover.check(submissions, done=settle_checked)
            except LeanError as error:
                raise JudgeInfrastructureError(str(error)) from error
        return [results[place] for place in range(len(items))]

    def _result(self, item: CheckItem, checked: Checked) -> CheckResult:
        result = self._reading(item, checked)
        diagnostics = tuple(
            Diagnostic(
                line=max(1, d.line), column=max(0, d.column) + 1, severity=d.severity, message=d.message, kind=d.kind
            )
            for d in checked.diagnostics
        )
        return replace(result, diagnostics=diagnostics, seconds=checked.seconds).bounded()

    def _reading(self, item: CheckItem, checked: Checked) -> CheckResult:
        match checked.outcome:
            case "proved":
                return self._ruling(item, checked)
            case "refused":
                return CheckResult("LEAN_REJECTED", _refusal(item, checked))
            case "timeout":
                return CheckResult("LEAN_TIMEOUT", f"Lean ran out of time. {checked.message}", repeatable=False)
            case "memory":
                message = f"Lean ran out of memory, so the proof does not count. {checked.message}"
                return CheckResult("LEAN_REJECTED", message, repeatable=False)
            case "crashed":
                message = (
                    f"Lean ended before it had read the whole code, so the proof does not count. {checked.message}"
                )
                return CheckResult("LEAN_REJECTED", message, repeatable=False)
            case "unavailable":
                return CheckResult("NEEDS_LEAN", f"This Lean cannot decide the answer. {checked.message}")
            case _:
                assert_never(checked.outcome)

    def _ruling(self, item: CheckItem, checked: Checked) -> CheckResult:
        if any(diagnostic.severity == "error" for diagnostic in checked.diagnostics):
            return CheckResult("LEAN_REJECTED", _refusal(item, checked))
        found = Dependencies(checked.axioms, checked.unproved, checked.declarations)
        ruling = rule_on(policy_of(item.problem, self._default_policy), found)
        return CheckResult(
            ruling.error_code,
            ruling.message,
            certificate=certificate_kind(item) if ruling.error_code == "ACCEPTED" else None,
            axioms=axioms_of(found),
            declarations=tuple(sorted(checked.declarations)),
        )


def _submission(key: str, item: CheckItem) -> Submission | CheckResult:
    """Return what Lean is to check, or the result where no Lean is needed to see that it is nothing."""
    code = item.code
    if is_json(code):
        try:
            certificate = read_json_certificate(item)
        except CertificateError as error:
            return CheckResult("LEAN_REJECTED", f"The code is neither Lean nor a certificate in JSON: {error}")
        try:
            code = lean_answer(certificate)
        except (MagmaError, RecursionError) as error:
            return CheckResult("NEEDS_LEAN", f"The certificate in JSON has no Lean text: {error}")
    try:
        imports = read_header(code).imports
    except HeaderError:
        imports = ()  # the prover says what is wrong with it
    for module in imports:
        if reason := NOT_OFFERED.get(module):
            at = max(0, code.find(module))  # quoted names such as «JudgeSupport».Inspect are not found
            line, column = code.count("\n", 0, at) + 1, at - code.rfind("\n", 0, at)
            message = f"The import {module!r} at line {line}, column {column} is not offered: {reason}."
            found = Diagnostic(line=line, column=column, severity="error", message=message)
            return CheckResult("LEAN_REJECTED", message, diagnostics=(found,))
    return Submission(key, code, judge_modules(item.problem, item.claim))


def _refusal(item: CheckItem, checked: Checked) -> str:
    """Say what Lean said first."""
    of = "the certificate's Lean text" if is_json(item.code) else "the code"
    errors = sorted((d for d in checked.diagnostics if d.severity == "error"), key=lambda d: (d.line, d.column))
    if not errors:
        return f"Lean refuses {of}: {cut(checked.message, _MAX_LEAN_MESSAGE)}"
    first = errors[0]
    text = cut(first.message.strip(), _MAX_LEAN_MESSAGE)
    return f"Lean refuses {of} at line {first.line}, column {first.column + 1}: {text}"
