"""The MCP surface of the patch server."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from ekiden_kit.build import state_of
from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_patch.errors import PatchError
from ekiden_patch.models import DryRunResult, EditableSpans, PatchResult
from ekiden_patch.refusals import told
from ekiden_patch.settings import read_scope
from ekiden_patch.workspace import Workspace

if TYPE_CHECKING:
    from ekiden_config import PatchSettings, Settings

INSTRUCTIONS = """\
Edits files by patches in Codex's apply_patch format, and only what this agent may edit. patch_editable_spans shows what
that is and the file's hash; apply_patch_dry_run tries a patch; apply_patch writes it; patch_undo takes it back. One
existing file a patch; nothing is added, deleted or moved. A refusal writes nothing and says why, where and what to do.

*** Begin Patch
@@ a line of the file to start after (optional; `@@` alone between places)
 a line that stays
-a line that goes
+a line that comes
*** End Patch

With a scope of one node: helper nodes go into the helper area before it; the prose of statement, proof and title may
change, and the proof body, with every line indented. Label, signature and all other text are frozen. Replace a
placeholder's whole line; nothing may follow it. What changes the meaning of other text (notation, options, variables,
instances, attributes such as simp) is refused.
"""

PatchText = Annotated[str, Field(min_length=1, description="The patch, from '*** Begin Patch' to '*** End Patch'.")]
# Optional texts are "" and not None: the SDK parses JSON given to a parameter that may be anything but a string.
FilePath = Annotated[str, Field(description="The file, from the workspace on; '' when only one may be edited.")]
Sha256 = Annotated[str, Field(pattern="^([0-9a-fA-F]{64})?$", description="Hash the file must have now; '' for any.")]
Ambiguous = Annotated[
    Literal["refuse", "first"], Field(description="When lines fit in several places: refuse, or take the first.")
]

_Result = TypeVar("_Result")
_logger = logging.getLogger(__name__)


class _Desk:
    """What the server keeps between calls: the workspace, looked at when the server starts, or why there is none."""

    def __init__(self, settings: "PatchSettings") -> None:
        self._workspace: Workspace | None = None
        self._flaw: PatchError | None = None
        try:
            self._workspace = Workspace(read_scope(settings))
        except PatchError as error:
            _logger.error("Nothing can be edited: %s", error)
            self._flaw = PatchError("not_configured", f"Nothing can be edited: {error}", error.details)

    def workspace(self) -> Workspace:
        """Return the workspace.

        Raises:
            PatchError: There is none.
        """
        if self._workspace is None:
            raise self._flaw or PatchError("not_configured", "Nothing can be edited.")
        return self._workspace


@asynccontextmanager
async def _desk(settings: "Settings") -> AsyncGenerator[_Desk]:
    yield await anyio.to_thread.run_sync(_Desk, settings.patch)


def apply_patch(
    patch: PatchText,
    ctx: Context,
    path: FilePath = "",
    expected_sha256: Sha256 = "",
    ambiguity: Ambiguous = "refuse",
) -> Annotated[CallToolResult, PatchResult]:
    """Apply a patch to one file, whole or not at all."""
    return _told(
        ctx, lambda desk: PatchResult.of_change(desk.apply(patch, path, sha256=expected_sha256, ambiguity=ambiguity))
    )


def apply_patch_dry_run(
    patch: PatchText,
    ctx: Context,
    path: FilePath = "",
    expected_sha256: Sha256 = "",
    ambiguity: Ambiguous = "refuse",
) -> Annotated[CallToolResult, DryRunResult]:
    """Say what a patch would do, with a diff, or why it would be refused; writes nothing."""
    return _told(
        ctx,
        lambda desk: DryRunResult.of_change(
            desk.apply(patch, path, sha256=expected_sha256, ambiguity=ambiguity, dry_run=True)
        ),
    )


def patch_editable_spans(ctx: Context, path: FilePath = "") -> EditableSpans:
    """Show what may be edited of a file, with its text and lines, and the file's hash."""
    return _done(ctx, lambda desk: EditableSpans.of_editable(desk.editable(path)))


def patch_undo(
    ctx: Context, path: FilePath = "", expected_sha256: Sha256 = ""
) -> Annotated[CallToolResult, PatchResult]:
    """Take back the last patch that this server wrote to a file; again, the one before. Refused once others write."""
    return _told(ctx, lambda desk: PatchResult.of_change(desk.undo(path, sha256=expected_sha256)))


def _told(ctx: Context, work: Callable[[Workspace], PatchResult]) -> CallToolResult:
    """Return a result whose text is the one that callers of the format know, beside the data."""
    result = _done(ctx, work)
    return CallToolResult(content=[TextContent(type="text", text=result.text)], structured_content=result.model_dump())


def _done(ctx: Context, work: Callable[[Workspace], _Result]) -> _Result:
    """Return what was done, or raise the refusal with its data as text: hosts show no data of an error."""
    try:
        return work(state_of(ctx, _Desk).workspace())
    except PatchError as error:
        raise ToolError(told(error)) from error


SERVER = ServerDefinition(
    name="apply_patch",
    title="Patches: edit files inside a scope",
    instructions=INSTRUCTIONS,
    tools=(
        ToolDefinition(
            apply_patch, title="Apply a patch", read_only=False, destructive=True, idempotent=False, own_text=True
        ),
        ToolDefinition(apply_patch_dry_run, title="Try a patch", own_text=True),
        ToolDefinition(patch_editable_spans, title="See what may be edited"),
        ToolDefinition(
            patch_undo, title="Take a patch back", read_only=False, destructive=True, idempotent=False, own_text=True
        ),
    ),
    errors=(PatchError,),
    lifespan=_desk,
)
