"""The judges, as commands name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from ekiden_config import JudgeName

JUDGES = "exact|lean|coq|cross"


def judge_name(text: str) -> JudgeName:
    """Read a judge's name.

    Raises:
        CommandError: There is no such judge.
    """
    match text:
        case "exact" | "lean" | "coq" | "cross":
            return text
        case _:
            raise CommandError(f"There is no judge {text!r}; choose one of {JUDGES.replace('|', ', ')}.")
