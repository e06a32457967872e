"""Asking several checkers the same, and trusting none that another contradicts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from ekiden_judge.checker import Checker, CheckItem, CheckResult, Done

Opinion = Literal["accepts", "refuses", "undecided"]


class CrossChecker:
    """Runs several checkers on the same batch; a disagreement is an error of ours and never a verdict.

    The verdict is that of the strongest checker that is not undecided.

    Args:
        checkers: The checkers, weakest first, such as exact, Coq, Lean; at least one.
    """

    name = "cross"

    def __init__(self, checkers: Sequence[Checker]) -> None:
        if not checkers:
            raise ValueError("a cross-check needs at least one checker")
        self._checkers = tuple(checkers)

    @property
    def identity(self) -> str:
        """All that its results depend on besides the items."""
        return "cross(" + "; ".join(checker.identity for checker in self._checkers) + ")"

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        """Check the batch with each checker in turn.

        Raises:
            JudgeInfrastructureError: One of the checkers cannot work.
        """
        *weaker, strongest = self._checkers
        before = [checker.check_batch(items) for checker in weaker]
        results: dict[int, CheckResult] = {}

        def settle(place: int, last: CheckResult) -> None:
            results[place] = self._verdict([*(found[place] for found in before), last])
            if done is not None:
                done(place, results[place])

        strongest.check_batch(items, done=settle)
        return [results[place] for place in range(len(items))]

    def _verdict(self, found: Sequence[CheckResult]) -> CheckResult:
        seconds = sum(result.seconds for result in found)
        opinions = [opinion_of(result) for result in found]
        names = [checker.name for checker in self._checkers]
        if "accepts" in opinions and "refuses" in opinions:
            said = " ".join(
                f"The checker {name!r} {opinion}: {_sentence(result.message)}"
                for name, opinion, result in zip(names, opinions, found, strict=True)
                if opinion != "undecided"
            )
            message = f"The checkers disagree, which is an error of Ekiden's and no verdict. {said} Please report it."
            return CheckResult("HARNESS_ERROR", message, seconds=seconds, repeatable=False)
        for place in reversed(range(len(found))):
            if found[place].error_code != "NEEDS_LEAN":
                break
        else:
            place = len(found) - 1
        agreeing = [name for name, opinion in zip(names, opinions, strict=True) if opinion == opinions[place]]
        message = found[place].message
        if opinions[place] != "undecided":
            message = f"{message} (decided by {', '.join(agreeing)})"
        return replace(
            found[place],
            message=message,
            certificate=next((result.certificate for result in reversed(found) if result.certificate), None),
            seconds=seconds,
            repeatable=all(result.repeatable for result in found),
        )


def opinion_of(result: CheckResult) -> Opinion:
    """Return what a result says about the answer itself; a time-out or a crash says nothing."""
    if not result.repeatable:
        return "undecided"
    match result.error_code:
        case "ACCEPTED":
            return "accepts"
        case "DISALLOWED_AXIOMS" | "DISALLOWED_DECLARATIONS" | "LEAN_REJECTED":
            return "refuses"
        case "LEAN_TIMEOUT" | "NEEDS_LEAN" | "HARNESS_ERROR":
            return "undecided"
        case _:
            assert_never(result.error_code)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
