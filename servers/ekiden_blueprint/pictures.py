"""Pictures of a proof graph: a tree for the terminal, Mermaid text, SVG, and JSON; nodes coloured by state.

Equal graphs give equal pictures. A picture may be cut down to some nodes; edges of other nodes are left out.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, NotRequired, Protocol, TypedDict, cast

from ekiden_blueprint.errors import BlueprintError
from ekiden_blueprint.states import MEANING, STATES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from rich.tree import Tree

    from ekiden_blueprint.states import Progress, State

JSON_VERSION = 1
DEEPEST = 12
"""How many nodes deep the tree goes before it goes on further down."""
_XML_BEGINS = re.compile(r"<svg\b")
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_SPECIAL = re.compile(r"[^\w .,:;()'/+=-]")


class _Look(NamedTuple):
    fill: str
    line: str
    mark: str
    style: str


_LOOKS: dict[State, _Look] = {
    "proved": _Look("#c8e6c9", "#2e7d32", "✓", "green"),
    "ready": _Look("#bbdefb", "#1565c0", "▶", "bold blue"),
    "waiting": _Look("#eeeeee", "#757575", "…", "dim"),
    "blocked": _Look("#ffcdd2", "#c62828", "✗", "bold red"),
    "assumption": _Look("#e1bee7", "#6a1b9a", "◆", "magenta"),
}


class NodePicture(TypedDict):
    """A node of the JSON picture.

    Keys: `name` (Lean's), `label`, `title`, `keyword`, `state`, `path`, `line` (1-based, where the node begins),
    `parents` (all that it rests on directly), `leaf` (whether it is a dynamic leaf), `critical` (whether it is on the
    critical path).
    """

    name: str
    label: str
    title: str
    keyword: str
    state: State
    path: str
    line: int
    parents: list[str]
    leaf: bool
    critical: bool


class EdgePicture(TypedDict):
    """An edge of the JSON picture: `child` rests on `parent`.

    Keys: `parent`, `child`, `way` (`direct`, or `definition` when only definitions lead there), `carriers` (these
    definitions, only with `way` `definition`).
    """

    parent: str
    child: str
    way: Literal["direct", "definition"]
    carriers: NotRequired[list[str]]


class GraphPicture(TypedDict):
    """The JSON picture.

    Keys: `version` (of this format), `origin` (`elaborated` by Lean or `declared` by the text), `nodes` and `edges` in
    the order of the files, `counts` (nodes in the picture by state), `critical_path` (names, of the whole graph).
    """

    version: int
    origin: str
    nodes: list[NodePicture]
    edges: list[EdgePicture]
    counts: dict[State, int]
    critical_path: list[str]


class _Graphviz(Protocol):
    """What is used of pygraphviz's graph."""

    def draw(self, *, prog: str, format: str) -> bytes: ...  # pygraphviz' name

    def close(self) -> None: ...


class _Pygraphviz(Protocol):
    def AGraph(self, *, string: str) -> _Graphviz: ...  # noqa: N802  # pygraphviz' name


def json_picture(progress: Progress, only: Collection[str] | None = None) -> GraphPicture:
    """Give the graph as data; `GraphPicture` says what the keys mean."""
    graph = progress.graph
    leaves, critical = frozenset(progress.leaves), frozenset(progress.critical_path)
    lines = {file.source.path: file.source for file in graph.project.files}
    nodes: list[NodePicture] = []
    for name in _shown(progress, only):
        node = graph.vertices[name]
        nodes.append(
            {
                "name": name,
                "label": node.label,
                "title": node.title.value.strip() if node.title else "",
                "keyword": node.keyword,
                "state": progress.states[name],
                "path": node.path,
                "line": lines[node.path].position(node.span.start).line,
                "parents": list(graph.parents(name)),
                "leaf": name in leaves,
                "critical": name in critical,
            }
        )
    states = [node["state"] for node in nodes]
    return {
        "version": JSON_VERSION,
        "origin": graph.edges.origin,
        "nodes": nodes,
        "edges": [_edge(progress, parent, child) for parent, child in _edges(progress, only)],
        "counts": {state: states.count(state) for state in STATES},
        "critical_path": list(progress.critical_path),
    }


def mermaid(progress: Progress, only: Collection[str] | None = None) -> str:
    """Give the graph as Mermaid text, with a legend; dashed edges run through definitions, thick ones are critical."""
    shown = _shown(progress, only)
    ids = {name: f"n{place}" for place, name in enumerate(shown)}
    used = _used_states(progress, shown)
    lines = ["flowchart TD"]
    lines += [f'  {ids[name]}["{_mermaid_text(name)}"]:::{progress.states[name]}' for name in shown]
    for parent, child in _edges(progress, only):
        arrow = (
            "==>" if _is_critical(progress, parent, child) else "-.->" if _carried(progress, parent, child) else "-->"
        )
        lines.append(f"  {ids[parent]} {arrow} {ids[child]}")
    if used:
        lines.append(f'  subgraph legend["{_legend_title(progress, shown)}"]')
        lines += [f'    l{place}["{state}: {MEANING[state]}"]:::{state}' for place, state in enumerate(used)]
        lines.append("  end")
    for state in used:
        look = _LOOKS[state]
        lines.append(f"  classDef {state} fill:{look.fill},stroke:{look.line},color:#000")
    return "\n".join(lines) + "\n"


def dot(progress: Progress, only: Collection[str] | None = None) -> str:
    """Give the graph as Graphviz text, with a legend."""
    shown = _shown(progress, only)
    edges = list(_edges(progress, only))
    lines = [
        "digraph blueprint {",
        f"  graph [{_LAYOUT}{_HASTE if len(edges) > _MANY_EDGES else ''}];",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];',
        '  edge [color="#616161", arrowsize=0.7];',
    ]
    for name in shown:
        node, look = progress.graph.vertices[name], _LOOKS[progress.states[name]]
        title = " ".join(node.title.value.split()) if node.title else ""
        tip = _quoted(f"{progress.states[name]}: {title or node.label}")
        wide = ", penwidth=2" if node.keyword == "theorem" else ""
        colours = f'fillcolor="{look.fill}", color="{look.line}"'
        lines.append(f"  {_quoted(name)} [label={_quoted(name)}, {colours}, tooltip={tip}{wide}];")
    for parent, child in edges:
        marks = ["style=dashed"] if _carried(progress, parent, child) else []
        marks += ['penwidth=2.5, color="#000000"'] if _is_critical(progress, parent, child) else []
        lines.append(f"  {_quoted(parent)} -> {_quoted(child)}" + (f" [{', '.join(marks)}];" if marks else ";"))
    if used := _used_states(progress, shown):
        lines += ["  subgraph cluster_legend {", f"    label={_quoted(_legend_title(progress, shown))}; fontsize=11;"]
        for state in used:
            look = _LOOKS[state]
            text = _quoted(f"{state}: {MEANING[state]}")
            lines.append(
                f'    {_quoted("legend " + state)} [label={text}, fillcolor="{look.fill}", color="{look.line}"];'
            )
        column = " -> ".join(_quoted(f"legend {state}") for state in used)
        lines.append(f"    {column} [style=invis];")  # side by side they would be wider than most graphs
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def svg(progress: Progress, only: Collection[str] | None = None) -> str:
    """Give the graph as an SVG picture, laid out by Graphviz.

    Raises:
        BlueprintError: pygraphviz is not installed, or cannot draw.
    """
    text = dot(progress, only)
    try:
        pygraphviz = cast("_Pygraphviz", import_module("pygraphviz"))
    except ImportError as error:
        raise BlueprintError(
            "SVG needs pygraphviz, which is not installed: `pip install 'ekiden[draw]'`. Mermaid, the tree and "
            "JSON need nothing."
        ) from error
    drawing = pygraphviz.AGraph(string=text)
    try:
        drawn = drawing.draw(prog="dot", format="svg").decode("utf-8")
    except (OSError, ValueError) as error:
        raise BlueprintError(f"Graphviz cannot draw the graph: {error}. Ask for Mermaid instead.") from error
    finally:
        drawing.close()
    begin = _XML_BEGINS.search(drawn)
    return _COMMENT.sub("", drawn[begin.start() if begin else 0 :])  # the comments before it name Graphviz' version


