"""Reading the answers file of a marathon: one JSON object a line, written by an untrusted program."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from ekiden_judge.strict_json import Reason, StrictJsonError, read_json

MAX_SKIPPED_SHOWN = 100
SPARE_LINES = 100_000
LINES_PER_PROBLEM = 10
"""So many lines are read for each problem, and the spare ones on top; a flood of tiny lines would take hours."""

SkipReason = Literal[Reason, "not_an_object", "no_id"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer to one problem; nothing but its id is checked yet.

    Attributes:
        id: The problem's id.
        line: 1-based line of the answers file.
        verdict: The value of the key `verdict`; None if there is none.
        code: The value of the key `code`; None if there is none.
        fault: Why the line as a whole is malformed, such as a key that occurs twice; judged as such.
    """

    id: str
    line: int
    verdict: object
    code: object
    fault: StrictJsonError | None = None


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that answers no problem: its 1-based number and why it was skipped."""

    line: int
    reason: SkipReason
    message: str


@dataclass(frozen=True, slots=True)
class ReadAnswers:
    """What an answers file holds.

    Attributes:
        answers: The answer that counts for each id: that of its last line.
        lines: Lines that are not blank; each of them is an answer, replaced, skipped, or for an unknown id.
        replaced: Answers that a later line of the same id replaced.
        skipped: The skipped lines, at most `MAX_SKIPPED_SHOWN` of them.
        skipped_by_reason: How many lines were skipped, all counted, by reason.
        unknown_ids: How many lines carry an id that is not asked for.
        unread: Lines behind those that are read, blank ones included; 0 unless a program floods the file.
    """

    answers: Mapping[str, Answer]
    lines: int = 0
    replaced: int = 0
    skipped: tuple[SkippedLine, ...] = ()
    skipped_by_reason: Mapping[SkipReason, int] = field(default_factory=dict[SkipReason, int])
    unknown_ids: int = 0
    unread: int = 0


def read_answers(data: bytes, ids: Collection[str], *, spare_lines: int = SPARE_LINES) -> ReadAnswers:
    r"""Find the answer that counts for each problem; never raises, whatever the bytes are.

    Lines end at the byte `\n` and nowhere else, so that U+2028 inside a string stays there; `\r\n` is accepted. A line
    counts if it is a JSON object whose `id` is a string; other keys than `id`, `verdict` and `code` are ignored. A bad
    line hits only itself: it is skipped, with its reason, or, if its id can be told, counts as a malformed answer.

    Args:
        data: The bytes of the answers file.
        ids: The ids of the problems.
        spare_lines: Lines that are read beyond `LINES_PER_PROBLEM` for each problem; the rest stays unread.
    """
    wanted = frozenset(ids)
    most = spare_lines + LINES_PER_PROBLEM * len(wanted)
    answers: dict[str, Answer] = {}
    skipped: list[SkippedLine] = []
    reasons: Counter[SkipReason] = Counter()
    lines = replaced = unknown = unread = 0
    for number, line, start in _lines(data):
        if lines == most:
            unread = data.count(b"\n", start) + (not data.endswith(b"\n"))
            break
        lines += 1
        answer = _read_line(number, line)
        if isinstance(answer, SkippedLine):
            reasons[answer.reason] += 1
            if len(skipped) < MAX_SKIPPED_SHOWN:
                skipped.append(answer)
        elif answer.id not in wanted:
            unknown += 1
        else:
            replaced += answer.id in answers
            answers[answer.id] = answer
    return ReadAnswers(answers, lines, replaced, tuple(skipped), dict(reasons), unknown, unread)


def _lines(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    start, number = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        number += 1
        line = data[start:end].strip(b" \t\r")
        if line:
            yield number, line, start
        start = end + 1


def _read_line(number: int, line: bytes) -> Answer | SkippedLine:
    fault: StrictJsonError | None = None
    try:
        value = read_json(line)
    except StrictJsonError as error:
        fault, value = error, error.value
        if value is None:
            return SkippedLine(number, error.reason, str(error))
    if not isinstance(value, dict):
        return SkippedLine(number, "not_an_object", "an answer is a JSON object")
    fields = cast("dict[str, object]", value)
    name = fields.get("id")
    if not isinstance(name, str):
        return SkippedLine(number, "no_id", "an answer needs the key 'id' with a string")
    return Answer(name, number, fields.get("verdict"), fields.get("code"), fault)
