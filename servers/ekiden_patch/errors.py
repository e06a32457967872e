"""The one error of `ekiden_patch`: a refusal with a stable code."""

from collections.abc import Mapping
from typing import Literal

PatchCode = Literal[
    # the patch's text
    "no_begin_marker",
    "no_end_marker",
    "misplaced_end_marker",
    "bad_header",
    "bad_line",
    "empty_chunk",
    "no_chunks",
    "file_operation",
    "several_files",
    "wrong_file",
    # where it belongs in the file
    "header_not_found",
    "lines_not_found",
    "out_of_order",
    "not_at_end_of_file",
    "ambiguous",
    # the file itself
    "bad_path",
    "missing_file",
    "not_regular",
    "not_utf8",
    "stale",
    "busy",
    "cannot_read",
    "cannot_write",
    # what may be edited
    "not_configured",
    "path_required",
    "not_editable",
    "node_not_found",
    "node_changed_outside",
    "changed_outside",
    "out_of_scope",
    "syntax_problem",
    "nothing_to_undo",
]


class PatchError(Exception):
    """A patch that is refused; nothing was written.

    Attributes:
        code: What is wrong, for programs; the codes never change their meaning.
        message: What is wrong and the way out, for people and models.
        details: The figures behind the message. Line numbers start at 1; `patch_line` counts in the patch, `line` in
            the file.
    """

    def __init__(self, code: PatchCode, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code: PatchCode = code
        self.message = message
        self.details: dict[str, object] = dict(details or {})

    def __reduce__(self) -> tuple[type["PatchError"], tuple[PatchCode, str, dict[str, object]]]:
        return type(self), (self.code, self.message, self.details)