def tree(progress: Progress, only: Collection[str] | None = None) -> Tree:
    """Give the graph as a tree for rich: under each node what it rests on.

    What stands under a node is shown once; where it would be too deep, it goes on further down.
    """
    from rich.text import Text
    from rich.tree import Tree

    shown = _shown(progress, only)
    inside = frozenset(shown)
    critical = frozenset(progress.critical_path)
    roots = [name for name in shown if not any(child in inside for child in progress.graph.children(name))]
    drawn: set[str] = set()
    picture = Tree(Text(_legend_title(progress, shown)))

    def line(name: str, remark: str) -> Text:
        look, state = _LOOKS[progress.states[name]], progress.states[name]
        text = Text.assemble((f"{look.mark} {name}", look.style), (f" {state}", "dim"))
        return text.append(" critical" * (name in critical) + remark, style="dim")

    def draw(root: str) -> None:
        waiting: list[tuple[Tree, int, str]] = [(picture, 0, root)]
        while waiting:
            branch, depth, name = waiting.pop()
            parents = [parent for parent in progress.graph.parents(name) if parent in inside]
            if not parents or (name not in drawn and depth < DEEPEST):
                drawn.add(name)
                below = branch.add(line(name, ""))
                waiting += [(below, depth + 1, parent) for parent in reversed(parents)]
            elif name in drawn:
                branch.add(line(name, " (above)"))
            else:
                branch.add(line(name, " (below)"))
                roots.append(name)

    for root in roots:  # grows while it is drawn
        if root not in drawn:
            draw(root)
    for name in shown:  # what only cycles lead to
        if name not in drawn:
            draw(name)
    used = _used_states(progress, shown)
    legend = picture.add(Text("legend", style="dim")) if used else picture
    for state in used:
        look = _LOOKS[state]
        legend.add(Text.assemble((f"{look.mark} {state}", look.style), (f": {MEANING[state]}", "dim")))
    return picture


