"""Judging the answers of a run in one batch, each by itself and none twice."""

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ekiden_judge import (
    Answer,
    Entry,
    JudgeInfrastructureError,
    Problem,
    ReadAnswers,
    Verdict,
    harness_error,
    not_attempted,
)
from ekiden_judge.choice import Judge
from ekiden_orchestrator.marathon.run_log import RunLog
from ekiden_orchestrator.marathon.state import VerdictKey


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
        progress: Told how many of how many answers are done.
        log: Told each verdict that is new and the traceback of a judge that failed.
    """

    known: Mapping[VerdictKey, Verdict]
    record: Callable[[VerdictKey, Verdict], None]
    progress: Callable[[int, int], None]
    log: RunLog


def recorded(
    problems: Sequence[Problem], answers: ReadAnswers, judge: str, known: Mapping[VerdictKey, Verdict]
) -> list[Scored] | None:
    """Return the verdicts on all problems in manifest order, or None if any is still to be found.

    Args:
        problems: The manifest.
        answers: The answers that count.
        judge: The identity of the judge.
        known: Verdicts by what they depend on.
    """
    scored: list[Scored] = []
    for problem in problems:
        answer = answers.answers.get(problem.id)
        verdict = not_attempted() if answer is None else known.get(VerdictKey(problem.id, answer_hash(answer), judge))
        if verdict is None or verdict.status == "harness_error":
            return None
        scored.append(Scored(problem, verdict))
    return scored


def judge_answers(
    problems: Sequence[Problem], answers: ReadAnswers, judge: Judge, bench: Bench
) -> tuple[list[Scored], float]:
    """Judge the answer that counts for each problem; return the verdicts in manifest order and the seconds taken.

    Whatever a line holds, it hits only its own problem. A judge that fails gives a `harness_error`, which says nothing
    about the answer and is tried again the next time.
    """
    began = time.perf_counter()
    verdicts: dict[str, Verdict] = {}
    keys: list[VerdictKey] = []
    entries: list[Entry] = []
    for problem in problems:
        answer = answers.answers.get(problem.id)
        if answer is None:
            verdicts[problem.id] = not_attempted()
            continue
        key = VerdictKey(problem.id, answer_hash(answer), judge.identity)
        verdict = bench.known.get(key)
        if verdict is None or verdict.status == "harness_error":
            keys.append(key)
            entries.append(Entry.of_line(problem, answer))
        else:
            verdicts[problem.id] = verdict
    answered = len(problems) - sum(verdict.status == "not_attempted" for verdict in verdicts.values())
    done = answered - len(entries)

    def settle(place: int, verdict: Verdict) -> None:
        nonlocal done
        done += 1
        verdicts[keys[place].problem] = verdict
        reason = f" {verdict.message}" if verdict.status == "harness_error" else ""
        bench.log.write("score", f"{keys[place].problem}: {verdict.status} {verdict.error_code}{reason}")
        bench.record(keys[place], verdict)
        bench.progress(done, answered)

    bench.progress(done, answered)
    _judge(entries, judge, settle, bench.log)
    return [Scored(problem, verdicts[problem.id]) for problem in problems], time.perf_counter() - began


def _judge(entries: Sequence[Entry], judge: Judge, settle: Callable[[int, Verdict], None], log: RunLog) -> None:
    """Judge entries in one batch; where that fails, each of the rest by itself, so that none takes others along."""
    open_places = dict.fromkeys(range(len(entries)))
    unrecorded: list[Exception] = []

    def settle_once(place: int, verdict: Verdict) -> None:
        del open_places[place]
        try:
            settle(place, verdict)
        except Exception as error:
            unrecorded.append(error)
            raise

    if not entries:
        return
    try:
        judge.judge(entries, done=settle_once)
    except Exception as error:  # noqa: BLE001 - the outermost loop over answers
        if unrecorded:
            raise unrecorded[0] from None
        log.write("score", "the judge failed", *traceback.format_exc().splitlines())
        for place in tuple(open_places):
            if len(entries) == 1 or isinstance(error, JudgeInfrastructureError):
                settle_once(place, harness_error(error))
            else:
                _judge([entries[place]], judge, lambda _, verdict, at=place: settle_once(at, verdict), log)


def answer_hash(answer: Answer) -> str:
    """Hash all that the judge looks at."""
    fault = None if answer.fault is None else [answer.fault.reason, str(answer.fault)]
    text = json.dumps([answer.verdict, answer.code, fault], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
