"""Judging answers: the checks of their text in the reference's order, then a checker."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Self, cast

from pydantic import BaseModel, ConfigDict, Field

from ekiden_judge.answers import Answer
from ekiden_judge.checker import Checker, CheckItem, CheckResult, check_one
from ekiden_judge.problem import Problem
from ekiden_judge.strict_json import Reason, StrictJsonError, read_json
from ekiden_judge.tokens import find_banned_token
from ekiden_judge.verdict import Claim, ErrorCode, Verdict

_CODE_OF_FAULT: dict[Reason, ErrorCode] = {
    "invalid_utf8": "UNPARSED_JSON",
    "byte_order_mark": "UNPARSED_JSON",
    "empty": "UNPARSED_JSON",
    "syntax": "UNPARSED_JSON",
    "not_a_number": "UNPARSED_JSON",
    "duplicate_key": "DUPLICATE_JSON_KEYS",
    # JSON that parses, but no answer can look like this: an answer is an object of two strings.
    "deep_nesting": "ANSWER_SCHEMA_ERROR",
    "lone_surrogate": "ANSWER_SCHEMA_ERROR",
    "giant_integer": "ANSWER_SCHEMA_ERROR",
    "infinite_number": "ANSWER_SCHEMA_ERROR",
}


class Limits(BaseModel):
    """Sizes that an answer may have; the defaults are those of the Marathon track."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_code_bytes: Annotated[int, Field(ge=1, description="Bytes of code in UTF-8, for either verdict.")] = 50_000
    max_false_certificate_bytes: Annotated[
        int, Field(ge=1, description="Bytes of code in UTF-8, for the verdict 'false'.")
    ] = 10_000


