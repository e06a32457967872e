"""Attempts as trees."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.queries.sampling_groups import rows_by_theorem
from ekiden_store.queries.trees import Node, Row, Tree, read_trees, tree_lines, tree_of, trees
from servers.store.test_stats import filled, lost_tree, proved_tree, tried


def read(folder: Path, *steps: Step, theorem: str = "a", **options: Any) -> list[Tree]:
    with filled(folder, *steps).snapshot() as snapshot:
        return read_trees(snapshot, theorem=theorem, **options)


def only(folder: Path, *steps: Step) -> Tree:
    (tree,) = read(folder / "store", *steps)
    return tree


def before(tree: Tree) -> list[tuple[str, str | None]]:
    return [(node.row.tactic_applied, node.state_before) for node in tree.nodes]


def test_an_attempt_is_shown_as_a_tree_in_the_order_of_its_steps(tmp_path: Path):
    tree = only(tmp_path, *reversed(proved_tree("a")))
    assert list(tree_lines(tree)) == [
        "1 (root) => ⊢ a [positive]",
        "  10 intro h => h ⊢ a [positive]",
        "    100 simp => no goals [positive]",
        "    101 right => h ⊢ right a [negative]",
        "  11 left => ⊢ left a [negative]",
        "  12 omega => failed: lean",
    ]
    assert [node.row.state_id for node in tree.nodes] == [1, 10, 11, 12, 100, 101]
    assert tree.is_proved


def test_each_tactic_has_the_state_before_it(tmp_path: Path):
    assert before(only(tmp_path, *proved_tree("a"))) == [
        ("", None),
        ("intro h", "⊢ a"),
        ("left", "⊢ a"),
        ("omega", "⊢ a"),
        ("simp", "h ⊢ a"),
        ("right", "h ⊢ a"),
    ]


def test_what_a_row_says_of_the_state_before_it_comes_first(tmp_path: Path):
    told = tried("a", 10, 1, "intro h", "h ⊢ a", state_before="⊢ as printed")
    assert before(only(tmp_path, proved_tree("a")[0], told))[1] == ("intro h", "⊢ as printed")


def test_a_parent_that_holds_the_state_before_its_tactic_does_not_tell_what_came_after(tmp_path: Path):
    known = [
        tried("a", 1, None, "intro h", "⊢ a", state_before="⊢ a"),
        tried("a", 10, 1, "simp", "h ⊢ a", state_before="h ⊢ a"),
        tried("a", 11, 1, "left", "⊢ left a"),
    ]
    assert before(only(tmp_path, *known)) == [("intro h", "⊢ a"), ("simp", "h ⊢ a"), ("left", None)]


def test_several_attempts_at_one_theorem_are_kept_apart(tmp_path: Path):
    mine, yours, run = proved_tree("a"), lost_tree("a"), proved_tree("a", run_id="r2")
    yours = [tried("a", 1, None, "", "⊢ other", attempt_id="z"), tried("a", 10, 1, "simp", "⊢ b", attempt_id="z")]
    found = read(tmp_path / "store", *(step for steps in zip(mine, run, strict=True) for step in steps), *yours)
    assert [(tree.key.run_id, tree.key.attempt_id, len(tree.nodes)) for tree in found] == [
        ("r", "r/a", 6),
        ("r", "z", 2),
        ("r2", "r/a", 6),
    ]
    assert before(found[1]) == [("", None), ("simp", "⊢ other")]


def test_one_attempt_can_be_asked_for(tmp_path: Path):
    steps = [*proved_tree("a"), *proved_tree("a", run_id="r2"), *proved_tree("b")]
    assert [tree.key for tree in read(tmp_path / "store", *steps, run_id="r2")] == [("r2", "r/a", "a")]
    assert read(tmp_path / "store", attempt_id="none", run_id="r2") == []


def test_a_theorem_with_too_many_rows_is_refused(tmp_path: Path):
    with pytest.raises(StoreError, match=r"The theorem 'a' has 6 such rows; at most 5 are shown\. Name a run"):
        read(tmp_path / "store", *proved_tree("a"), most_rows=5)


def test_two_searches_in_one_attempt_do_not_mix_though_their_states_share_numbers(tmp_path: Path):
    again = [
        tried("a", 1, None, "", "⊢ a, resumed", step=1000),
        tried("a", 10, 1, "ring", "⊢ ring", step=1001),
        tried("a", 100, 10, "simp", "", step=1002, is_proof_complete=True),
    ]
    tree = only(tmp_path, *proved_tree("a"), *again)
    assert before(tree)[6:] == [("", None), ("ring", "⊢ a, resumed"), ("simp", "⊢ ring")]
    assert [[node.row.tactic_applied for node in path] for path in tree.proofs()] == [
        ["", "intro h", "simp"],
        ["", "ring", "simp"],
    ]


def test_a_number_that_belongs_to_several_states_leads_nowhere(tmp_path: Path):
    twice = [
        tried("a", 1, None, "", "⊢ a"),
        tried("a", 10, 1, "left", "⊢ left", step=2),
        tried("a", 10, 1, "right", "⊢ right", step=3),
        tried("a", 100, 10, "simp", "", step=4),
    ]
    node = only(tmp_path, *twice).nodes[3]
    assert (node.parent, node.fault, node.state_before) == (None, "ambiguous_parent", None)


def test_a_state_that_is_stored_twice_is_still_known(tmp_path: Path):
    twice = [*proved_tree("a")[:2], tried("a", 10, 1, "intro h", "h ⊢ a", step=11), proved_tree("a")[4]]
    assert before(only(tmp_path, *twice))[3] == ("simp", "h ⊢ a")


def test_a_parent_that_is_nowhere_is_told(tmp_path: Path):
    tree = only(tmp_path, tried("a", 10, 1, "simp", "⊢ b"))
    assert list(tree_lines(tree)) == ["10 simp => ⊢ b [unknown] [unknown_parent]"]


def test_a_parent_may_be_stored_after_its_child(tmp_path: Path):
    late = [tried("a", 10, 1, "simp", "⊢ b", step=0), tried("a", 1, None, "", "⊢ a", step=1)]
    assert before(only(tmp_path, *late))[0] == ("simp", "⊢ a")


@pytest.mark.parametrize("length", [1, 2, 5])
def test_states_that_are_their_own_ancestors_have_no_parents(tmp_path: Path, length: int):
    ring = [tried("a", 10 + i, 10 + (i + 1) % length, "simp", f"⊢ {i}") for i in range(length)]
    tail = tried("a", 30, 10, "ring", "", is_proof_complete=True)
    tree = only(tmp_path, *ring, tail)
    assert [node.fault for node in tree.nodes] == ["cycle"] * length + [None]
    assert len(list(tree_lines(tree))) == length + 1
    assert [node.row.tactic_applied for node in next(tree.proofs())] == ["simp", "ring"]
    assert before(tree)[-1] == ("ring", "⊢ 0")


def test_rows_of_one_step_are_in_an_order_that_does_not_depend_on_who_stored_them(tmp_path: Path):
    steps = [replace(step, step=0) for step in proved_tree("a")]
    steps += [replace(steps[2], state_id=number, tactic_applied=f"left {number}") for number in range(20, 40)]
    found: list[list[str]] = []
    for number in range(3):
        store = Store(tmp_path / str(number))
        for part in (steps[number::2], steps[:number:2], steps[1 - number % 2 :: 2][number:], steps):
            with store.writer() as writer:
                writer.append(part[:: -1 if number else 1])
        with store.snapshot() as snapshot:
            (tree,) = read_trees(snapshot, theorem="a")
        found.append(sorted(set(tree_lines(tree)), key=list(tree_lines(tree)).index))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == "1 (root) => ⊢ a [positive]"


def test_failed_tactics_are_nobodys_parent(tmp_path: Path):
    steps = [
        tried("a", 0, None, "", "⊢ a"),
        tried("a", 0, 0, "omega", "", step=1, outcome="failed"),
        tried("a", 1, 0, "simp", "⊢ b", step=2),
    ]
    assert before(only(tmp_path, *steps))[2] == ("simp", "⊢ a")


def test_talk_is_no_part_of_a_tree(tmp_path: Path):
    talk = Step(theorem_name="a", kind="message", run_id="r", attempt_id="r/a", tool_output="Let us see.")
    assert len(only(tmp_path, talk, *proved_tree("a")).nodes) == 6


def test_a_long_proof_is_no_deep_recursion():
    rows = [row(number, number - 1 if number else None) for number in range(5_000)]
    tree = tree_of(rows)
    assert len(list(tree_lines(tree))) == 5_000
    assert all(node.leads_to_proof for node in tree.nodes)


def row(number: int, parent: int | None) -> Row:
    step = tried("a", number, parent, "simp" if number else "", f"⊢ {number}", is_proof_complete=number == 4_999)
    return Row(**{name: getattr(step, name) for name in Row.__dataclass_fields__})


def test_rows_come_theorem_by_theorem_whatever_their_order(tmp_path: Path):
    steps = [step for name in "abcdefghij" for step in proved_tree(name)]
    orders = [filled(tmp_path / "one", *steps), filled(tmp_path / "two", *reversed(steps))]
    tables: list[list[Any]] = []
    for store in orders:
        with store.snapshot() as snapshot:
            columns = ("state_id", "state_pp")
            tables.append(list(rows_by_theorem(snapshot, columns=columns, group_rows=7)))
            (whole,) = rows_by_theorem(snapshot, columns=["row_id"], group_rows=60)
            assert whole.num_rows == 60
    read_rows = [[table.drop_columns("row_id").to_pylist() for table in found] for found in tables]
    assert read_rows[0] == read_rows[1]
    assert 1 < len(read_rows[0]) <= 9
    assert sorted(name for found in read_rows[0] for name in {each["theorem_name"] for each in found}) == list(
        "abcdefghij"
    )


def test_a_process_that_is_killed_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    store = filled(tmp_path / "store", *(step for name in "abcdefghij" for step in proved_tree(name)))
    with store.snapshot() as snapshot:
        for table in rows_by_theorem(snapshot, columns=["state_pp"], group_rows=7):
            assert table.num_rows < 60, "the others wait in files"
            assert not list((tmp_path / "temporary").iterdir())


def test_an_empty_store_has_no_trees(tmp_path: Path):
    with Store(tmp_path / "store").snapshot() as snapshot:
        assert list(trees(snapshot)) == []
    assert tree_of([]) == Tree(("", "", ""), [], [])  # pyright: ignore[reportArgumentType]  # a tuple equals its name


def test_a_node_without_parent_has_no_state_before_it():
    assert Node(row(1, 0)).state_before is None
