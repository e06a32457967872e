"""The MCP surface of the judge."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from ekiden_judge.choice import Judge, choose_judge
from ekiden_judge.errors import JudgeConfigurationError, JudgeError
from ekiden_judge.judge import MARATHON_LIMITS, Entry, open_answer
from ekiden_judge.models import (
    MAX_BATCH,
    AnswerVerdict,
    BatchEntry,
    BatchVerdict,
    BatchVerdicts,
    ExplainedVerdict,
    PrintedCertificate,
)
from ekiden_judge.problem import Problem
from ekiden_judge.verdict import Verdict
from ekiden_kit.build import state_of
from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_lean.errors import LeanError
from ekiden_magma import EquationalProof, MagmaError, check, from_json, lean_answer, parse_law
from ekiden_magma.errors import CertificateLimitError

if TYPE_CHECKING:
    from ekiden_config import JudgeName, Settings

PROGRESS_EVERY_S = 0.5
HALF_WAY_S = 30.0

INSTRUCTIONS = f"""\
Judges answers to the question "does law 1 imply law 2 in every magma?", as the SAIR judge does: an answer counts only
if its status is 'accepted'. The judge 'exact' computes and needs nothing: 'incorrect' means that Lean would refuse the
answer too, 'undecided' that only Lean can tell. The judge 'lean' asks Lean's kernel. Usual limits:
{MARATHON_LIMITS.max_code_bytes} bytes of code, {MARATHON_LIMITS.max_false_certificate_bytes} for 'false'. Tools:
judge_answer, judge_batch, judge_explain, judge_print_lean.