def tree_text(
    progress: Progress, only: Collection[str] | None = None, *, colour: bool = False, width: int = 120
) -> str:
    """Give the tree as text; `colour` is for a terminal."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, legacy_windows=False
    )
    console.print(tree(progress, only), soft_wrap=True)
    return out.getvalue()


def around(progress: Progress, name: str) -> frozenset[str]:
    """Give a node with all that it rests on and all that rests on it, as what to show of a graph.

    Raises:
        BlueprintError: It is no vertex of the graph.
    """
    graph = progress.graph
    return frozenset({name, *graph.ancestors(name), *graph.descendants(name)})


_MANY_EDGES = 400
_HASTE = ", nslimit=0.5, mclimit=0.1, splines=polyline"
"""Spares a large picture most of the search for the fewest crossings, which would take most of a minute."""
_LAYOUT = 'rankdir=TB, nodesep=0.25, ranksep=0.45, bgcolor="white", fontname="Helvetica"'


def _shown(progress: Progress, only: Collection[str] | None) -> list[str]:
    return [name for name in progress.graph.vertices if only is None or name in only]


def _edges(progress: Progress, only: Collection[str] | None) -> Iterator[tuple[str, str]]:
    for child in _shown(progress, only):
        for parent in progress.graph.parents(child):
            if only is None or parent in only:
                yield parent, child


def _edge(progress: Progress, parent: str, child: str) -> EdgePicture:
    if _carried(progress, parent, child):
        carriers = list(progress.graph.edges.carriers[child, parent])
        return {"parent": parent, "child": child, "way": "definition", "carriers": carriers}
    return {"parent": parent, "child": child, "way": "direct"}


def _carried(progress: Progress, parent: str, child: str) -> bool:
    return (child, parent) in progress.graph.edges.carriers


def _is_critical(progress: Progress, parent: str, child: str) -> bool:
    path = progress.critical_path
    return parent in path and path.index(parent) + 1 < len(path) and path[path.index(parent) + 1] == child


def _used_states(progress: Progress, shown: Sequence[str]) -> list[State]:
    used = {progress.states[name] for name in shown}
    return [state for state in STATES if state in used]


def _legend_title(progress: Progress, shown: Sequence[str]) -> str:
    if not shown:
        return "no lemmas, theorems or assumptions"
    origin = "edges elaborated by Lean" if progress.graph.edges.origin == "elaborated" else "edges as the text declares"
    states = [progress.states[name] for name in shown]
    counts = ", ".join(f"{states.count(state)} {state}" for state in _used_states(progress, shown))
    return f"{counts}; {origin}"


def _mermaid_text(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"#{ord(found.group())};", text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
