"""Which checker a judge's name stands for, and whether it can be had here."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import assert_never

from ekiden_config import JudgeName, Settings
from ekiden_judge.checker import Checker
from ekiden_judge.errors import JudgeInfrastructureError
from ekiden_judge.exact import ExactChecker
from ekiden_judge.judge import Entry, Limits, judge_batch
from ekiden_judge.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Judge:
    """An open checker under the name by which it was asked for, and the sizes that answers may have."""

    name: JudgeName
    checker: Checker
    limits: Limits

    @property
    def identity(self) -> str:
        """What its verdicts depend on besides problem and answer."""
        return f"{self.checker.identity} sizes={self.limits.max_code_bytes}/{self.limits.max_false_certificate_bytes}"

    def judge(self, entries: Sequence[Entry], *, done: Callable[[int, Verdict], None] | None = None) -> list[Verdict]:
        """Judge answers in one batch, as `judge_batch` does.

        Raises:
            JudgeInfrastructureError: The checker cannot work; what `done` was told until then stands.
        """
        return judge_batch(entries, checker=self.checker, limits=self.limits, done=done)


ChooseJudge = Callable[[JudgeName, Settings], AbstractContextManager[Judge]]
"""Opens the judge of a name; raises where it cannot be had."""


@contextmanager
def choose_judge(name: JudgeName, settings: Settings) -> Generator[Judge]:
    """Open the judge of a name with the sizes that the settings grant.

    Raises:
        JudgeError: What its checker needs is not here; the message says how to get it.
        LeanError: There is no Lean here; the message says how to get one.
    """
    limits = Limits(
        max_code_bytes=settings.judge.max_code_bytes,
        max_false_certificate_bytes=settings.judge.max_false_certificate_bytes,
    )
    with choose_checker(name, settings) as checker:
        yield Judge(name, checker, limits)


@contextmanager
def choose_checker(name: JudgeName, settings: Settings) -> Generator[Checker]:
    """Open the checker that a judge's name stands for, and close it in the end.

    Opening finds what the checker needs and starts nothing; its processes start with the first batch.

    Raises:
        JudgeError: What the checker needs is not here; the message says how to get it.
        LeanError: There is no Lean here; the message says how to get one.
    """
    del settings
    match name:
        case "exact":
            yield ExactChecker()
        case "lean" | "coq" | "cross":
            raise JudgeInfrastructureError(f"The judge {name!r} is not there yet.")
        case _:
            assert_never(name)
