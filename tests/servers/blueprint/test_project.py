"""Projects: one or more files whose nodes are looked up together."""

from __future__ import annotations

from pathlib import Path

import pytest

from ekiden_blueprint import BlueprintError, Project, parse


def node(name: str, label: str) -> str:
    return f'@[blueprint "{label}"]\nlemma {name} : p := q\n\n'


def two_files() -> Project:
    return Project(
        [
            parse(node("one", "lem:one") + node("two", "lem:two"), "A.lean"),
            parse(node("three", "lem:three") + node("one", "lem:one"), "B.lean"),
        ]
    )


def test_nodes_of_all_files_stand_in_order():
    assert [(found.path, found.name) for found in two_files().nodes] == [
        ("A.lean", "one"),
        ("A.lean", "two"),
        ("B.lean", "three"),
        ("B.lean", "one"),
    ]


def test_a_node_is_found_by_its_name_and_by_its_label():
    project = two_files()
    assert project.node("three") == project.labelled("lem:three") == project.nodes[2]


def test_names_and_labels_used_twice_are_all_kept():
    project = two_files()
    assert project.node("one") == project.nodes[0]
    assert project.by_name["one"] == project.by_label["lem:one"] == (project.nodes[0], project.nodes[3])


def test_anonymous_and_unlabelled_nodes_are_in_no_table():
    project = Project([parse("@[blueprint]\ninstance : A := b\n")])
    assert len(project.nodes) == 1
    assert (project.by_name, project.by_label) == ({}, {})


def test_a_node_in_a_namespace_is_found_by_its_full_name():
    project = Project([parse("namespace A\n" + node("b", "lem:b") + "end A\n")])
    assert project.node("A.b").name == "b"


def test_a_missing_name_is_answered_with_its_neighbours():
    with pytest.raises(BlueprintError, match=r"No node 'tow' .* 'two'"):
        two_files().node("tow")
    with pytest.raises(BlueprintError, match=r"No node labelled 'lem:tree' .* 'lem:three'"):
        two_files().labelled("lem:tree")
    with pytest.raises(BlueprintError, match="none resembles it"):
        two_files().node("zzzzzzzz")


def test_a_missing_file_is_answered_with_those_there_are():
    assert two_files().file("B.lean").source.path == "B.lean"
    with pytest.raises(BlueprintError, match=r"No file 'C.lean' .* 'A.lean', 'B.lean'"):
        two_files().file("C.lean")


def test_files_are_read_with_paths_from_the_root(tmp_path: Path):
    (tmp_path / "Sub").mkdir()
    (tmp_path / "Sub/A.lean").write_text(node("a", "lem:a"), encoding="utf-8")
    (tmp_path / "B.lean").write_text(node("b", "lem:b"), encoding="utf-8")
    project = Project.read([Path("Sub/A.lean"), tmp_path / "B.lean"], tmp_path)
    assert [(found.path, found.name) for found in project.nodes] == [("Sub/A.lean", "a"), ("B.lean", "b")]


def test_reading_again_takes_over_what_did_not_change(tmp_path: Path):
    (tmp_path / "A.lean").write_text(node("a", "lem:a"), encoding="utf-8")
    first = Project.read(["A.lean"], tmp_path)
    (tmp_path / "A.lean").write_text(node("a", "lem:a") + node("b", "lem:b"), encoding="utf-8")
    second = Project.read(["A.lean"], tmp_path, previous=first)
    assert [found.name for found in second.nodes] == ["a", "b"]


def test_line_ends_are_kept_as_they_are(tmp_path: Path):
    (tmp_path / "A.lean").write_bytes(b"open A\r\nopen B\r\n")
    assert Project.read(["A.lean"], tmp_path).files[0].source.text == "open A\r\nopen B\r\n"


def test_what_cannot_be_read_is_refused(tmp_path: Path):
    inside = tmp_path / "root"
    inside.mkdir()
    (tmp_path / "Outside.lean").write_text("", encoding="utf-8")
    (inside / "Link.lean").symlink_to(tmp_path / "Outside.lean")
    (inside / "Latin.lean").write_bytes(b"-- \xe9")
    (inside / "Folder.lean").mkdir()
    for path, reason in [
        ("../Outside.lean", "not under"),
        ("Link.lean", "not under"),
        ("Missing.lean", "Cannot read 'Missing.lean'"),
        ("Folder.lean", "Cannot read 'Folder.lean'"),
        ("Latin.lean", "not UTF-8: byte 3"),
    ]:
        with pytest.raises(BlueprintError, match=reason):
            Project.read([path], inside)
