"""Pictures of the proof graph, whole or in part, always the same for the same graph."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree

import pytest
from inline_snapshot import snapshot

from blueprint_graphs import Known, facts_of, node, project_of
from ekiden_blueprint import BlueprintError
from ekiden_blueprint.edges import edges_of
from ekiden_blueprint.graph import ProofGraph
from ekiden_blueprint.pictures import around, dot, json_picture, mermaid, svg, tree_text
from ekiden_blueprint.states import STATES, Progress

NODES = (
    node("axiom big : True"),
    node("lemma a : True", body="trivial", title="First"),
    node("lemma b : True", "lem:a"),
    node("lemma c : True", "lem:a"),
    node("lemma d : True", "lem:b", "ax:big"),
    node("theorem e : True", "lem:b", "lem:d", title='It is "done"'),
)
PROGRESS = Progress(ProofGraph(project_of(*NODES)), blocked={"c": "an open issue"})


def test_the_tree_shows_each_part_once_with_its_state() -> None:
    assert tree_text(PROGRESS) == snapshot("""\
1 proved, 1 ready, 2 waiting, 1 blocked, 1 assumption; edges as the text declares
├── ✗ c blocked
│   └── ✓ a proved
├── … e waiting critical
│   ├── ▶ b ready critical
│   │   └── ✓ a proved
│   └── … d waiting critical
│       ├── ◆ big assumption
│       └── ▶ b ready critical (above)
└── legend
    ├── ✓ proved: its own proof is complete
    ├── ▶ ready: a placeholder; all that it rests on is proved or assumed
    ├── … waiting: a placeholder that rests on one
    ├── ✗ blocked: a placeholder that somebody reported as stuck
    └── ◆ assumption: taken without proof, and named
""")


def test_the_tree_has_colours_only_for_a_terminal() -> None:
    coloured = tree_text(PROGRESS, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == tree_text(PROGRESS)


def test_mermaid_text_has_states_edges_and_a_legend() -> None:
    assert mermaid(PROGRESS) == snapshot("""\
flowchart TD
  n0["big"]:::assumption
  n1["a"]:::proved
  n2["b"]:::ready
  n3["c"]:::blocked
  n4["d"]:::waiting
  n5["e"]:::waiting
  n1 --> n2
  n1 --> n3
  n0 --> n4
  n2 ==> n4
  n2 --> n5
  n4 ==> n5
  subgraph legend["1 proved, 1 ready, 2 waiting, 1 blocked, 1 assumption; edges as the text declares"]
    l0["proved: its own proof is complete"]:::proved
    l1["ready: a placeholder; all that it rests on is proved or assumed"]:::ready
    l2["waiting: a placeholder that rests on one"]:::waiting
    l3["blocked: a placeholder that somebody reported as stuck"]:::blocked
    l4["assumption: taken without proof, and named"]:::assumption
  end
  classDef proved fill:#c8e6c9,stroke:#2e7d32,color:#000
  classDef ready fill:#bbdefb,stroke:#1565c0,color:#000
  classDef waiting fill:#eeeeee,stroke:#757575,color:#000
  classDef blocked fill:#ffcdd2,stroke:#c62828,color:#000
  classDef assumption fill:#e1bee7,stroke:#6a1b9a,color:#000
