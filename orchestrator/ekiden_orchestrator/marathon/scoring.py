"""Judging the answers of a run, each by itself and none twice."""

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ekiden_judge import (
    MARATHON_LIMITS,
    Answer,
    Problem,
    ReadAnswers,
    Verdict,
    harness_error,
    judge_line,
    not_attempted,
)
from ekiden_judge.exact import ExactChecker
from ekiden_orchestrator.marathon.run_log import RunLog
from ekiden_orchestrator.marathon.state import VerdictKey
from ekiden_orchestrator.marathon.versions import versions


@dataclass(frozen=True, slots=True)
class Scored:
    """One problem, and the verdict on its last answer."""

    problem: Problem
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Bench:
    """What judging needs to know and whom it tells.

    Attributes:
        known: Verdicts of an earlier round; those that are no harness errors are reused.
        record: Told each new verdict at once.
        progress: Told how many of how many problems are done.
        log: Told each verdict that is new and the traceback of a judge that failed.
    """

    known: Mapping[VerdictKey, Verdict]
    record: Callable[[VerdictKey, Verdict], None]
    progress: Callable[[int, int], None]
    log: RunLog


def judge_name() -> str:
    """Return what the verdicts of this judge depend on besides problem and answer."""
    limits = MARATHON_LIMITS
    sizes = f"{limits.max_code_bytes}/{limits.max_false_certificate_bytes}"
    return f"{ExactChecker().name} {versions()['ekiden']} {sizes}"


def judge_answers(problems: tuple[Problem, ...], answers: ReadAnswers, bench: Bench) -> tuple[list[Scored], float]:
    """Judge the answer that counts for each problem, in manifest order; return the verdicts and the seconds taken.

    Whatever a line holds, it hits only its own problem. A judge that fails gives a `harness_error`, which says nothing
    about the answer and is tried again the next time.
    """
    began = time.perf_counter()
    judge = judge_name()
    scored: list[Scored] = []
    for number, problem in enumerate(problems, start=1):
        answer = answers.answers.get(problem.id)
        if answer is None:
            scored.append(Scored(problem, not_attempted()))
        else:
            key = VerdictKey(problem.id, _answer_hash(answer), judge)
            verdict = bench.known.get(key)
            if verdict is None or verdict.status == "harness_error":
                verdict = _judge(problem, answer, bench.log)
                bench.record(key, verdict)
            scored.append(Scored(problem, verdict))
        bench.progress(number, len(problems))
    return scored, time.perf_counter() - began


def _judge(problem: Problem, answer: Answer, log: RunLog) -> Verdict:
    try:
        verdict = judge_line(problem, answer, checker=ExactChecker())
    except Exception as error:  # noqa: BLE001 - the outermost loop over answers: one must not take the others along
        log.write("score", f"{problem.id}: the judge failed", *traceback.format_exc().splitlines())
        return harness_error(error)
    log.write("score", f"{problem.id}: {verdict.status} {verdict.error_code}")
    return verdict


def _answer_hash(answer: Answer) -> str:
    """Hash all that the judge looks at."""
    fault = None if answer.fault is None else [answer.fault.reason, str(answer.fault)]
    text = json.dumps([answer.verdict, answer.code, fault], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