'exact' understands the standard shapes: for 'false' a Cayley table with `decideFin!` or an infinite model in Ekiden's
shape, for 'true' equational steps from instances of law 1; and certificates in JSON. Words such as `sorry`, `macro` and
`#eval` are refused anywhere in the code, comments included. Laws use single lower-case letters, ◇ or *, parentheses and
one '='. 'coq' checks certificates with Coq; 'cross' asks all and reports a disagreement as harness_error.
"""

JudgeChoice = Annotated[
    Literal["default", "exact", "lean", "coq", "cross"],
    Field(description="SLOW unless exact."),
]
Law1 = Annotated[str, Field(description="As 'x = x ◇ (y * x)'.")]
Law2 = Annotated[str, Field(description="Conclusion.")]


class _Bench:
    """What the server keeps between calls: the judges, each opened at its first use and kept warm until the end."""

    def __init__(self, settings: "Settings") -> None:
        self.settings = settings
        self._opening = Lock()  # guards the dictionary and the stack: one judge is opened at a time
        self._open: dict[JudgeName, Judge] = {}
        self._busy: dict[JudgeName, Lock] = {}
        self._stack = ExitStack()

    def judge(self, name: "JudgeName", entries: Sequence[Entry], done: Callable[[int, Verdict], None]) -> list[Verdict]:
        """Judge a batch; to be called on a worker thread.

        Raises:
            JudgeError: The judge cannot be had, or cannot work.
            LeanError: There is no Lean here.
        """
        with self._opening:
            if name not in self._open:
                self._open[name] = self._stack.enter_context(choose_judge(name, self.settings))
                self._busy[name] = Lock()  # guards the judge's processes, which take one batch at a time
        if name == "exact":
            return self._open[name].judge(entries, done=done)
        with self._busy[name]:
            return self._open[name].judge(entries, done=done)

    def close(self) -> None:
        """End whatever the judges started."""
        self._stack.close()


class _Abandoned(Exception):  # noqa: N818  # no error of anyone's: the call was cancelled
    """Nobody waits for the rest of a batch."""


@asynccontextmanager
async def _bench(settings: "Settings") -> AsyncGenerator[_Bench]:
    bench = _Bench(settings)
    try:
        yield bench
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(bench.close)


async def judge_answer(  # noqa: PLR0917  # a tool's arguments are named
    law1: Law1,
    law2: Law2,
    ctx: Context,
    verdict: Annotated[str, Field(description="'true': law 1 implies law 2; 'false': it does not.")] = "",
    code: Annotated[str, Field(description="The Lean file that proves it, as `submission : Goal`.")] = "",
    # Optional texts are "" and not None: the SDK parses JSON given to a parameter that may be anything but a string.
    answer_json: Annotated[str, Field(description="In place of both: the raw JSON of an answer.")] = "",
    judge: JudgeChoice = "default",
) -> AnswerVerdict:
    """Judge one answer to "does law 1 imply law 2 in every magma?"; for several, judge_batch is one call.

    'undecided' is no refusal: this judge cannot tell. A law that cannot be read is an error and no status.
    """
    problem = _problem("the question", law1, law2)
    if answer_json and (verdict or code):
        raise JudgeError("Give either 'verdict' and 'code' or 'answer_json', not both.")
    if not (answer_json or verdict or code):
        raise JudgeError("There is nothing to judge: give 'verdict' and 'code', or 'answer_json'.")
    entry = open_answer(problem, answer_json) if answer_json else Entry(problem, verdict, code)
    if isinstance(entry, Verdict):
        return AnswerVerdict.of_verdict(entry)
    [found] = await _judged(ctx, judge, [entry])
    return AnswerVerdict.of_verdict(found)


async def judge_batch(
    answers: Annotated[list[BatchEntry], Field(min_length=1, max_length=MAX_BATCH, description="The answers.")],
    ctx: Context,
    judge: JudgeChoice = "default",
) -> BatchVerdicts:
    """Judge several answers in one call, each by itself, as judge_answer does."""
    entries = [Entry(_problem(entry.id, entry.law1, entry.law2), entry.verdict, entry.code) for entry in answers]
    found = await _judged(ctx, judge, entries)
    return BatchVerdicts.of_items(
        [BatchVerdict.of_entry(entry, verdict) for entry, verdict in zip(answers, found, strict=True)]
    )


async def judge_explain(  # noqa: PLR0917  # a tool's arguments are named
    law1: Law1,
    law2: Law2,
    verdict: Annotated[str, Field(description="'true' or 'false'.")],
    code: Annotated[str, Field(description="The whole Lean file.")],
    ctx: Context,
    judge: JudgeChoice = "default",
) -> ExplainedVerdict:
    """Judge one answer and explain the verdict: which check, which line, what would help."""
    [found] = await _judged(ctx, judge, [Entry(_problem("the question", law1, law2), verdict, code)])
    return ExplainedVerdict.of_verdict(found, code)


def judge_print_lean(
    law1: Law1,
    law2: Law2,
    certificate: Annotated[dict[str, Any], Field(description="In Ekiden's JSON.")],
) -> PrintedCertificate:
    """Check a certificate, refutation or proof, and print it as a Lean answer; a wrong one is an error."""
    problem = _problem("the question", law1, law2)
    read = from_json(json.dumps(certificate), problem.law1, problem.law2)
    try:
        check(read)
        checked = True
    except CertificateLimitError:
        checked = False
    code = lean_answer(read)
    claim = "true" if isinstance(read, EquationalProof) else "false"
    return PrintedCertificate(verdict=claim, code=code, checked=checked)


async def _judged(
    ctx: Context, choice: Literal["default", "exact", "lean", "coq", "cross"], entries: Sequence[Entry]
) -> list[Verdict]:
    """Judge a batch on a worker thread, report how it goes, and stop it when the call is cancelled."""
    bench = state_of(ctx, _Bench)
    name: JudgeName = bench.settings.judge.default if choice == "default" else choice
    abandoned = Event()
    settled: list[int] = []
    verdicts: list[Verdict] = []
    refusals: list[Exception] = []

    def note(place: int, verdict: Verdict) -> None:
        del verdict
        if abandoned.is_set():
            raise _Abandoned
        settled.append(place)

    def work() -> None:
        # An error is carried out by hand: raised in a task group it would arrive as an exception group.
        try:
            verdicts.extend(bench.judge(name, entries, note))
        except (JudgeError, LeanError, _Abandoned) as error:
            refusals.append(error)

    async def report() -> None:
        began, seen = monotonic(), 0
        while True:
            await anyio.sleep(PROGRESS_EVERY_S)
            if len(settled) > seen:
                began, seen = monotonic(), len(settled)
            waited = monotonic() - began
            part = waited / (waited + HALF_WAY_S)  # rises, and never reaches the next answer
            await ctx.report_progress(seen + part, len(entries), f"{seen} of {len(entries)} answers judged")

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(report)
            await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            tasks.cancel_scope.cancel()
    finally:
        abandoned.set()
    if refusals:
        raise refusals[0]
    await ctx.report_progress(len(entries), len(entries), f"{len(entries)} of {len(entries)} answers judged")
    return verdicts


def _problem(name: str, law1: str, law2: str) -> Problem:
    for which, text in (("law1", law1), ("law2", law2)):
        try:
            parse_law(text)
        except MagmaError as error:
            raise JudgeConfigurationError(f"{which} of {name!r}: {error}") from error
    return Problem(id=name, eq1_id=0, eq2_id=0, equation1=law1, equation2=law2)


SERVER = ServerDefinition(
    name="judge",
    title="Judge: verdicts on answers about equational laws",
    instructions=INSTRUCTIONS,
    tools=(
        ToolDefinition(judge_answer, title="Judge one answer"),
        ToolDefinition(judge_batch, title="Judge several answers"),
        ToolDefinition(judge_explain, title="Explain a verdict"),
        ToolDefinition(judge_print_lean, title="Print a certificate in Lean"),
    ),
    errors=(JudgeError, MagmaError, LeanError),
    lifespan=_bench,
)
