"""Judging files: an answers file against a manifest, or the answer to one question."""

import json
import os
import stat
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ConfigDict, Field

from ekiden_config import JudgeName
from ekiden_judge import (
    STATUSES,
    Entry,
    JudgeConfigurationError,
    Problem,
    ReadAnswers,
    Verdict,
    not_attempted,
    read_answers,
    verify_answer,
)
from ekiden_judge.choice import Judge
from ekiden_magma import MagmaError, parse_law
from ekiden_orchestrator.errors import CommandError
from ekiden_orchestrator.marathon.manifest import Manifest

MAX_ANSWER_BYTES = 10_000_000


class JudgedProblem(BaseModel):
    """One problem and the verdict on its last answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    verdict: Verdict


class FileReport(BaseModel):
    """The verdicts on an answers file, in the manifest's order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: JudgeName
    judge_identity: str = Field(description="What the verdicts depend on besides problem and answer.")
    manifest: str
    manifest_sha256: str
    problems: int
    attempted: int = Field(description="Problems with an answer.")
    accepted: int
    by_status: dict[str, int]
    axioms: dict[str, int] = Field(description="How many accepted answers rest on each axiom that the judge found.")
    skipped: dict[str, int] = Field(description="Lines of the file that are no answer, by reason.")
    unknown_ids: int = Field(description="Lines that answer no problem of the manifest.")
    unread: int = Field(description="Lines behind those that are read; 0 unless the file was flooded.")
    seconds: float
    verdicts: tuple[JudgedProblem, ...]


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer and the verdict on it; `code` is "" where the answer has none."""

    problem: Problem
    code: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """What there is to tell about an answers file; `answers` holds those that were given."""

    report: FileReport
    answers: tuple[JudgedAnswer, ...]

    @property
    def all_accepted(self) -> bool:
        """Whether every problem with an answer is accepted."""
        return self.report.accepted == self.report.attempted


def judge_file(data: bytes, manifest: Manifest, judge: Judge, *, progress: Callable[[int, int], None]) -> JudgedFile:
    """Judge the answer that counts for each problem, all in one batch.

    Raises:
        CommandError: The file answers no problem of the manifest.
        JudgeInfrastructureError: The judge cannot work.
    """
    began = time.perf_counter()
    read = read_answers(data, manifest.ids)
    if not read.answers:
        raise CommandError(f"The file answers no problem of the manifest {manifest.name!r}: {_content(read)}.")
    answered = [problem for problem in manifest.problems if problem.id in read.answers]
    entries = [Entry.of_line(problem, read.answers[problem.id]) for problem in answered]
    judged = 0

    def count(_place: int, _verdict: Verdict) -> None:
        nonlocal judged
        judged += 1
        progress(judged, len(entries))

    progress(0, len(entries))
    verdicts = judge.judge(entries, done=count)
    answers = tuple(
        JudgedAnswer(entry.problem, entry.code if isinstance(entry.code, str) else "", verdict)
        for entry, verdict in zip(entries, verdicts, strict=True)
    )
    return JudgedFile(_report(manifest, read, answers, judge, time.perf_counter() - began), answers)


def _report(
    manifest: Manifest, read: ReadAnswers, answers: tuple[JudgedAnswer, ...], judge: Judge, seconds: float
) -> FileReport:
    by_id = {answer.problem.id: answer.verdict for answer in answers}
    verdicts = tuple(JudgedProblem(id=name, verdict=by_id.get(name, not_attempted())) for name in manifest.ids)
    statuses = Counter(item.verdict.status for item in verdicts)
    axioms = Counter(axiom for verdict in by_id.values() if verdict.status == "accepted" for axiom in verdict.axioms)
    return FileReport(
        judge=judge.name,
        judge_identity=judge.identity,
        manifest=manifest.name,
        manifest_sha256=manifest.sha256,
        problems=len(verdicts),
        attempted=len(answers),
        accepted=statuses["accepted"],
        by_status={status: statuses[status] for status in STATUSES if statuses[status]},
        axioms=dict(sorted(axioms.items())),
        skipped={**read.skipped_by_reason},
        unknown_ids=read.unknown_ids,
        unread=read.unread,
        seconds=round(seconds, 3),
        verdicts=verdicts,
    )


def judge_answer(text: bytes, problem: Problem, verdict: str | None, judge: Judge) -> JudgedAnswer:
    """Judge the answer to one question: Lean code, a certificate in JSON, or an answer in JSON with its verdict.

    Raises:
        CommandError: Lean code comes without a verdict, or is not UTF-8.
        JudgeInfrastructureError: The judge cannot work.
    """
    fields = _json_object(text)
    if verdict is None and fields is not None and "certificate" not in fields:
        code = fields.get("code")
        found = verify_answer(problem, text, checker=judge.checker, limits=judge.limits)
        return JudgedAnswer(problem, code if isinstance(code, str) else "", found)
    claim = verdict or {"proof": "true", "refutation": "false"}.get(str((fields or {}).get("certificate")))
    if claim is None:
        raise CommandError("Say with --verdict what the code proves: 'true' or 'false'.")
    code = _decoded(text)
    [found] = judge.judge([Entry(problem, claim, code)])
    return JudgedAnswer(problem, code, found)


def question(name: str, law1: str, law2: str) -> Problem:
    """Make the problem that two laws ask.

    Raises:
        JudgeConfigurationError: A law cannot be read; the message names it.
    """
    for option, text in (("--law1", law1), ("--law2", law2)):
        try:
            parse_law(text)
        except MagmaError as error:
            raise JudgeConfigurationError(f"{option}: {error}") from error
    return Problem(id=name, eq1_id=0, eq2_id=0, equation1=law1, equation2=law2)


def read_bounded(path: Path, limit_bytes: int) -> bytes:
    """Read a file that a user names.

    Raises:
        CommandError: It cannot be read, is no ordinary file, or is too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer must not block
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise CommandError(f"{str(path)!r} is no ordinary file.")
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise CommandError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from error
    if len(data) > limit_bytes:
        raise CommandError(f"{str(path)!r} has more than {limit_bytes:,} bytes.")
    return data


def read_text(path: Path, limit_bytes: int) -> str:
    """Read a file that a user names as text.

    Raises:
        CommandError: It cannot be read, is no ordinary file or no UTF-8, or is too large.
    """
    return _decoded(read_bounded(path, limit_bytes))


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"The file is not UTF-8: its byte {error.start} cannot be read.") from error


def _json_object(text: bytes) -> dict[str, object] | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _content(read: ReadAnswers) -> str:
    if not read.lines:
        return "it is empty"
    skipped = sum(read.skipped_by_reason.values())
    return (
        f"of its {read.lines:,} lines {skipped:,} are no answer, {read.unknown_ids:,} have ids that are not asked for"
    )
