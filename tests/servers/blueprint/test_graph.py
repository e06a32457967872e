"""The proof graph: relatives, leaves, order, cycles, states and reasons."""

from __future__ import annotations

from itertools import pairwise

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint_graphs import Facts, Known, facts_of, node, project_of
from ekiden_blueprint import BlueprintError
from ekiden_blueprint.edges import LeanFacts, edges_of
from ekiden_blueprint.graph import ProofGraph
from ekiden_blueprint.states import Progress

DONE = "trivial"
#     a    b
#     |\  /
#     c  d     D: a definition
#      \ |
#        e     f (on its own)
DIAMOND = (
    node("lemma a : True", body=DONE),
    node("lemma b : True"),
    node("def D : Nat := 0"),
    node("lemma c : True", "lem:a"),
    node("lemma d : True", "lem:a", "lem:b"),
    node("theorem e : True", "lem:c", "lem:d"),
    node("theorem f : True"),
)


def progress_of(*nodes: str, facts: LeanFacts | None = None, blocked: dict[str, str] | None = None) -> Progress:
    project = project_of(*nodes)
    return Progress(ProofGraph(project, edges_of(project, facts)), facts, blocked=blocked)


def test_relatives_come_in_the_order_of_the_file() -> None:
    graph = ProofGraph(project_of(*DIAMOND))
    assert graph.parents("e") == ("c", "d")
    assert graph.children("a") == ("c", "d")
    assert graph.ancestors("e") == ("a", "b", "c", "d")
    assert graph.descendants("a") == ("c", "d", "e")
    assert graph.ancestors("f") == graph.descendants("f") == ()


def test_what_may_be_used_is_all_but_the_node_and_what_rests_on_it() -> None:
    graph = ProofGraph(project_of(*DIAMOND))
    seen = [(other.node.full_name, other.visible) for other in graph.admissible("c")]
    assert seen == [("a", True), ("b", True), ("d", False), ("f", False)]


def test_the_definitional_context_says_what_stands_before_the_node() -> None:
    graph = ProofGraph(project_of(*DIAMOND))
    assert [(other.node.full_name, other.visible) for other in graph.definitional_context("b")] == [("D", False)]
    assert [(other.node.full_name, other.visible) for other in graph.definitional_context("c")] == [("D", True)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("D", "'D' is declared by `def`, no lemma or theorem"),
        ("leema", "No node 'leema' in this blueprint"),
        ("lem_3", "the nearest is 'lem_30'"),
    ],
)
def test_asking_about_something_else_is_told(name: str, words: str) -> None:
    graph = ProofGraph(project_of(*DIAMOND, node("lemma lem_30 : True")))
    with pytest.raises(BlueprintError, match=words):
        graph.parents(name)


def test_a_dynamic_leaf_is_an_unproved_node_that_rests_on_no_unproved_one() -> None:
    progress = progress_of(*DIAMOND)
    assert progress.leaves == ("b", "c", "f")
    assert progress.states == {
        "a": "proved", "b": "ready", "c": "ready", "d": "waiting", "e": "waiting", "f": "ready",
    }  # fmt: skip
    assert progress.counts == {"proved": 1, "ready": 3, "waiting": 2, "blocked": 0, "assumption": 0}


def test_a_leaf_below_a_proved_node_is_ready_whatever_that_one_rests_on() -> None:
    progress = progress_of(
        node("lemma a : True"), node("lemma b : True", "lem:a", body=DONE), node("lemma c : True", "lem:b")
    )
    assert progress.leaves == ("a", "c")
    assert not progress.explain("b").fully_proved


def test_a_node_that_uses_a_definition_resting_on_an_unproved_lemma_is_not_ready() -> None:
    nodes = (node("lemma a : True"), node("def D : Nat := 0"), node("theorem t : D = 0"))
    facts = facts_of(
        Known("a", own_sorry=True),
        Known("D", kind="def", uses_value=("a",)),
        Known("t", own_sorry=True, uses_type=("D",)),
    )
    progress = progress_of(*nodes, facts=facts)
    assert progress.leaves == ("a",)
    assert progress.explain("t").reason == (
        "Lean finds a `sorry` in it. 't' rests on 'a' (ready) through the definition 'D'. "
        "That one must be proved first."
    )


