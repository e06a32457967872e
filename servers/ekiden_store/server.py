"""The MCP surface of the store."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Literal

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from ekiden_kit.build import state_of
from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_store.errors import StoreError
from ekiden_store.models import (
    MAX_STEPS,
    Appended,
    DataSet,
    Embedded,
    Row,
    StepPage,
    StoreStats,
    TreePage,
    row_of,
    size_of,
    steps_of,
)
from ekiden_store.redaction.redactor import Redactor
from ekiden_store.serving.pages import bound_cursor, fitting, place_of
from ekiden_store.serving.tidying import Tidier
from ekiden_store.serving.views import open_store, redactor_of, tree_page
from ekiden_store.steps import Step
from ekiden_store.store import Store

if TYPE_CHECKING:
    from ekiden_config import Settings, StoreSettings
    from ekiden_store.writer import Writer

PATIENCE_S = 45.0
"""How long states are encoded in one call; hosts give up after 60 seconds."""

INSTRUCTIONS = f"""\
The trajectory store keeps every attempt at a proof: states, tactics, calls of tools and models, messages, verdicts,
each a row (a step). trajectory_append stores rows for good; trajectory_query lists rows, newest first; trajectory_tree
shows attempts as trees; trajectory_stats counts; trajectory_build_dataset makes training data; trajectory_embed encodes
states.

A row needs theorem_name and kind (search_node, tactic, tool_call, model_call, message, verdict). Give an attempt's rows
one attempt_id and run_id, and step 0, 1, 2... A state: state_id, parent_state_id (none for the root), tactic_applied,
state_pp (after the tactic; '' when no goal is left, with is_proof_complete), state_before, label (positive, negative,
unknown), depth_from_root. A failed tactic: outcome 'failed', failure_kind, lean_messages. A call: tool, tool_input,
tool_output, model, tokens_in, tokens_out. At most {MAX_STEPS} rows a call. Secrets are struck out of what is shown.

A mix is {{"seed": 1, "sources": [{{"name": "proofs", "rows": {{"labels": ["positive"]}}}}], "validation":
{{"fraction": 0.1}}}}; a source may say subsample, upsample, dedupe (theorem, state, tactic), or be of the kind
'contrast'; rows may name runs, theorems, without_theorems, origins, iterations, min_depth, max_depth.
"""

AnyKind = Literal["", "search_node", "tactic", "tool_call", "model_call", "message", "verdict"]
AnyLabel = Literal["", "positive", "negative", "unknown"]
Run = Annotated[str, Field(description="Only of it.")]
Theorem = Annotated[str, Field(description="Only of it.")]
Attempt = Annotated[str, Field(description="Only of it.")]
Cursor = Annotated[str, Field(description="`next_cursor`.")]


class _Office:
    """What the server keeps between calls: the store and its writer, opened at the first call."""

    def __init__(self, settings: "StoreSettings") -> None:
        self.settings = settings
        self._opening = Lock()  # guards the store and the writer: one of each is made
        self._store: Store | None = None
        self._writer: Writer | None = None
        self._tidier = Tidier(settings)

    @contextmanager
    def store(self) -> Generator[Store]:
        """Yield the store; what goes wrong with it is told without places on this machine.

        Raises:
            StoreError: It cannot be used.
        """
        try:
            with self._opening:
                if self._store is None:
                    self._store = open_store(self.settings, create=True)
                    self._tidier.look(self._store)
            yield self._store
        except StoreError as error:
            place = str(Path(self.settings.folder).expanduser())
            raise StoreError(str(error).replace(place, "the store")) from error  # a model is told no places

    def append(self, store: Store, steps: list[Step]) -> list[str]:
        """Store rows by the one writer, and return their ids."""
        with self._opening:
            if self._writer is None:
                self._writer = store.writer(producer="ekiden trajectories", segment_bytes=self.settings.segment_bytes)
        ids = self._writer.append(steps)
        self._tidier.look(store)
        return ids

    def redactor(self) -> Redactor:
        """Return what strikes out secrets."""
        return redactor_of(self.settings)

    def close(self) -> None:
        """Let go of the writer's file, and end what compacts."""
        self._tidier.close()
        if self._writer is not None:
            self._writer.close()


@asynccontextmanager
async def _office(settings: "Settings") -> AsyncGenerator[_Office]:
    office = _Office(settings.store)
    try:
        yield office
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(office.close)


def trajectory_append(
    steps: Annotated[list[Row], Field(min_length=1, max_length=MAX_STEPS, description="Rows, by column.")],
    ctx: Context,
) -> Appended:
    """Store rows, all or none. Your own row_id makes it safe to repeat."""
    office = state_of(ctx, _Office)
    rows = steps_of(steps)
    with office.store() as store:
        return Appended.of_ids(office.append(store, rows))