""")


def test_mermaid_text_escapes_what_mermaid_would_read() -> None:
    strange = node("lemma a : True").replace("lemma a", 'lemma «a"]#b»')
    text = mermaid(Progress(ProofGraph(project_of(strange))))
    assert 'n0["' in text
    assert "#34;#93;#35;b" in text


def test_the_json_has_documented_keys() -> None:
    picture = json_picture(PROGRESS)
    assert json.loads(json.dumps(picture)) == picture
    assert picture == snapshot(
        {
            "version": 1,
            "origin": "declared",
            "nodes": [
                {
                    "name": "big",
                    "label": "ax:big",
                    "title": "A title",
                    "keyword": "axiom",
                    "state": "assumption",
                    "path": "Main.lean",
                    "line": 7,
                    "parents": [],
                    "leaf": False,
                    "critical": False,
                },
                {
                    "name": "a",
                    "label": "lem:a",
                    "title": "First",
                    "keyword": "lemma",
                    "state": "proved",
                    "path": "Main.lean",
                    "line": 13,
                    "parents": [],
                    "leaf": False,
                    "critical": False,
                },
                {
                    "name": "b",
                    "label": "lem:b",
                    "title": "A title",
                    "keyword": "lemma",
                    "state": "ready",
                    "path": "Main.lean",
                    "line": 21,
                    "parents": ["a"],
                    "leaf": True,
                    "critical": True,
                },
                {
                    "name": "c",
                    "label": "lem:c",
                    "title": "A title",
                    "keyword": "lemma",
                    "state": "blocked",
                    "path": "Main.lean",
                    "line": 29,
                    "parents": ["a"],
                    "leaf": True,
                    "critical": False,
                },
                {
                    "name": "d",
                    "label": "lem:d",
                    "title": "A title",
                    "keyword": "lemma",
                    "state": "waiting",
                    "path": "Main.lean",
                    "line": 37,
                    "parents": ["big", "b"],
                    "leaf": False,
                    "critical": True,
                },
                {
                    "name": "e",
                    "label": "thm:e",
                    "title": 'It is "done"',
                    "keyword": "theorem",
                    "state": "waiting",
                    "path": "Main.lean",
                    "line": 45,
                    "parents": ["b", "d"],
                    "leaf": False,
                    "critical": True,
                },
            ],
            "edges": [
                {"parent": "a", "child": "b", "way": "direct"},
                {"parent": "a", "child": "c", "way": "direct"},
                {"parent": "big", "child": "d", "way": "direct"},
                {"parent": "b", "child": "d", "way": "direct"},
                {"parent": "b", "child": "e", "way": "direct"},
                {"parent": "d", "child": "e", "way": "direct"},
            ],
            "counts": {"proved": 1, "ready": 1, "waiting": 2, "blocked": 1, "assumption": 1},
            "critical_path": ["b", "d", "e"],
        }
    )


def test_an_edge_through_definitions_is_dashed_and_named() -> None:
    project = project_of(node("lemma a : True"), node("def D : Nat := 0"), node("theorem t : D = 0"))
    facts = facts_of(Known("a"), Known("D", kind="def", uses_value=("a",)), Known("t", uses_type=("D",)))
    progress = Progress(ProofGraph(project, edges_of(project, facts)), facts)
    assert json_picture(progress)["edges"] == [{"parent": "a", "child": "t", "way": "definition", "carriers": ["D"]}]
    assert "n0 -.-> n1" in mermaid(progress)
    assert "style=dashed" in dot(progress)
    assert "elaborated by Lean" in mermaid(progress)


def test_a_picture_can_be_of_a_node_and_its_relatives() -> None:
    part = around(PROGRESS, "d")
    assert part == {"big", "a", "b", "d", "e"}
    assert [found["name"] for found in json_picture(PROGRESS, part)["nodes"]] == ["big", "a", "b", "d", "e"]
    assert '"c"' not in mermaid(PROGRESS, part)
    assert not re.search(r"\bc\b", tree_text(PROGRESS, part).partition("legend")[0])
    said = "1 proved, 1 ready, 2 waiting, 1 assumption; edges as the text declares"
    assert tree_text(PROGRESS, part).startswith(f"{said}\n")
    assert f'legend["{said}"]' in mermaid(PROGRESS, part)


def test_a_cycle_is_drawn_too() -> None:
    progress = Progress(ProofGraph(project_of(node("lemma a : True", "lem:b"), node("lemma b : True", "lem:a"))))
    lines = [line for line in tree_text(progress).splitlines() if "… " in line and ":" not in line]
    assert len(lines) == 3
    assert lines[-1].endswith("(above)")


def test_a_chain_of_three_hundred_nodes_is_drawn() -> None:
    nodes = [node("lemma n0 : True"), *(node(f"lemma n{i} : True", f"lem:n{i - 1}") for i in range(1, 300))]
    progress = Progress(ProofGraph(project_of(*nodes)))
    assert len(progress.critical_path) == 300
    lines = tree_text(progress).splitlines()
    for name in progress.graph.vertices:
        assert sum(f" {name} " in line and "(below)" not in line for line in lines) == 1
    assert max(map(len, lines)) < 120


def test_an_empty_blueprint_gives_empty_pictures() -> None:
    progress = Progress(ProofGraph(project_of()))
    assert tree_text(progress) == "no lemmas, theorems or assumptions\n"
    assert mermaid(progress) == "flowchart TD\n"
    assert json_picture(progress)["nodes"] == []


def test_svg_is_one_well_formed_picture_with_every_node_and_the_legend() -> None:
    pytest.importorskip("pygraphviz", reason="SVG is drawn by pygraphviz, an extra")
    drawn = svg(PROGRESS)
    assert drawn == svg(PROGRESS)
    assert drawn.startswith("<svg")
    texts = {text.text for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"big", "a", "b", "c", "d", "e"}
    assert all(any((text or "").startswith(f"{state}:") for text in texts) for state in STATES if state != "waiting")
    assert svg(Progress(ProofGraph(project_of()))).startswith("<svg")


def test_the_legend_of_a_small_picture_is_a_column_so_that_it_does_not_fill_the_picture() -> None:
    pytest.importorskip("pygraphviz", reason="SVG is drawn by pygraphviz, an extra")
    lone = Progress(ProofGraph(project_of(*NODES[:3])))
    widths = [float(ElementTree.fromstring(svg(each)).attrib["width"].removesuffix("pt")) for each in (lone, PROGRESS)]
    assert max(widths) < 800


def test_svg_survives_titles_and_names_with_quotes_and_backslashes() -> None:
    pytest.importorskip("pygraphviz", reason="SVG is drawn by pygraphviz, an extra")
    strange = node("lemma a : True", title='The "\\alpha" & <b>\\').replace("lemma a", 'lemma «a"<b»')
    assert ElementTree.fromstring(svg(Progress(ProofGraph(project_of(strange))))) is not None


def test_without_pygraphviz_svg_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(BlueprintError, match=r"pip install 'ekiden\[draw\]'"):
        svg(PROGRESS)
