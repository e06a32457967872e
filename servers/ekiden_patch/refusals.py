"""Refusals as a model reads them: the code, the reason, the places, the way out, and all that as data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ekiden_patch.errors import PatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_policies.edit_scope import EditableSpan, FileScope, Violation

_SHOWN = 12


def out_of_scope(scope: FileScope, violations: Sequence[Violation], spans: Sequence[EditableSpan]) -> PatchError:
    """Return the refusal of a patch for what it changes.

    Args:
        scope: The file and its node.
        violations: What is wrong; at least one.
        spans: What may be edited.
    """
    lines = [f"The patch of {scope.path!r} is refused; nothing was written."]
    for each in violations[:_SHOWN]:
        where = "" if each.text == "old" else f" (at {each.first} of the refused text)"
        lines.append(f"- {each.code}: {each.message}{where}")
    if len(violations) > _SHOWN:
        lines.append(f"- and {len(violations) - _SHOWN} more.")
    if spans:
        lines.append(f"Editable for {scope.node!r}: {'; '.join(map(str, spans))}.")
    details: dict[str, object] = {
        "file": scope.path,
        "node": scope.node,
        "violations": [
            {
                "code": each.code,
                "message": each.message,
                "text": each.text,
                "start": str(each.first),
                "end": str(each.last),
                "nearest": str(each.nearest) if each.nearest else None,
            }
            for each in violations[:_SHOWN]
        ],
        "editable": [{"part": span.part, "start": str(span.first), "end": str(span.last)} for span in spans],
    }
    syntax_alone = not spans and all(each.code == "syntax_problem" for each in violations)
    return PatchError("syntax_problem" if syntax_alone else "out_of_scope", "\n".join(lines), details)


def told(error: PatchError) -> str:
    """Return a refusal as text: its code and message, and a last line of JSON."""
    data = json.dumps({"code": error.code, **error.details}, ensure_ascii=False)
    return f"{error.code}: {error.message}\n{data}"
