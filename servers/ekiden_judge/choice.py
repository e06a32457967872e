"""Which checker a judge's name stands for, and whether it can be had here."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from ekiden_config import JudgeName, JudgeSettings, LeanSettings, Settings
from ekiden_judge.cache import DAY_S, CachedChecker, ResultStore
from ekiden_judge.checker import Checker
from ekiden_judge.cross import CrossChecker
from ekiden_judge.exact import ExactChecker
from ekiden_judge.judge import Entry, Limits, judge_batch
from ekiden_judge.policy import DefaultPolicy
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
    """Open the judge of a name, with the sizes that the settings grant.

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

    Opening finds what the checker needs and starts nothing; its processes start with the first batch. The exact checker
    is fast enough to decide each time anew; what the others found is kept, if the settings say so.

    Raises:
        JudgeError: What the checker needs is not here; the message says how to get it.
        LeanError: There is no Lean here; the message says how to get one.
    """
    policy = settings.judge.default_policy
    with ExitStack() as stack:
        match name:
            case "exact":
                yield ExactChecker(default_policy=policy)
            case "lean":
                yield _cached(_lean(settings.lean, policy, stack), settings.judge)
            case "coq":
                yield _cached(_coq(policy), settings.judge)
            case "cross":
                # Each is kept by itself, so that a disagreement is found again by asking all of them again.
                coq, lean = _coq(policy), _lean(settings.lean, policy, stack)
                kept = [_cached(checker, settings.judge) for checker in (coq, lean)]
                yield CrossChecker([ExactChecker(default_policy=policy), *kept])
            case _:
                assert_never(name)


def _lean(settings: LeanSettings, policy: DefaultPolicy, stack: ExitStack) -> Checker:
    from ekiden_judge.lean_checker import LeanChecker
    from ekiden_lean.checker import ProofChecker
    from ekiden_lean.submission import LeanLimits
    from ekiden_lean.toolchain import find_toolchain

    toolchain = find_toolchain(settings)
    limits = LeanLimits(cpu_s=settings.cpu_s, wall_factor=settings.wall_factor, memory_bytes=settings.memory_mb << 20)
    prover = stack.enter_context(ProofChecker(toolchain, limits))
    return LeanChecker(prover, toolchain=prover.identity, default_policy=policy)


def _coq(policy: DefaultPolicy) -> Checker:
    from ekiden_judge.coq_checker import CoqChecker

    return CoqChecker(default_policy=policy)


def _cached(checker: Checker, settings: JudgeSettings) -> Checker:
    if not settings.cache:
        return checker
    store = ResultStore(
        _cache_folder(settings),
        max_bytes=settings.cache_megabytes << 20,
        max_age_s=settings.cache_days * DAY_S,
    )
    return CachedChecker(checker, store)


def _cache_folder(settings: JudgeSettings) -> Path:
    if settings.cache_dir:
        return Path(settings.cache_dir)
    import platformdirs

    return Path(platformdirs.user_cache_dir("ekiden")) / "verdicts"