def trajectory_query(  # noqa: PLR0917  # a tool's arguments are named
    ctx: Context,
    theorem: Theorem = "",
    run: Run = "",
    attempt: Attempt = "",
    kind: Annotated[AnyKind, Field(description="Only these.")] = "",
    label: Annotated[AnyLabel, Field(description="Only these.")] = "",
    limit: Annotated[int, Field(ge=1, le=50, description="At most.")] = 20,
    cursor: Cursor = "",
) -> StepPage:
    """List rows, the newest first."""
    from ekiden_store.serving.views_query import cursor_after, newest_steps, row_filter

    office = state_of(ctx, _Office)
    redactor = office.redactor()
    question = (theorem, run, attempt, kind, label)
    where = row_filter(theorem, run, attempt, kind or None, label or None)
    with office.store() as store, store.snapshot() as snapshot:
        found, following = newest_steps(snapshot, where, limit=limit, cursor=place_of(cursor, *question))
    rows = fitting((row_of(redactor.redact_step(step)) for step in found), size_of)
    if len(rows) < len(found):
        following = cursor_after(found[len(rows) - 1])
    return StepPage(steps=rows, next_cursor=bound_cursor(following, *question))


def trajectory_stats(ctx: Context, theorem: Theorem = "", run: Run = "") -> StoreStats:
    """Count rows, labels, depths, theorems, proofs. SLOW."""
    from ekiden_store.queries.stats import read_stats
    from ekiden_store.serving.views_query import row_filter

    office = state_of(ctx, _Office)
    where = row_filter(theorem, run)
    with office.store() as store, store.snapshot() as snapshot:
        return StoreStats.of_stats(read_stats(snapshot, where=where, largest=20), office.redactor())


def trajectory_tree(
    ctx: Context,
    theorem: Annotated[str, Field(description="Whose attempts.")] = "",
    run: Run = "",
    attempt: Annotated[str, Field(description="Alone: all its rows.")] = "",
    cursor: Cursor = "",
) -> TreePage:
    """Show a theorem's attempts as trees, or all rows of one attempt."""
    office = state_of(ctx, _Office)
    with office.store() as store, store.snapshot() as snapshot:
        lines, following = tree_page(
            snapshot, office.redactor(), theorem=theorem, run_id=run, attempt_id=attempt, cursor=cursor
        )
    return TreePage(lines=lines, next_cursor=following)


def trajectory_build_dataset(
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$", description="New.")],
    mix: Annotated[Row, Field(description="The mix.")],
    ctx: Context,
) -> DataSet:
    """Make a data set: JSON Lines, the state before each tactic. SLOW."""
    from ekiden_store.data_sets.exports import export_mix
    from ekiden_store.data_sets.mixes import parse_mix

    office = state_of(ctx, _Office)
    with office.store() as store:
        folder = store.folder / "datasets"
        parsed = parse_mix(mix, folder=folder)
        if parsed.files:
            raise StoreError("Files are not read here: import those of examples into the store, and list names.")
        with store.snapshot() as snapshot:
            manifest = export_mix(parsed, folder / name, snapshot=snapshot, redactor=office.redactor())
    return DataSet.of_manifest(f"datasets/{name}", manifest)


def trajectory_embed(ctx: Context) -> Embedded:
    """Encode states without a vector. SLOW."""
    from ekiden_store.embeddings.fill import FillReport
    from ekiden_store.serving.views_states import embed_states

    office = state_of(ctx, _Office)
    reports: list[FillReport] = []

    async def fill(store: Store) -> Embedded:
        with anyio.move_on_after(PATIENCE_S):
            report = await embed_states(store, office.settings, on_checkpoint=reports.append)
            return Embedded.of_report(report, is_complete=True)
        return Embedded.of_report(reports[-1] if reports else FillReport(), is_complete=False)

    with office.store() as store:
        return anyio.run(fill, store)


SERVER = ServerDefinition(
    name="trajectories",
    title="Trajectories: every attempt at a proof, kept, counted and shown",
    instructions=INSTRUCTIONS,
    tools=(
        ToolDefinition(trajectory_append, title="Store steps", read_only=False, idempotent=False),
        ToolDefinition(trajectory_query, title="List steps"),
        ToolDefinition(trajectory_tree, title="Show attempts"),
        ToolDefinition(trajectory_stats, title="Count"),
        ToolDefinition(trajectory_build_dataset, title="Make a data set", read_only=False, idempotent=False),
        ToolDefinition(trajectory_embed, title="Encode states", read_only=False, open_world=True),
    ),
    errors=(StoreError,),
    lifespan=_office,
)
