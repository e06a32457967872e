"""`ekiden blueprint gate`: what is merged without a person, decided from data alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from blueprint_graphs import node, text_of
from blueprint_repository import DONE, EVEN, FINISHED, GOAL, MAIN, ONE, GitRepository
from command_line import Done, ekiden

if TYPE_CHECKING:
    from pathlib import Path

TITLE = "Complete blueprint node: own"


class Bed:
    """A repository with a remote's branches as a workflow has them, a pull request, and a report."""

    def __init__(self, repository: GitRepository, folder: Path) -> None:
        self.repository = repository
        self.folder = folder
        self.pull: dict[str, Any] = {
            "state": "open",
            "draft": False,
            "title": TITLE,
            "body": "Closes #7. It mentions #8, and fixes #9.",
            "user": {"login": "bot"},
            "head": {"ref": "round-1/own", "sha": "", "repo": {"full_name": "o/r"}},
            "base": {"ref": "main", "sha": "", "repo": {"full_name": "o/r"}},
        }
        self.fetched()

    def fetched(self) -> None:
        self.repository.git("update-ref", "refs/remotes/origin/main", "main")

    def tested(self, text: str = FINISHED, **files: str) -> dict[str, Any]:
        """Push a change and test it as a run without rights does; Lean's part is put in by hand."""
        self.pull["head"]["sha"] = self.repository.branch("round-1/own", text, **files)
        report = self.folder / "verify-report.json"
        judge = ("--base", "main", "--head", "round-1/own", "--role", "worker", "--node", "own")
        ekiden("blueprint", "verify", MAIN, *judge, "--lean", "off", "--report", report)
        self.repository.git("checkout", "--quiet", "main")
        found = cast("dict[str, Any]", json.loads(report.read_text("utf-8")))
        found["lean"] = {"used": True, "identity": "a Lean"}
        return found

    def decide(self, report: object, authors: str = "bot, other") -> Done:
        (self.folder / "pull.json").write_text(json.dumps(self.pull), encoding="utf-8")
        (self.folder / "verify-report.json").write_text(json.dumps(report), encoding="utf-8")
        arguments = ("--pull", self.folder / "pull.json", "--authors", authors, "--comment", self.folder / "comment.md")
        return ekiden("blueprint", "gate", self.folder / "verify-report.json", *arguments)

    def comment(self) -> str:
        return (self.folder / "comment.md").read_text("utf-8")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    repository = GitRepository.made(tmp_path / "target")
    monkeypatch.chdir(repository.root)
    return Bed(repository, tmp_path)


def outputs(done: Done) -> dict[str, str]:
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_what_was_tested_is_merged_and_nothing_else(bed: Bed):
    report = bed.tested()
    done = bed.decide(report)
    assert (done.exit_code, done.stderr) == (0, "")
    told = outputs(done)
    assert (told["merge"], told["retest"], told["closes"]) == ("true", "false", "7 9")
    assert told["tree"] == bed.repository.git("merge-tree", "--write-tree", told["base"], told["head"])
    assert "It is merged as it was tested." in bed.comment()


def test_a_base_that_moved_is_tested_again(bed: Bed):
    report = bed.tested()
    bed.repository.write("README.md", "Newer.\n")
    bed.repository.commit("Move on")
    bed.fetched()
    done = bed.decide(report)
    assert (done.exit_code, outputs(done)["merge"], outputs(done)["retest"]) == (1, "false", "true")
    assert "has moved" in done.stderr