@pytest.mark.parametrize(
    ("body", "known", "state"),
    [
        (DONE, Known("a", own_sorry=True), "ready"),
        ("sorry", Known("a"), "proved"),
        ("exact sorry", Known("a"), "proved"),
        (DONE, Known("a", refusal="(kernel) declaration type mismatch"), "ready"),
        (DONE, Known("other"), "ready"),
        (DONE, Known("a", uses_value=("hidden",)), "ready"),
    ],
)
def test_facts_from_lean_win_over_the_text(body: str, known: Known, state: str) -> None:
    hidden = Known("hidden", own_sorry=True)
    assert progress_of(node("lemma a : True", body=body), facts=facts_of(known, hidden)).states == {"a": state}


def test_facts_that_are_not_complete_say_nothing() -> None:
    facts = Facts((), outcome="timeout")
    progress = progress_of(*DIAMOND, facts=facts)
    assert progress.graph.edges.origin == "declared"
    assert progress.states["a"] == "proved"


def test_a_sorry_in_another_node_is_not_the_nodes_own() -> None:
    facts = facts_of(Known("a", own_sorry=True), Known("b", uses_value=("a",)))
    progress = progress_of(node("lemma a : True"), node("theorem b : True", "lem:a", body=DONE), facts=facts)
    assert progress.states == {"a": "ready", "b": "proved"}


def test_a_body_that_mixes_placeholder_and_proof_is_not_proved() -> None:
    assert progress_of(node("lemma a : True", body="exact sorry")).states == {"a": "ready"}


def test_blocked_nodes_are_told_with_their_reason_unless_they_are_proved() -> None:
    progress = progress_of(*DIAMOND, blocked={"a": "issue 1", "b": "issue 2 says it is false.", "gone": "issue 3"})
    assert (progress.states["a"], progress.states["b"], progress.states["d"]) == ("proved", "blocked", "waiting")
    assert progress.explain("b").reason == "It is reported as blocked: issue 2 says it is false."
    assert "'b' (blocked)" in progress.explain("d").reason


def test_an_assumption_is_neither_proved_nor_waited_for() -> None:
    progress = progress_of(
        node("axiom big : True"), node("lemma a : True", "ax:big"), node("theorem t : True", "lem:a", body=DONE)
    )
    assert progress.states == {"big": "assumption", "a": "ready", "t": "proved"}
    assert progress.explain("t").assumptions == ("big",)
    assert not progress.explain("t").fully_proved


def test_a_node_can_be_taken_as_an_assumption() -> None:
    graph = ProofGraph(project_of(*DIAMOND))
    assert Progress(graph, assumed=("b",)).states["b"] == "assumption"


def test_the_critical_path_is_the_longest_chain_of_unproved_nodes() -> None:
    progress = progress_of(*DIAMOND)
    assert progress.critical_path == ("b", "d", "e")
    assert progress_of(node("lemma a : True", body=DONE)).critical_path == ()


def test_the_explanation_leads_to_what_can_be_worked_on() -> None:
    readiness = progress_of(*DIAMOND).explain("e")
    assert [str(wait) for wait in readiness.waits_for] == [
        "'e' rests on 'c' (ready) as its text says.",
        "'e' rests on 'd' (waiting) as its text says.",
    ]
    assert [(wait.node, wait.parent) for wait in readiness.chain] == [("e", "d"), ("d", "b")]


def test_a_proved_node_waits_for_nothing() -> None:
    readiness = progress_of(*DIAMOND).explain("a")
    assert (readiness.reason, readiness.waits_for, readiness.chain) == ("Its own proof is complete.", (), ())
    assert readiness.fully_proved


