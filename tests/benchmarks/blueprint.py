"""What a blueprint of 15,000 lines and 500 nodes costs: Ekiden beside lexing the file with Pygments' Lean 4 lexer.

Run: python tests/benchmarks/blueprint.py [--lines N] [--nodes N] [--repeats N]

All sides run in this process, in turns, on the same text. The baseline reads the file and lexes it: what a program that
keeps nothing must do before it can begin to look for nodes. Nothing here asks Lean. A patch is what the patch server
does for one: it reads, judges and writes the file. A query is what the graph server does for one with nothing changed:
it reads the file, sees that it knows it, and makes the answer as JSON. The transport is left out, and the
server's limit to how large a picture may be. How soon the servers start is told by `cold_start.py`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  # its stub leaves options open

from ekiden_blueprint import parse, pictures
from ekiden_blueprint.project import Project
from ekiden_blueprint.rules import check
from ekiden_config import load_settings
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
)
from ekiden_dag.target import FILE_VARIABLE, ROOT_VARIABLE, Target
from ekiden_dag.watching import Tracker
from ekiden_patch import PatchError
from ekiden_patch.models import PatchResult
from ekiden_patch.refusals import told
from ekiden_patch.settings import read_scope
from ekiden_patch.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from ekiden_blueprint import BlueprintFile
    from ekiden_dag.snapshot import Snapshot

NAME = "Main.lean"
HEADER = "import Mathlib\nimport Architect\n\nset_option linter.all false\nset_option maxHeartbeats 500000\n\n"
LABELS = {"definition": "def", "lemma": "lem", "theorem": "thm"}


class Side(NamedTuple):
    """What is timed, and what puts things back afterwards, untimed."""

    name: str
    work: Callable[[], object]
    put_back: Callable[[], object] | None = None


def is_definition(number: int) -> bool:
    return number % 10 == 0


def is_unproved(number: int) -> bool:
    return number % 5 == 3


def generated_node(number: int, kind: str, used: list[int], lines: int) -> str:
    """Write one node that uses earlier ones: every tenth is a definition, every fifth has no proof yet."""
    prose = "\n".join(f'    Line {k} of the prose: $\\alpha_{{{k}}} \\le x$, "quoted" and so on.' for k in range(5))
    cited = "".join(f" By \\cref{{lem:node-{one}}}." for one in used)
    proof = "" if kind == "definition" else f"  (proof := /-- We compute.{cited}\n{prose} -/)\n"
    head = f"""@[blueprint "{LABELS[kind]}:node-{number}"
  (statement := /-- For all $n$ we have $x_{{{number}}} \\le y$.
{prose} -/)
{proof}  (title := /-- Node {number} -/)
  (latexEnv := "{kind}")]
"""
    room = max(1, lines - head.count("\n") - 2)
    if kind == "definition":
        return f"{head}def node_{number} (n : Nat) : Nat :=\n" + "  n +\n" * (room - 1) + "  n\n\n"
    head += f"{kind} node_{number} (n : Nat) (x y : ℝ) (h : x ≤ y) : let z := y; n * x ≤ n * z := by\n"
    names = [f"node_{one}" for one in used]
    if is_unproved(number):
        body = f"sorry_using [{', '.join(names)}]" if names else "sorry"
        return f"{head}  {body}\n\n"
    steps = [f"  have h_{name} := {name} n x y h" for name in names]
    steps += [
        f"  have h₁' : x * {k} ≤ y * {k} := by nlinarith [h, sq_nonneg (x - {7 * k + number % 9})]"
        for k in range(max(1, room - len(steps)))
    ]
    return head + "\n".join(steps) + "\n\n"


def generated_blueprint(nodes: int, lines: int) -> str:
    """Write a blueprint whose lemmas are each used soon after; long nodes get the lines that short ones leave over."""
    draw = random.Random(1)
    proofs = [number for number in range(nodes) if not is_definition(number)]
    used: dict[int, list[int]] = {number: [] for number in range(nodes)}
    for place, number in enumerate(proofs[:-1]):
        used[draw.choice(proofs[place + 1 : place + 10])].append(number)
    kinds = ["definition" if is_definition(number) else "lemma" for number in range(nodes)]
    kinds[proofs[-1]] = "theorem"
    each = lines // nodes + lines // nodes // 8
    return HEADER + "".join(generated_node(number, kinds[number], used[number], each) for number in range(nodes))


def reading(path: Path, edited: str, before: BlueprintFile) -> list[Side]:
    """Read, parse and verify; the baseline comes first."""

    def read() -> str:
        return path.read_text(encoding="utf-8")

    def parsed_again() -> BlueprintFile:
        file = parse(edited, NAME, previous=before)
        assert file.nodes
        assert file.commands
        return file

    return [
        Side("read, lex with Pygments", lambda: list(get_lexer_by_name("lean4").get_tokens(read()))),
        Side("read, parse", lambda: parse(read(), NAME).nodes),
        Side("parse after an edit", parsed_again),
        Side("read, parse, verify", lambda: check(Project([parse(read(), NAME)]))),
        Side("parse and verify after an edit", lambda: check(Project([parsed_again()]))),
    ]


def patching(folder: Path, file: BlueprintFile) -> list[Side]:
    """Patch the unproved node in the middle: its proof, and its frozen signature."""
    unproved = [node for node in file.nodes if node.body_kind in ("by_sorry", "by_sorry_using")]
    node = unproved[len(unproved) // 2]
    environ = {
        "APPLY_PATCH_WORKSPACE": str(folder),
        "APPLY_PATCH_TARGET_FILE": NAME,
        "APPLY_PATCH_NODE": node.name,
        "APPLY_PATCH_ROLE": "worker",
    }
    desk = Workspace(read_scope(load_settings().patch, environ), lock_folder=folder / "locks")
    head, body = file.source.slice(node.span).splitlines()[-2:]
    start = "*** Begin Patch\n@@\n"
    accepted = f"{start} {head}\n-{body}\n+  have h' := h\n+  nlinarith [h']\n*** End Patch"
    refused = f"{start}-{head}\n+{head.replace('n * x', 'x')}\n {body}\n*** End Patch"

    def refusal() -> str:
        try:
            desk.apply(refused)
        except PatchError as error:
            if error.code == "out_of_scope":
                return told(error)
            raise
        raise AssertionError("a frozen signature was changed")

    return [
        Side("scoped patch, accepted", lambda: PatchResult.of_change(desk.apply(accepted)), desk.undo),
        Side("scoped patch, refused", refusal),
    ]


def queries(name: str) -> dict[str, Callable[[Snapshot], BaseModel]]:
    """Return the graph server's queries, about a node where they need one."""

    def parents(seen: Snapshot) -> BaseModel:
        names = list(seen.graph.parents(name))
        return ParentNodes(target=name, parent_nodes=names, count=len(names), origin="declared")

    def children(seen: Snapshot) -> BaseModel:
        names = list(seen.graph.children(name))
        return ChildNodes(target=name, child_nodes=names, count=len(names), origin="declared")

    def admissible(seen: Snapshot) -> BaseModel:
        nodes = [AdmissibleNode.of_seen(one, seen.project) for one in seen.graph.admissible(name)]
        return AdmissibleNodes(target=name, admissible_external_nodes=nodes, count=len(nodes), origin="declared")

    def definitions(seen: Snapshot) -> BaseModel:
        nodes = [DefinitionNode.of_seen(one, seen.project) for one in seen.graph.definitional_context(name)]
        return DefinitionalContext(target=name, global_definitional_context=nodes, count=len(nodes))

    return {
        "parent_nodes": parents,
        "child_nodes": children,
        "admissible_external_nodes": admissible,
        "global_definitional_context": definitions,
        "dag_node": lambda seen: NodeReport.of_node(seen, name),
        "dag_overview": Overview.of_snapshot,
        "dag_draw, tree": lambda seen: Picture(picture=pictures.tree_text(seen.progress)),
        "dag_draw, mermaid": lambda seen: Picture(picture=pictures.mermaid(seen.progress)),
        "dag_draw, json": lambda seen: Picture(picture=json.dumps(pictures.json_picture(seen.progress))),
    }