MARATHON_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer of a batch, with its fields already apart; they may be any objects at all.

    Attributes:
        problem: What is answered.
        verdict: What the answer gives as its verdict.
        code: What the answer gives as its code.
        fault: Why the answer as a whole is malformed, such as a key that occurs twice; judged as such.
    """

    problem: Problem
    verdict: object
    code: object
    fault: StrictJsonError | None = None

    @classmethod
    def of_line(cls, problem: Problem, answer: Answer) -> Self:
        """Take a line of an answers file, as `read_answers` gives it."""
        return cls(problem, answer.verdict, answer.code, answer.fault)


def verify_answer(problem: Problem, raw: bytes | str, *, checker: Checker, limits: Limits = MARATHON_LIMITS) -> Verdict:
    """Judge a raw answer: the text of a JSON object with exactly the keys `verdict` and `code`.

    Never raises for anything that `raw` holds.

    Raises:
        JudgeInfrastructureError: The checker cannot work.
    """
    started = time.perf_counter()
    opened = open_answer(problem, raw)
    verdict = opened if isinstance(opened, Verdict) else _judge_entry(opened, checker, limits)
    return _timed(verdict, started)


def judge_answer(
    problem: Problem, verdict: object, code: object, *, checker: Checker, limits: Limits = MARATHON_LIMITS
) -> Verdict:
    """Judge an answer whose two fields are already apart; each may be any object at all.

    Raises:
        JudgeInfrastructureError: The checker cannot work.
    """
    started = time.perf_counter()
    return _timed(_judge_entry(Entry(problem, verdict, code), checker, limits), started)


def judge_line(problem: Problem, answer: Answer, *, checker: Checker, limits: Limits = MARATHON_LIMITS) -> Verdict:
    """Judge a line of an answers file, as `read_answers` gives it.

    Raises:
        JudgeInfrastructureError: The checker cannot work.
    """
    started = time.perf_counter()
    return _timed(_judge_entry(Entry.of_line(problem, answer), checker, limits), started)


def judge_batch(
    entries: Sequence[Entry],
    *,
    checker: Checker,
    limits: Limits = MARATHON_LIMITS,
    done: Callable[[int, Verdict], None] | None = None,
) -> list[Verdict]:
    """Judge many answers: the texts one by one, then those that pass in one batch of the checker.

    Args:
        entries: The answers.
        checker: Decides those whose text passes.
        limits: Sizes that an answer may have.
        done: Told the place of an answer and its verdict as soon as there is one; once for each, in any order.

    Returns:
        One verdict for each entry, in the order of the entries.

    Raises:
        JudgeInfrastructureError: The checker cannot work; what `done` was told until then stands.
    """
    verdicts: dict[int, Verdict] = {}

    def settle(place: int, verdict: Verdict) -> None:
        verdicts[place] = verdict
        if done is not None:
            done(place, verdict)

    items: list[CheckItem] = []
    places: list[int] = []
    spent: list[float] = []
    for place, entry in enumerate(entries):
        started = time.perf_counter()
        opened = _open_entry(entry, limits)
        if isinstance(opened, Verdict):
            settle(place, _timed(opened, started))
        else:
            items.append(opened)
            places.append(place)
            spent.append(time.perf_counter() - started)

    def settle_checked(number: int, result: CheckResult) -> None:
        verdict = _verdict_of(result, items[number].claim, checker)
        verdict = verdict.model_copy(update={"seconds": spent[number] + result.seconds})
        settle(places[number], verdict)

    if items:
        checker.check_batch(items, done=settle_checked)
    return [verdicts[place] for place in range(len(entries))]


def _judge_entry(entry: Entry, checker: Checker, limits: Limits) -> Verdict:
    opened = _open_entry(entry, limits)
    if isinstance(opened, Verdict):
        return opened
    return _verdict_of(check_one(checker, *opened), opened.claim, checker)


def _verdict_of(result: CheckResult, claim: Claim, checker: Checker) -> Verdict:
    kept = result.bounded()
    return Verdict.of(
        kept.error_code,
        kept.message,
        verdict=claim,
        checker=checker.name,
        certificate=kept.certificate,
        axioms=kept.axioms,
        declarations=kept.declarations,
        diagnostics=kept.diagnostics,
        left_out=kept.left_out,
    )


def _timed(verdict: Verdict, started: float) -> Verdict:
    return verdict.model_copy(update={"seconds": time.perf_counter() - started})


def _refuse(fault: StrictJsonError) -> Verdict:
    return Verdict.of(_CODE_OF_FAULT[fault.reason], f"The answer is refused: {fault}.")


def _refuse_text(fault: StrictJsonError, raw: bytes | str) -> Verdict:
    opening = b"{" if isinstance(raw, bytes) else "{"
    if _CODE_OF_FAULT[fault.reason] == "ANSWER_SCHEMA_ERROR" and raw.lstrip()[:1] != opening:
        return Verdict.of("ANSWER_NOT_OBJECT", f"An answer is a JSON object; in this text {fault}.")
    return _refuse(fault)


def open_answer(problem: Problem, raw: bytes | str) -> Verdict | Entry:
    """Take a raw answer apart, or return the verdict where its JSON already decides; never raises."""
    try:
        value = read_json(raw)
    except StrictJsonError as fault:
        return _refuse_text(fault, raw)
    if not isinstance(value, dict):
        message = f"An answer is a JSON object with the keys 'verdict' and 'code', not {_shown(value)}."
        return Verdict.of("ANSWER_NOT_OBJECT", message)
    fields = cast("dict[str, object]", value)
    if fields.keys() != {"verdict", "code"}:
        keys = ", ".join(map(_shown, sorted(fields)[:6])) or "none"
        message = f"An answer has exactly the keys 'verdict' and 'code'; this one has {keys}."
        return Verdict.of("ANSWER_SCHEMA_ERROR", message)
    return Entry(problem, fields["verdict"], fields["code"])


def _open_entry(entry: Entry, limits: Limits) -> Verdict | CheckItem:
    """Return what is left for a checker, or the verdict where the text already decides."""
    if entry.fault is not None:
        return _refuse(entry.fault)
    claim: Claim
    match entry.verdict:
        case "true":
            claim = "true"
        case "false":
            claim = "false"
        case _:
            message = f"The verdict is {_shown(entry.verdict)}; write the string 'true' or 'false'."
            return Verdict.of("INVALID_VERDICT", message)
    code = entry.code
    if not isinstance(code, str) or not code.strip():
        message = f"The code is {_shown(code)}; write a string that holds a Lean source file."
        return Verdict.of("INVALID_CODE_FIELD", message, verdict=claim)
    return _judge_text(claim, code, limits) or CheckItem(entry.problem, claim, code)


def _judge_text(claim: Claim, code: str, limits: Limits) -> Verdict | None:
    """Return the refusal of a code's text, or None: size, banned words, size of a false certificate, in this order."""
    try:
        size = len(code.encode())
    except UnicodeEncodeError as error:
        message = f"The code holds the lone surrogate {code[error.start]!r} at character {error.start}; it is no text."
        return Verdict.of("INVALID_CODE_FIELD", message, verdict=claim)
    if size > limits.max_code_bytes:
        message = f"The code has {size:,} bytes in UTF-8; at most {limits.max_code_bytes:,} are read."
        return Verdict.of("CODE_TOO_LONG", message, verdict=claim)
    banned = find_banned_token(code)
    if banned is not None:
        message = (
            f"The code contains {banned.token!r} at line {banned.line}, column {banned.column}; no answer may contain "
            "it, not even in a comment, a string or a longer name."
        )
        return Verdict.of("BANNED_PLACEHOLDER", message, verdict=claim)
    if claim == "false" and size > limits.max_false_certificate_bytes:
        message = (
            f"The code has {size:,} bytes in UTF-8; an answer 'false' may have at most "
            f"{limits.max_false_certificate_bytes:,}."
        )
        return Verdict.of("FALSE_CERT_TOO_LARGE", message, verdict=claim)
    return None


def _shown(value: object) -> str:
    """Show a value of any kind in a few characters of ASCII."""
    match value:
        case None:
            return "missing or null"
        case str():
            return ascii(value if len(value) <= 60 else value[:57] + "...")
        case bool():
            return f"the boolean {value}"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"of type {type(value).__name__}"