def test_cycles_are_told_and_do_not_stop_anything() -> None:
    progress = progress_of(
        node("lemma z : True"),
        node("lemma a : True", "lem:c", "lem:z"),
        node("lemma b : True", "lem:a"),
        node("lemma c : True", "lem:b"),
        node("theorem t : True", "lem:c"),
    )
    graph = progress.graph
    assert graph.cycles == (("a", "b", "c"),)
    assert graph.cycle_of("c") == ("c", "a", "b")
    assert graph.order == ("z", "a", "b", "c", "t")
    assert graph.ancestors("a") == ("z", "b", "c")
    assert progress.leaves == ("z",)
    assert progress.critical_path == ("z", "a", "b", "c", "t")
    assert progress.explain("b").reason == "It rests on itself: b -> c -> a -> b. Break the cycle."


def test_the_order_puts_each_node_after_what_it_rests_on() -> None:
    graph = ProofGraph(project_of(node("theorem t : True", "lem:a"), node("lemma a : True"), node("lemma b : True")))
    assert graph.order == ("a", "t", "b")


def test_an_empty_blueprint_has_an_empty_graph() -> None:
    progress = progress_of()
    assert (progress.graph.order, progress.graph.cycles, progress.leaves, progress.critical_path) == ((), (), (), ())


NAMES = "abcdefgh"
graphs = st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES)), max_size=len(NAMES))
NODES = tuple(node(f"lemma {name} : True") for name in NAMES)
PROJECT = project_of(*NODES)


def known(edges: dict[str, set[str]], proved: set[str] | None = None) -> Facts:
    return Facts(
        tuple(
            Known(name, own_sorry=name not in (proved or set()), uses_value=tuple(sorted(edges.get(name, ()))))
            for name in NAMES
        )
    )


@given(graphs)
def test_reachability_order_and_cycles_agree_with_networkx(edges: dict[str, set[str]]) -> None:
    graph = ProofGraph(PROJECT, edges_of(PROJECT, known(edges)))
    oracle = networkx.DiGraph((parent, child) for child, parents in edges.items() for parent in parents - {child})
    oracle.add_nodes_from(NAMES)
    closure = networkx.DiGraph(networkx.transitive_closure(oracle).edges)
    closure.add_nodes_from(NAMES)
    for name in NAMES:
        assert set(graph.ancestors(name)) == set(closure.predecessors(name)) - {name}
        assert set(graph.descendants(name)) == set(closure.successors(name)) - {name}
        cycle = graph.cycle_of(name)
        assert all(oracle.has_edge(*pair) for pair in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True))
    assert (not graph.cycles) == networkx.is_directed_acyclic_graph(oracle)
    assert sorted(graph.order) == sorted(NAMES)
    if not graph.cycles:
        assert all(graph.order.index(parent) < graph.order.index(child) for parent, child in oracle.edges)


@given(graphs, st.sets(st.sampled_from(NAMES)))
def test_leaves_and_the_critical_path_are_what_the_glossary_says(edges: dict[str, set[str]], proved: set[str]) -> None:
    forward = {child: {parent for parent in parents if parent < child} for child, parents in edges.items()}
    facts = known(forward, proved)
    progress = Progress(ProofGraph(PROJECT, edges_of(PROJECT, facts)), facts)
    unproved = [name for name in NAMES if name not in proved]
    assert list(progress.leaves) == [name for name in unproved if not forward.get(name, set()) - proved]
    lengths: dict[str, int] = {}
    for name in unproved:
        lengths[name] = 1 + max((lengths[parent] for parent in forward.get(name, set()) - proved), default=0)
    path = progress.critical_path
    assert len(path) == max(lengths.values(), default=0)
    assert all(parent in forward[child] for parent, child in pairwise(path))
    for name in unproved:
        chain = progress.explain(name).chain
        assert len(chain) == lengths[name] - 1
        assert not chain or progress.states[chain[-1].parent] == "ready"
