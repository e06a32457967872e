"""A Solo solver's prompt: read from its source without running it, and filled for each call."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ekiden_judge import Problem

MAX_ERROR_CHARS = 600
NO_ATTEMPTS = "(no previous attempts)"

_PLACEHOLDER = re.compile(r"\{(problem|history|solver)\.([^{}\n]+)\}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer that was judged: what it claimed, its status, and what was wrong."""

    verdict: str
    status: str
    error: str


def read_prompt(source: bytes) -> str:
    """Return the string that a solver assigns to `PROMPT` at its top level; "" if it assigns no plain string.

    The first such assignment counts. Annotated assignments, f-strings and other scopes do not.
    """
    try:
        tree = ast.parse(source.decode())
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # ValueError: bad UTF-8 or NUL
        return ""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="PROMPT")], value=ast.Constant(value=str(text))):
                return text
            case _:
                pass
    return ""


def fill_prompt(
    prompt: str, problem: Problem, attempts: Sequence[Attempt], *, number: int, context: Mapping[str, object]
) -> str:
    """Fill the placeholders `{problem.*}`, `{history.*}` and `{solver.*}`; those without a value are removed.

    All are filled at once: what is put in is not looked at again.

    Args:
        prompt: The template.
        problem: Gives `id`, `eq1_id`, `eq2_id`, `eq1_name`, `eq2_name`, `equation1`, `equation2`, and the names once
            more as `equation1_id` and `equation2_id`.
        attempts: Give `attempts`, `last_error` and `last_status`.
        number: The number of this call, as `round`.
        context: The solver's own values.
    """
    names = {f"eq{side}_name": f"Equation{numbered}" for side, numbered in ((1, problem.eq1_id), (2, problem.eq2_id))}
    known: dict[str, Mapping[str, object]] = {
        "problem": {
            "id": problem.id,
            "eq1_id": problem.eq1_id,
            "eq2_id": problem.eq2_id,
            "equation1": problem.equation1,
            "equation2": problem.equation2,
            "equation1_id": names["eq1_name"],
            "equation2_id": names["eq2_name"],
            **names,
        },
        "history": {
            "attempts": _told(attempts),
            "round": number,
            "last_error": attempts[-1].error[:MAX_ERROR_CHARS] if attempts else "",
            "last_status": attempts[-1].status if attempts else "",
        },
        "solver": context,
    }
    return _PLACEHOLDER.sub(lambda match: _text(known[match[1]].get(match[2], "")), prompt)


def _told(attempts: Sequence[Attempt]) -> str:
    if not attempts:
        return NO_ATTEMPTS
    lines: list[str] = []
    for number, attempt in enumerate(attempts, start=1):
        lines.append(f"Attempt {number}: verdict {attempt.verdict}, {attempt.status}")
        if attempt.error:
            lines.append(attempt.error[:MAX_ERROR_CHARS])
    return "\n".join(lines)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