def asking(folder: Path, texts: tuple[str, str], file: BlueprintFile) -> list[Side]:
    """Ask about a file that does not change, and about one that was edited since the last question."""
    vertices = [node.name for node in file.nodes if node.is_proof]
    asked = queries(vertices[len(vertices) // 2])
    (folder / "edited").mkdir()
    other = folder / "edited" / NAME
    versions = itertools.cycle(texts)

    def tracker_of(root: Path) -> Tracker:
        target = Target.of_environment({ROOT_VARIABLE: str(root), FILE_VARIABLE: NAME})
        return Tracker(lambda: target, None)

    def asks(tracker: Tracker, query: Callable[[Snapshot], BaseModel]) -> Callable[[], Awaitable[str]]:
        async def ask() -> str:
            return query(await tracker.snapshot()).model_dump_json()

        return ask

    def edit() -> None:
        other.write_text(next(versions), encoding="utf-8")

    edit()
    kept = tracker_of(folder)
    return [
        *(Side(label, asks(kept, query)) for label, query in asked.items()),
        Side("dag_overview after an edit", asks(tracker_of(other.parent), asked["dag_overview"]), edit),
    ]


async def seconds(side: Side) -> float:
    """Time one side once."""
    started = time.perf_counter()
    result = side.work()
    if isawaitable(result):
        await result
    taken = time.perf_counter() - started
    if side.put_back is not None:
        side.put_back()
    return taken


async def measured(sides: list[Side], repeats: int) -> dict[str, list[float]]:
    """Time all sides in turns, after one round that warms them."""
    times: dict[str, list[float]] = {side.name: [] for side in sides}
    for number in range(repeats + 1):
        for side in sides:
            taken = await seconds(side)
            if number:
                times[side.name].append(taken)
    return times


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=15_000)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--repeats", type=int, default=7)
    given = options.parse_args()
    text = generated_blueprint(given.nodes, given.lines)
    before = parse(text, NAME)
    assert len(before.nodes) == given.nodes
    print(f"{text.count(chr(10)):,} lines, {len(text):,} characters, {given.nodes} nodes")
    assert not [found for found in check(Project([before])) if found.severity == "error"]
    middle = text.index("nlinarith", len(text) // 2)
    edited = text[:middle] + "linarith" + text[middle + len("nlinarith") :]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / NAME).write_text(text, encoding="utf-8")
        sides = [
            *reading(folder / NAME, edited, before),
            *patching(folder, before),
            *asking(folder, (text, edited), before),
        ]
        times = anyio.run(measured, sides, given.repeats)
    baseline = times[sides[0].name]
    for name, taken in times.items():
        ratio = statistics.median(base / own for base, own in zip(baseline, taken, strict=True))
        print(f"{name:32} {statistics.median(taken) * 1e3:9.2f} ms   {ratio:9.1f} times as fast as the baseline")


if __name__ == "__main__":
    main()
