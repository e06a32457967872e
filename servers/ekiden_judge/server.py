"""The MCP surface of the judge."""

from functools import partial
from typing import Annotated

import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from ekiden_judge import judge
from ekiden_judge.errors import JudgeConfigurationError, JudgeError
from ekiden_judge.exact import ExactChecker
from ekiden_judge.judge import MARATHON_LIMITS
from ekiden_judge.models import MAX_BATCH, BatchEntry, BatchVerdict, BatchVerdicts
from ekiden_judge.problem import Problem
from ekiden_judge.verdict import Verdict
from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_magma import MagmaError, parse_law

INSTRUCTIONS = f"""\
Judges answers to the question "does law 1 imply law 2 in every magma?", as the SAIR judge does, but by exact
computation instead of Lean: an answer counts only if its status is 'accepted'. 'incorrect' means that Lean would refuse
it too; 'undecided' means that the code is in no shape that is understood without Lean, and says nothing more.
Limits: {MARATHON_LIMITS.max_code_bytes} bytes of code, {MARATHON_LIMITS.max_false_certificate_bytes} for the verdict
'false'. Tools: judge_answer (one answer), judge_batch (many).

Understood are the standard shapes: for 'false' a Cayley table with `decideFin!` or an infinite model in Ekiden's shape,
for 'true' equational steps from instances of law 1. Words such as `sorry`, `macro` and `#eval` are refused anywhere in
the code, comments included. Laws use single lower-case letters, ◇ or *, parentheses and one '='.
"""


def judge_answer(
    law1: Annotated[str, Field(description="The premise, such as 'x = x ◇ (y ◇ x)'; '*' may stand for '◇'.")],
    law2: Annotated[str, Field(description="The conclusion, written like the premise.")],
    verdict: Annotated[
        str, Field(description="'true': law 1 implies law 2 in every magma; 'false': it does not.")
    ] = "",
    code: Annotated[
        str, Field(description="The whole Lean source file that proves the verdict, as `submission : Goal`.")
    ] = "",
    # Optional texts are "" and not None: the SDK parses JSON given to a parameter that may be anything but a string.
    answer_json: Annotated[
        str,
        Field(
            description="In place of `verdict` and `code`: the raw text of an answer file, a JSON object with exactly "
            "these two keys. Use it to have the text itself judged, repeated keys and all."
        ),
    ] = "",
) -> Verdict:
    """Judge one answer to "does law 1 imply law 2 in every magma?" exactly, without Lean.

    Give `verdict` and `code`, or `answer_json`. Use it before you submit an answer; for several answers judge_batch is
    one call. Usually answers within milliseconds, in the worst case within a few seconds.

    Only the status 'accepted' counts. 'incorrect' comes with the step or the values that fail; 'malformed', 'unparsed'
    and 'incomplete_proof' say what to change in the text. 'undecided' is no refusal: the proof is in no shape that can
    be decided without Lean. A law that cannot be read is an error and no status.
    """
    problem = _problem("the question", law1, law2)
    if answer_json and (verdict or code):
        raise JudgeError("Give either 'verdict' and 'code' or 'answer_json', not both.")
    if answer_json:
        return judge.verify_answer(problem, answer_json, checker=ExactChecker())
    if not (verdict or code):
        raise JudgeError("There is nothing to judge: give 'verdict' and 'code', or 'answer_json'.")
    return judge.judge_answer(problem, verdict, code, checker=ExactChecker())


async def judge_batch(
    answers: Annotated[
        list[BatchEntry],
        Field(min_length=1, max_length=MAX_BATCH, description=f"1 to {MAX_BATCH} answers, judged in this order."),
    ],
    ctx: Context,
) -> BatchVerdicts:
    """Judge several answers in one call, each with its own two laws; reports progress in answers judged.

    Each is judged on its own, exactly as judge_answer does, and all are returned in the order given. An answer that is
    no good never affects the others; a law that cannot be read refuses the whole call before anything is judged.
    """
    problems = [_problem(entry.id, entry.law1, entry.law2) for entry in answers]
    checker = ExactChecker()
    items: list[BatchVerdict] = []
    for problem, entry in zip(problems, answers, strict=True):
        ask = partial(judge.judge_answer, problem, entry.verdict, entry.code, checker=checker)
        items.append(BatchVerdict.of_entry(entry, await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)))
        await ctx.report_progress(len(items), len(answers), "answers judged")
    return BatchVerdicts.of_items(items)


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
    ),
    errors=(JudgeError, MagmaError),
)
