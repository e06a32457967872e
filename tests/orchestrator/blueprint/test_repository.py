"""Reading git without touching it: working trees of all kinds, merges, and the files that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from blueprint_repository import BASE, FINISHED, MAIN, GitRepository
from ekiden_blueprint import parse
from ekiden_orchestrator.blueprint.repository import Repository
from ekiden_orchestrator.blueprint.verifying import in_import_order, matching
from ekiden_orchestrator.errors import CommandError
from ekiden_policies.blueprint_merge import closed_issues
from ekiden_policies.blueprint_roles import PathChange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def origin(tmp_path: Path) -> GitRepository:
    return GitRepository.made(tmp_path / "target")


@pytest.fixture
def repository(origin: GitRepository) -> Iterator[Repository]:
    with Repository(origin.root) as opened:
        yield opened


def differing(repository: Repository, head: str) -> list[PathChange]:
    base = repository.commit("main")
    return repository.differing(base, repository.merged(base, head).tree, [MAIN])


def test_a_sparse_working_tree_has_removed_nothing(origin: GitRepository, repository: Repository):
    origin.git("sparse-checkout", "set", "--no-cone", "/LeanMarathon/**")
    assert not (origin.root / "lakefile.toml").exists()
    origin.write(MAIN, FINISHED)
    assert differing(repository, repository.commit_of_working_tree([MAIN])) == [PathChange(MAIN, "changed", True)]


def test_a_linked_working_tree_is_read_from_a_folder_inside(origin: GitRepository, tmp_path: Path):
    origin.git("worktree", "add", "--quiet", "-b", "work", str(tmp_path / "linked"))
    (tmp_path / "linked" / MAIN).write_text(FINISHED, "utf-8")
    with Repository(tmp_path / "linked" / "LeanMarathon") as repository:
        head = repository.commit_of_working_tree([MAIN])
        assert differing(repository, head) == [PathChange(MAIN, "changed", True)]
        assert repository.read(head, MAIN) == FINISHED.encode()


def test_a_new_file_of_the_blueprint_counts_and_other_untracked_ones_do_not(
    origin: GitRepository, repository: Repository
):
    origin.write(".gitignore", "*\n")
    origin.write("LeanMarathon/More.lean", BASE)
    origin.write("notes.md", "mine\n")
    head = repository.commit_of_working_tree([MAIN, "LeanMarathon/More.lean", "LeanMarathon/No.lean"])
    assert [change.path for change in differing(repository, head)] == ["LeanMarathon/More.lean"]


def test_looking_leaves_the_repository_as_it_was(origin: GitRepository, repository: Repository):
    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (origin.root / ".git").rglob("*") if path.is_file()}

    origin.write(MAIN, FINISHED)
    before = contents()
    differing(repository, repository.commit_of_working_tree([MAIN]))
    assert contents() == before


@pytest.mark.parametrize("name", ["a b.lean", "ä.lean", 'q"uote.lean', "back\\slash.lean", "-x.lean", "*.lean"])
def test_odd_names_are_told_as_they_are(origin: GitRepository, repository: Repository, name: str):
    head = origin.branch("odd", **{name: "x\n"})
    assert differing(repository, head) == [PathChange(name, "added", False)]
    assert repository.read(head, name) == b"x\n"
    assert repository.read(head, "missing.lean") is None


def test_a_program_a_link_and_a_folder_are_no_plain_files(origin: GitRepository, repository: Repository):
    origin.git("checkout", "--quiet", "-B", "odd")
    (origin.root / MAIN).chmod(0o755)
    (origin.root / "link.lean").symlink_to(MAIN)
    head = origin.commit("Odd")
    assert {change.path: change.is_regular for change in differing(repository, head)} == {
        MAIN: False,
        "link.lean": False,
    }
    assert repository.read(head, "link.lean") is None
    assert repository.read(head, "LeanMarathon") is None


def test_a_conflict_names_its_files(origin: GitRepository, repository: Repository):
    one = origin.branch("one", BASE.replace("IsEven 4", "IsEven 6"))
    two = origin.branch("two", BASE.replace("IsEven 4", "IsEven 8"))
    assert repository.merged(one, two).conflicts == (MAIN,)
    assert repository.merged(one, one).conflicts == ()


def test_a_ref_is_never_an_option(repository: Repository):
    for ref in ("--all", "-x", "", "main:lakefile.toml", "nowhere"):
        with pytest.raises(CommandError):
            repository.commit(ref)


def test_patterns_find_files_as_folders_have_them():
    paths = ["A.lean", "L/Main.lean", "L/x/y/Z.lean", "L/Main.leanx", "K/L/Main.lean"]
    assert matching(paths, ["L/**/*.lean"]) == ["L/Main.lean", "L/x/y/Z.lean"]
    assert matching(paths, ["*.lean", "L/Main.lean?"]) == ["A.lean", "L/Main.leanx"]
    assert matching(paths, ["**"]) == paths


def test_files_come_after_those_they_import_even_in_a_circle():
    texts = {
        "B/A.lean": "import B.C\n",
        "B/C.lean": "import B.D\nimport Mathlib\n",
        "B/D.lean": "",
        "B/E.lean": "import B.E\n",
    }
    files = [parse(text, path) for path, text in texts.items()]
    assert [file.source.path for file in in_import_order(files)] == ["B/D.lean", "B/C.lean", "B/A.lean", "B/E.lean"]
    circle = [parse("import B.C\n", "B/A.lean"), parse("import B.A\n", "B/C.lean")]
    assert len(in_import_order(circle)) == 2


@pytest.mark.parametrize(
    ("body", "issues"),
    [
        ("Closes #1\nfixes #2, Resolves: #3", (1, 2, 3)),
        ("Closes #1, and see #2", (1,)),
        ("encloses #1 prefix-fixes #2", ()),
        ("closes other/repo#4 closes #5x closes #0", ()),
        ("Closed #7 closed #7", (7,)),
    ],
)
def test_an_issue_is_closed_by_a_keyword_of_its_own(body: str, issues: tuple[int, ...]):
    assert closed_issues(body) == issues
