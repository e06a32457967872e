"""Who rests on whom: by the text, and by what Lean made of it."""

from __future__ import annotations

from blueprint_graphs import Known, facts_of, node, project_of
from ekiden_blueprint.edges import FactIndex, edges_of

CHAIN = (node("lemma a : True"), node("lemma b : True", "lem:a"), node("theorem c : True", "lem:b", "lem:a"))


def test_without_lean_edges_are_what_proofs_refer_to_and_are_marked_as_declared() -> None:
    edges = edges_of(project_of(*CHAIN))
    assert edges.origin == "declared"
    assert edges.parents == {"a": (), "b": ("a",), "c": ("a", "b")}
    assert edges.through_value == edges.parents


def test_names_in_sorry_using_are_declared_edges_without_any_reference_in_prose() -> None:
    text = node("lemma b : True", "lem:a").replace("\\cref{lem:a}", "the lemma")
    assert edges_of(project_of(CHAIN[0], text)).parents["b"] == ("a",)


def test_names_in_sorry_using_are_looked_up_in_the_open_namespace() -> None:
    inside = (node("lemma a : True"), node("lemma b : True", "lem:a").replace("\\cref{lem:a}", "it"))
    project = project_of("namespace N\n", *inside, "end N\n")
    assert edges_of(project).parents == {"N.a": (), "N.b": ("N.a",)}


def test_a_reference_to_a_missing_label_or_to_the_node_itself_is_no_edge() -> None:
    project = project_of(node("lemma a : True", "lem:a", "lem:gone"))
    assert edges_of(project).parents == {"a": ()}


def test_what_a_statement_refers_to_is_no_edge_unless_it_is_a_definition() -> None:
    project = project_of(
        node("lemma a : True"),
        node("def D : Nat := 0", statement="The number of \\cref{lem:a}."),
        node("lemma b : True", statement="As \\cref{lem:a}."),
        node("lemma c : D = 0", statement="About \\cref{def:D}."),
    )
    edges = edges_of(project)
    assert edges.parents == {"a": (), "b": (), "c": ("a",)}
    assert edges.definitions["c"] == ("D",)


def test_a_definition_does_not_rest_on_what_comes_after_it_by_its_text() -> None:
    project = project_of(
        node("def D : Nat := 0", statement="To be used in \\cref{thm:c}."), node("theorem c : D = 0", "def:D")
    )
    assert edges_of(project).parents == {"c": ()}


def test_elaborated_edges_are_split_by_the_way_they_take() -> None:
    project = project_of(*CHAIN, node("def D : Nat := 0"), node("theorem t : True", "lem:a"))
    facts = facts_of(
        Known("a"),
        Known("b", uses_type=("a",), uses_value=("a",)),
        Known("c", uses_value=("b", "Nat.add_comm")),
        Known("D", kind="def", uses_value=("c",)),
        Known("t", uses_type=("D",), uses_value=("b",)),
    )
    edges = edges_of(project, facts)
    assert edges.origin == "elaborated"
    assert edges.through_type == {"a": (), "b": ("a",), "c": (), "t": ()}
    assert edges.through_value == {"a": (), "b": ("a",), "c": ("b",), "t": ("b",)}
    assert edges.through_definitions == {"a": (), "b": (), "c": (), "t": ("c",)}
    assert edges.parents == {"a": (), "b": ("a",), "c": ("b",), "t": ("b", "c")}
    assert edges.direct("t") == ("b",)


def test_an_edge_through_definitions_names_the_shortest_chain_of_them() -> None:
    project = project_of(
        node("lemma a : True"), node("def D : Nat := 0"), node("def E : Nat := D"), node("theorem t : E = 0")
    )
    facts = facts_of(
        Known("a"),
        Known("D", kind="def", uses_value=("a",)),
        Known("E", kind="def", uses_value=("D",)),
        Known("t", uses_type=("E",)),
    )
    edges = edges_of(project, facts)
    assert edges.parents["t"] == ("a",)
    assert edges.carriers == {("t", "a"): ("E", "D")}


def test_an_edge_is_direct_when_it_also_runs_through_a_definition() -> None:
    project = project_of(node("lemma a : True"), node("def D : Nat := 0"), node("theorem t : D = 0"))
    facts = facts_of(
        Known("a"), Known("D", kind="def", uses_value=("a",)), Known("t", uses_type=("D",), uses_value=("a",))
    )
    edges = edges_of(project, facts)
    assert (edges.direct("t"), edges.through_definitions["t"], edges.carriers) == (("a",), (), {})


def test_elaborated_edges_run_through_declarations_that_are_no_nodes() -> None:
    project = project_of(node("lemma a : True"), node("theorem t : True"))
    facts = facts_of(
        Known("a"),
        Known("bare", uses_value=("helper",)),
        Known("helper", uses_type=("a",)),
        Known("t", uses_value=("bare",)),
    )
    assert edges_of(project, facts).through_value["t"] == ("a",)


def test_declarations_that_use_each_other_do_not_keep_the_walk_going() -> None:
    project = project_of(node("lemma a : True"), node("theorem t : True"))
    facts = facts_of(
        Known("a"),
        Known("left", uses_value=("right",)),
        Known("right", uses_value=("left", "a")),
        Known("t", uses_value=("left", "t")),
    )
    assert edges_of(project, facts).parents["t"] == ("a",)


def test_lean_wins_over_the_text() -> None:
    facts = facts_of(Known("a"), Known("b"), Known("c", uses_value=("a",)))
    assert edges_of(project_of(*CHAIN), facts).parents == {"a": (), "b": (), "c": ("a",)}


def test_a_node_that_lean_does_not_have_keeps_its_declared_edges() -> None:
    edges = edges_of(project_of(*CHAIN), facts_of(Known("a"), Known("b")))
    assert edges.origin == "elaborated"
    assert edges.unknown == ("c",)
    assert edges.parents == {"a": (), "b": (), "c": ("a", "b")}


def test_guillemets_do_not_hide_a_node() -> None:
    project = project_of(node("lemma a : True").replace("lemma a", "lemma «a b»"), node("theorem t : True"))
    facts = facts_of(Known("«a b»"), Known("t", uses_value=("«a b»",)))
    assert edges_of(project, facts).parents["t"] == (project.nodes[0].full_name,)


def test_an_assumption_is_a_vertex() -> None:
    project = project_of(node("axiom big : True"), node("theorem t : True", "ax:big"))
    assert edges_of(project).parents == {"big": (), "t": ("big",)}


def test_of_two_nodes_with_one_name_the_first_counts() -> None:
    project = project_of(node("lemma a : True"), node("lemma b : True"), node("lemma b : True", "lem:a"))
    assert edges_of(project).parents == {"a": (), "b": ()}


def test_what_lean_knows_of_a_name_in_guillemets_is_not_taken_for_that_of_another() -> None:
    facts = facts_of(Known("a.b", own_sorry=True), Known("«a.b»"), Known("«c d»", own_sorry=True))
    index = FactIndex(facts, ["a.b", "«a.b»", "«c d»"])
    assert [index.has_own_sorry(name) for name in ("a.b", "«a».b", "«a.b»", "«c d»")] == [True, True, False, True]
