"""The MCP surface of the proof graph."""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, assert_never

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from ekiden_blueprint.errors import BlueprintError
from ekiden_dag.allowing import allowances_of
from ekiden_dag.elaboration import open_lean
from ekiden_dag.errors import DagError
from ekiden_dag.models import (
    AdmissibleNode,
    AdmissibleNodes,
    ChildNodes,
    DefinitionalContext,
    DefinitionNode,
    NodeReport,
    Overview,
    ParentNodes,
    Picture,
    Verification,
)
from ekiden_dag.snapshot import Snapshot
from ekiden_dag.target import Target, lean_threads
from ekiden_dag.watching import Tracker
from ekiden_kit.build import state_of
from ekiden_kit.definition import Lifespan, ServerDefinition, ToolDefinition

if TYPE_CHECKING:
    from ekiden_config import Settings
    from ekiden_dag.elaboration import OpenElaborator

LONGEST_WAIT_S = 50.0
LONGEST_PICTURE = 24_000
MOST_DRAWN = 60

INSTRUCTIONS = f"""\
Answers questions about the proof graph of one blueprint, always of its files as they are now. Start with dag_overview:
states, leaves to work on, critical path. dag_node: source, prose, state, why it is not ready, ancestors. parent_nodes,
child_nodes, admissible_external_nodes (what a proof may use), global_definitional_context. dag_verify: the rules that
CI checks; run it before you deliver. dag_draw: a picture.

Vertices are lemmas, theorems and assumptions, by Lean name. A node rests on its parents, also through definitions.
Edges are 'elaborated' by Lean, or until it is done 'declared' by `cref` in proofs and `sorry_using`. Lean works in the
background after each change of code, not of prose. A leaf is an unproved node that rests directly on no unproved one.
States: proved (its own proof is complete), ready, waiting, blocked, assumption. Only dag_verify waits for Lean, up to
{LONGEST_WAIT_S:.0f} s.
"""

LeanName = Annotated[str, Field(description="A lemma or theorem.")]

_Answer = TypeVar("_Answer")


async def parent_nodes(lean_name: LeanName, ctx: Context) -> ParentNodes:
    """List what a node rests on directly."""

    def work(snapshot: Snapshot) -> ParentNodes:
        names = list(snapshot.graph.parents(lean_name))
        return ParentNodes(target=lean_name, parent_nodes=names, count=len(names), origin=_origin(snapshot))

    return await _answer(ctx, work)


async def child_nodes(lean_name: LeanName, ctx: Context) -> ChildNodes:
    """List what rests on a node directly."""

    def work(snapshot: Snapshot) -> ChildNodes:
        names = list(snapshot.graph.children(lean_name))
        return ChildNodes(target=lean_name, child_nodes=names, count=len(names), origin=_origin(snapshot))

    return await _answer(ctx, work)


async def global_definitional_context(lean_name: LeanName, ctx: Context) -> DefinitionalContext:
    """List all definitional nodes."""

    def work(snapshot: Snapshot) -> DefinitionalContext:
        seen = snapshot.graph.definitional_context(lean_name)
        nodes = [DefinitionNode.of_seen(one, snapshot.project) for one in seen]
        return DefinitionalContext(target=lean_name, global_definitional_context=nodes, count=len(nodes))

    return await _answer(ctx, work)


async def admissible_external_nodes(lean_name: LeanName, ctx: Context) -> AdmissibleNodes:
    """List what a node's proof may use without a cycle."""

    def work(snapshot: Snapshot) -> AdmissibleNodes:
        seen = snapshot.graph.admissible(lean_name)
        nodes = [AdmissibleNode.of_seen(one, snapshot.project) for one in seen]
        return AdmissibleNodes(
            target=lean_name, admissible_external_nodes=nodes, count=len(nodes), origin=_origin(snapshot)
        )

    return await _answer(ctx, work)


async def dag_node(lean_name: Annotated[str, Field(description="Of any node.")], ctx: Context) -> NodeReport:
    """Show a node: source, state, why it is not ready, ancestors."""
    return await _answer(ctx, lambda snapshot: NodeReport.of_node(snapshot, lean_name))


async def dag_overview(ctx: Context) -> Overview:
    """Show the graph at a glance: states, leaves to work on, critical path."""
    return await _answer(ctx, Overview.of_snapshot)


