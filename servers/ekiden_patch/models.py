"""What goes out of the patch server's tools."""

from typing import Literal

from pydantic import BaseModel, Field

from ekiden_patch.workspace import Change, Editable

MAX_SHOWN = 6_000
"""Characters of a part that are shown."""


class PatchResult(BaseModel):
    """What a patch did."""

    dry_run: bool = Field(description="Whether nothing was written.")
    added: list[str] = Field(description="Always empty.")
    modified: list[str] = Field(description="The file.")
    deleted: list[str] = Field(description="Always empty.")
    sha256: str = Field(description="Hash of the file's bytes afterwards.")

    @classmethod
    def of_change(cls, change: Change) -> "PatchResult":
        """Return what is told of a change that was written."""
        return cls(dry_run=False, added=[], modified=[change.label], deleted=[], sha256=change.sha256)

    @property
    def text(self) -> str:
        """The result in words."""
        intro = "Dry run. Would update" if self.dry_run else "Success. Updated"
        return "\n".join((f"{intro} the following files:", *(f"M {label}" for label in self.modified)))


class DryRunResult(PatchResult):
    """What a patch would do."""

    diff: str = Field(description="Unified diff.")

    @classmethod
    def of_change(cls, change: Change) -> "DryRunResult":
        """Return what is told of a change that was not written."""
        return cls(dry_run=True, added=[], modified=[change.label], deleted=[], sha256=change.sha256, diff=change.diff)

    @property
    def text(self) -> str:
        """The result in words, with the diff."""
        return f"{super().text}\n{self.diff}"


class ShownSpan(BaseModel):
    """A part that may be edited."""

    part: Literal["file", "helper_area", "statement", "proof", "title", "body"] = Field(description="Which part.")
    start: str = Field(description="line:column, from 1.")
    end: str = Field(description="The same, exclusive.")
    text: str = Field(description="Its text now.")
    truncated: bool = Field(description="Whether more follows.")


class EditableSpans(BaseModel):
    """What of a file may be edited."""

    path: str = Field(description="The file.")
    node: str = Field(description="The node; '': all of the file.")
    sha256: str = Field(description="For `expected_sha256`.")
    spans: list[ShownSpan] = Field(description="Parts in order.")
    helper_keywords: list[str] = Field(description="What helper nodes may declare.")

    @classmethod
    def of_editable(cls, editable: Editable) -> "EditableSpans":
        """Return what is told of a file."""
        scope, snapshot, spans = editable
        text = snapshot.text
        if scope.node:
            shown = [_shown(span.part, str(span.first), str(span.last), text[span.start : span.end]) for span in spans]
        else:
            last = f"{text.count(chr(10)) + 1}:{len(text) - (text.rfind(chr(10)) + 1) + 1}"
            shown = [_shown("file", "1:1", last, text)]
        keywords = sorted(scope.helpers.keywords) if scope.node else []
        return cls(path=scope.path, node=scope.node, sha256=snapshot.sha256, spans=shown, helper_keywords=keywords)


def _shown(
    part: Literal["file", "helper_area", "statement", "proof", "title", "body"], start: str, end: str, text: str
) -> ShownSpan:
    return ShownSpan(part=part, start=start, end=end, text=text[:MAX_SHOWN], truncated=len(text) > MAX_SHOWN)