def test_two_changes_that_pass_alone_and_not_together_are_not_both_merged(bed: Bed):
    helper = node("lemma fresh (n : Nat) : IsEven (2 * n)", body="exact ⟨n, rfl⟩")
    report = bed.tested(text_of(EVEN, ONE, helper, DONE.replace("one n", "fresh n"), GOAL))
    bed.repository.write(MAIN, text_of(helper, EVEN, ONE, DONE, GOAL))
    bed.repository.commit("Another worker's")
    bed.fetched()
    assert outputs(bed.decide(report))["merge"] == "false"


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("user", {"login": "eve"}, "author 'eve'"),
        ("state", "closed", "closed"),
        ("draft", True, "draft"),
        ("title", "Complete blueprint node: goal", "no role's"),
        ("title", "Something", "no role's"),
        ("head", {"ref": "round-1/own", "repo": {"full_name": "eve/r"}}, "another repository"),
        ("head", {"ref": "round-1/own", "repo": None}, "another repository"),
        ("head", {"ref": "main", "repo": {"full_name": "o/r"}}, "no role's"),
        ("base", {"ref": "release", "sha": "", "repo": {"full_name": "o/r"}}, "'release'"),
    ],
)
def test_a_pull_request_of_another_kind_is_left_to_people(bed: Bed, part: str, value: Any, reason: str):
    report = bed.tested()
    if part == "head":
        value = {**value, "sha": bed.pull["head"]["sha"]}
    bed.pull[part] = value
    done = bed.decide(report)
    assert (done.exit_code, outputs(done)["merge"]) == (1, "false")
    assert reason in done.stderr


def test_nobodys_pull_requests_are_merged_where_no_author_is_named(bed: Bed):
    assert outputs(bed.decide(bed.tested(), authors=""))["merge"] == "false"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (FINISHED.replace("IsEven 4", "IsEven 2"), {}),
        (FINISHED.replace("exact one n", "admit"), {}),
        (FINISHED + '\n#eval IO.println "mine"\n', {}),
        (FINISHED, {".github/workflows/verify-blueprint.yml": "on: push\n"}),
    ],
)
def test_a_forged_report_merges_nothing_that_the_text_already_shows(bed: Bed, text: str, files: dict[str, str]):
    report = bed.tested(text, **files)
    report["overall_pass"] = True
    report["findings"] = []
    done = bed.decide(report)
    assert outputs(done)["merge"] == "false"
    assert "It did not pass." in done.stderr


def test_a_report_without_lean_merges_nothing(bed: Bed):
    report = bed.tested()
    assert outputs(bed.decide({**report, "lean": {"used": False}}))["merge"] == "false"


@pytest.mark.parametrize("report", [None, [], {"overall_pass": True}, "x", {"change": None}])
def test_a_report_that_cannot_be_read_merges_nothing(bed: Bed, report: object):
    bed.tested()
    assert outputs(bed.decide(report))["merge"] == "false"
    assert "left no report" in bed.comment()


def test_a_report_on_another_commit_merges_nothing(bed: Bed):
    report = bed.tested()
    bed.tested(FINISHED.replace("exact one n", "exact one _"))
    assert "new commits" in bed.decide(report).stderr


def test_a_comment_cannot_be_made_to_link_or_mention(bed: Bed):
    report = bed.tested(FINISHED.replace("IsEven 4", "IsEven 2"))
    evil = "`` [x](https://evil.example) @everyone <img src=x> | \n# Big\u202e"
    finding = {**report["findings"][0], "message": evil, "path": evil, "rule": evil}
    report["findings"] = [finding]
    report["results"] = [{"name": evil, "passed": False, "failures": [evil]}]
    report["states"] = {evil: 3}
    report["targets"] = [{"name": evil, "state": evil, "axioms": [evil], "rests_on_sorry": False}]
    report["change"]["node"] = evil
    report["files"] = [evil]
    bed.pull["title"] = evil
    bed.decide(report)
    outside = _without_code(bed.comment())
    assert "\u202e" not in bed.comment()
    assert not {word for word in ("://", "@every", "<img", "# Big", "](") if word in outside}


def _without_code(text: str) -> str:
    """Leave out code spans, as Markdown reads them: from a run of backticks to the next of the same length."""
    import re

    lines: list[str] = []
    for line in text.splitlines():
        kept, at = "", 0
        while (opened := re.compile("`+").search(line, at)) is not None:
            kept += line[at : opened.start()]
            closing = re.compile(f"(?<!`){opened.group()}(?!`)").search(line, opened.end())
            at = closing.end() if closing else opened.end()
        lines.append(kept + line[at:])
    return "\n".join(lines)