async def dag_draw(
    ctx: Context,
    form: Annotated[Literal["tree", "mermaid", "svg", "json"], Field(description="How.")] = "tree",
    around: Annotated[str, Field(description="Only this node's relatives.")] = "",
) -> Picture:
    """Draw the graph, nodes by state."""

    def work(snapshot: Snapshot) -> Picture:
        picture = _picture(snapshot, form, around)
        if len(picture) > LONGEST_PICTURE:
            raise _too_large(f"has {len(picture)} characters, more than {LONGEST_PICTURE}")
        return Picture(picture=picture)

    return await _answer(ctx, work)


async def dag_verify(ctx: Context) -> Verification:
    """Run the rules that CI runs. SLOW while Lean is at work."""
    snapshot = await state_of(ctx, Tracker).settled(LONGEST_WAIT_S)
    return await anyio.to_thread.run_sync(Verification.of_snapshot, snapshot)


async def _answer(ctx: Context, work: Callable[[Snapshot], _Answer]) -> _Answer:
    """Answer from the blueprint as it is now, on a worker thread."""
    snapshot = await state_of(ctx, Tracker).snapshot()
    return await anyio.to_thread.run_sync(work, snapshot)


def _origin(snapshot: Snapshot) -> str:
    return "declared" if snapshot.graph.edges.origin == "declared" else ""


def _picture(snapshot: Snapshot, form: Literal["tree", "mermaid", "svg", "json"], around: str) -> str:
    import json

    from ekiden_blueprint import pictures

    progress = snapshot.progress
    only = pictures.around(progress, around) if around else None
    match form:
        case "tree":
            return pictures.tree_text(progress, only)
        case "mermaid":
            return pictures.mermaid(progress, only)
        case "svg":
            if (nodes := len(progress.states if only is None else only)) > MOST_DRAWN:  # laying it out takes long
                raise _too_large(f"has {nodes} nodes, more than {MOST_DRAWN}")
            return pictures.svg(progress, only)
        case "json":
            return json.dumps(pictures.json_picture(progress, only), ensure_ascii=False)
        case _:
            assert_never(form)


def _too_large(how: str) -> DagError:
    return DagError(
        f"The picture {how}. Give 'around', or use dag_overview; people draw it whole with `ekiden blueprint graph`."
    )


def _lifespan(open_elaborator: "OpenElaborator | None") -> Lifespan:
    @asynccontextmanager
    async def tracker(settings: "Settings") -> AsyncGenerator[Tracker]:
        allowances = allowances_of(settings.blueprint)
        target = partial(_target, settings.blueprint.source_folder)
        if open_elaborator is None:
            async with _running(Tracker(target, None, allowances)) as running:
                yield running
            return
        with open_elaborator(settings, _threads()) as elaborator:
            async with _running(Tracker(target, elaborator, allowances)) as running:
                yield running

    return tracker


@asynccontextmanager
async def _running(tracker: Tracker) -> AsyncGenerator[Tracker]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tracker.watch)
        tasks.start_soon(tracker.elaborate)
        tasks.start_soon(tracker.refresh)
        try:
            yield tracker
        finally:
            tracker.stop()
            tasks.cancel_scope.cancel()


def _target(source_folder: str) -> Target:
    """Say which blueprint; a wrong number of threads is told here, at a call, and not at the start."""
    lean_threads(os.environ)
    return Target.of_environment(os.environ, source_folder)


def _threads() -> int | None:
    try:
        return lean_threads(os.environ)
    except DagError:
        return None


def dag_server(open_elaborator: "OpenElaborator | None" = open_lean) -> ServerDefinition:
    """Define the server.

    Args:
        open_elaborator: Opens what asks Lean; without it, edges and states are what the text declares.
    """
    return ServerDefinition(
        name="dag_tracker",
        title="DAG tracker: the proof graph of a blueprint",
        instructions=INSTRUCTIONS,
        tools=(
            ToolDefinition(parent_nodes, title="Parents"),
            ToolDefinition(child_nodes, title="Children"),
            ToolDefinition(global_definitional_context, title="Definitions"),
            ToolDefinition(admissible_external_nodes, title="Usable nodes"),
            ToolDefinition(dag_overview, title="Overview"),
            ToolDefinition(dag_node, title="Node"),
            ToolDefinition(dag_draw, title="Picture"),
            ToolDefinition(dag_verify, title="Verify"),
        ),
        errors=(DagError, BlueprintError),
        lifespan=_lifespan(open_elaborator),
    )


SERVER = dag_server()
