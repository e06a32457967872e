"""`ekiden blueprint`, on real files in real git repositories."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from blueprint_graphs import HEADER, node, text_of
from blueprint_repository import BASE, DONE, EVEN, FINISHED, GOAL, MAIN, ONE, OWN, GitRepository
from command_line import Done, ekiden

if TYPE_CHECKING:
    from pathlib import Path

OFF = ("--lean", "off")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    made = GitRepository.made(tmp_path / "target")
    monkeypatch.chdir(made.root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    return made


def verify(*arguments: str) -> Done:
    return ekiden("blueprint", "verify", MAIN, "--report", "../report.json", *OFF, *arguments)


def work(head: str, *more: str) -> Done:
    return verify("--base", "main", "--head", head, "--role", "worker", "--node", "own", *more)


def rules_of(done: Done) -> set[str]:
    return {
        word for line in done.stdout.splitlines() if ": error " in line for word in line.split() if word[:2] == "BP"
    }


def report(repository: GitRepository) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((repository.root.parent / "report.json").read_text("utf-8")))


def test_a_good_blueprint_passes_and_leaves_a_report(repository: GitRepository):
    done = verify()
    assert (done.exit_code, done.stderr) == (0, "")
    assert "PASS  1 file, 4 nodes" in done.stdout
    assert "Nodes: 1 ready, 2 waiting." in done.stdout
    found = report(repository)
    assert (found["files"], found["overall_pass"]) == ([MAIN], True)
    assert [set(result) for result in found["results"]] == [{"name", "passed", "failures"}] * 9
    assert found["targets"] == [{"name": "goal", "state": "waiting", "taken_as_they_are": []}]


def test_a_rule_that_is_broken_fails(repository: GitRepository):
    repository.write(MAIN, BASE.replace("(title := /-- A title -/)", "(title := /-- -/)", 1))
    done = verify()
    assert done.exit_code == 1
    assert rules_of(done) == {"BP212"}
    assert report(repository)["overall_pass"] is False


def test_what_is_certain_to_mend_a_file_is_written_into_it(repository: GitRepository):
    broken = (
        BASE.replace('"definition"', '"lemma"', 1).replace("\ntheorem", "\n-- a remark\ntheorem")
        + "\naxiom a : 1 = 1\n"
    )
    repository.write(MAIN, broken)
    assert "(2 can be fixed by `--fix`)" in verify().stdout
    done = verify("--fix")
    assert done.stderr == f"fixed {MAIN}: 2 places\n"
    assert rules_of(done) == {"BP202"}
    assert (repository.root / MAIN).read_text("utf-8") == BASE + "\naxiom a : 1 = 1\n"
    assert verify("--fix").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.lean"], "no.lean"),
        (["no.lean", "--fix"], "no.lean"),
        ([MAIN, "--fix", "--base", "main", "--head", "main", "--role", "refiner"], "--fix mends files"),
        (["LeanMarathon"], "directory"),
        (["binary.lean"], "UTF-8"),
        ([MAIN, "--base", "main"], "--head"),
        ([MAIN, "--role", "worker"], "--base"),
        ([MAIN, "--base", "main", "--head", "none", "--role", "refiner"], "'none' names no commit"),
        ([MAIN, "--base", "--output=x", "--head", "main", "--role", "refiner"], "names no commit"),
        ([MAIN, "--base", "main", "--head", "main", "--role", "boss"], "blueprinter, refiner, worker"),
        ([MAIN, "--base", "main", "--head", "main"], "Say whose change it is"),
        ([MAIN, "--base", "main", "--head", "main", "--role", "worker", "--node", "IsEven"], "'IsEven' is no lemma"),
        ([MAIN, "--base", "main", "--head", "main", "--branch", "round-1/own", "--title", "x"], "node: NODE`"),
        ([MAIN, "--base", "main", "--head", "main", "--role", "worker"], "--node"),
        ([MAIN, "--base", "main", "--head", "main", "--role", "worker", "--node", "onw"], "nearest are 'own'"),
        ([MAIN, "--base", "main", "--head", "main", "--branch", "mine"], "no role's"),
        (["no.lean", "--base", "main", "--head", "main", "--role", "refiner"], "no.lean"),
        (["../x.lean", "--base", "main", "--head", "main", "--role", "refiner"], "outside the repository"),
        ([MAIN, "--base", "main", "--head", "main", "--role", "refiner", "--approvals", "no.toml"], "no.toml"),
        ([MAIN, "--base", "main", "--head", "main", "--role", "refiner", "--approvals", "a.toml"], "approved"),
    ],
)
def test_bad_input_is_said_in_a_line(repository: GitRepository, arguments: list[str], said: str):
    (repository.root / "binary.lean").write_bytes(b"\xff\xfe")
    repository.write("a.toml", "goal = 1\n")
    done = ekiden("blueprint", "verify", *arguments, *OFF)
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_without_git_has_no_changes_to_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = work("main")
    assert (done.exit_code, "no git working tree" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("log", "status"),
    [
        (f"{MAIN}:3:1: warning: declaration uses 'sorry'\n\n", 0),
        (f"{MAIN}:3:1: error: unknown identifier 'x'\n", 1),
        ("Segmentation fault (core dumped)\n", 1),
        (None, 1),
    ],
)
def test_a_build_log_counts_as_check_one(repository: GitRepository, log: str | None, status: int):
    if log is not None:
        repository.write("build.log", log)
    assert verify("--build-log", "build.log").exit_code == status
    assert report(repository)["results"][0]["passed"] is (status == 0)


def test_a_worker_who_finishes_its_node_passes(repository: GitRepository):
    head = repository.branch("work", FINISHED)
    done = work("work")
    assert done.exit_code == 0, done.stdout
    change = report(repository)["change"]
    assert (change["head"], change["role"], change["node"]) == (head, "worker", "own")
    assert change["changed"] == ["own: body"]
    assert change["tree"] == repository.git("rev-parse", "work^{tree}")


def test_the_working_tree_can_be_judged_before_a_commit(repository: GitRepository):
    before = repository.git("count-objects", "-v")
    repository.write(MAIN, FINISHED)
    assert work("WORKTREE").exit_code == 0
    repository.write(MAIN, FINISHED.replace("IsEven 4", "IsEven 2"))
    assert rules_of(work("WORKTREE")) == {"BP003"}
    assert repository.git("count-objects", "-v") == before
    assert repository.git("diff", "--cached", "--name-only") == ""


QUOTE = node("def q : Char := '\"'")
QUOTES = text_of(EVEN, ONE, QUOTE, "axiom cheat : False\n\n" + DONE, QUOTE.replace("q", "r"), GOAL)
EQUATIONS = text_of(
    EVEN,
    ONE,
    DONE.partition("\nlemma")[0] + "\nlemma own : (n : Nat) → IsEven (2 * n)\n  | 0 => sorry\n  | _ => sorry\n",
    GOAL,
)
HELPER = node("lemma fresh (n : Nat) : IsEven (2 * n)", body="exact ⟨n, rfl⟩")


@pytest.mark.parametrize(
    ("name", "text", "rules"),
    [
        ("an unfinished node", BASE.replace("It holds", "It does", 3), {"BP009"}),
        ("admit", FINISHED.replace("exact one n", "admit"), {"BP901"}),
        ("sorryAx", FINISHED.replace("exact one n", "exact sorryAx _"), {"BP901"}),
        ("native_decide", FINISHED.replace("exact one n", "native_decide"), {"BP902"}),
        (
            "a macro that is a sorry",
            text_of(EVEN, ONE, 'macro "done" : tactic => `(tactic| sorry)\n', DONE, GOAL),
            {"BP010", "BP805"},
        ),
        (
            "an indented axiom in the body",
            FINISHED.replace("exact one n", "exact one n\n\n  axiom cheat : False"),
            {"BP010", "BP202"},
        ),
        (
            "an axiom between two quotes that are characters",
            QUOTES,
            {"BP004", "BP010", "BP202"},
        ),
        (
            "an equation-style body",
            EQUATIONS,
            {"BP003", "BP009", "BP215"},
        ),
        ("a statement behind a let", FINISHED.replace("IsEven m", "True"), {"BP003"}),
        ("another statement", FINISHED.replace("theorem goal : IsEven 4", "theorem goal : IsEven 0"), {"BP003"}),
        ("a target that is gone", text_of(EVEN, ONE, DONE), {"BP005", "BP701"}),
        ("a definition that is weaker", FINISHED.replace("n = 2 * k", "n = k"), {"BP003", "BP007"}),
        (
            "a local notation",
            text_of(EVEN, ONE, 'local notation "IsEven" => fun _ => True\n', DONE, GOAL),
            {"BP010", "BP805"},
        ),
        ("a variable", text_of(EVEN, ONE, "variable (h : False)\n", DONE, GOAL), {"BP010", "BP806"}),
        ("an option", text_of(EVEN, ONE, "set_option autoImplicit true\n", DONE, GOAL), {"BP010", "BP807"}),
        ("a helper with a hole", text_of(EVEN, ONE, node("lemma fresh : True"), DONE, GOAL), {"BP008", "BP701"}),
        ("a program", text_of(EVEN, ONE, '#eval IO.println "x"\n', DONE, GOAL), {"BP010", "BP810"}),
    ],
)  # fmt: skip
def test_an_attack_in_the_blueprint_is_refused(repository: GitRepository, name: str, text: str, rules: set[str]):
    repository.branch("work", text)
    done = work("work")
    assert done.exit_code == 1, name
    assert rules <= rules_of(done), done.stdout


def test_fresh_complete_helpers_before_the_node_pass(repository: GitRepository):
    used = DONE.replace("exact one n", "exact fresh n").replace("lem:one", "lem:fresh")
    repository.branch("work", text_of(EVEN, ONE, HELPER, used, GOAL))
    assert rules_of(work("work")) <= {"BP701"}  # `one` is left unused, which without Lean shows by the prose


def test_a_renamed_file_cannot_dodge_the_list_of_paths(repository: GitRepository):
    repository.git("checkout", "--quiet", "-B", "work", "main")
    repository.git("mv", "lakefile.toml", "LeanMarathon/Lake.lean")
    repository.write(MAIN, FINISHED)
    repository.commit("Move")
    done = work("work")
    assert done.exit_code == 1
    assert "'lakefile.toml' is removed" in done.stdout
    assert "'LeanMarathon/Lake.lean' is added" in done.stdout


@pytest.mark.parametrize("path", [".github/workflows/verify-blueprint.yml", "lakefile.toml", "ekiden.toml", "x.lean"])
def test_other_files_are_out_of_bounds(repository: GitRepository, path: str):
    repository.branch("work", FINISHED, **{path: "# evil\n"})
    assert rules_of(work("work")) == {"BP001"}


def test_a_link_in_the_place_of_the_blueprint_is_refused(repository: GitRepository):
    repository.git("checkout", "--quiet", "-B", "work", "main")
    (repository.root / MAIN).unlink()
    (repository.root / MAIN).symlink_to("../lakefile.toml")
    repository.commit("Link")
    done = work("work")
    assert (done.exit_code, "BP002" in rules_of(done)) == (1, True)


def test_what_is_judged_is_what_merging_gives(repository: GitRepository):
    helper = HELPER.replace("exact", "exact ")
    repository.branch("mine", text_of(EVEN, ONE, HELPER, DONE, GOAL))
    repository.branch("theirs", text_of(EVEN, HELPER, ONE, OWN, GOAL))
    assert helper != HELPER
    done = verify("--base", "theirs", "--head", "mine", "--role", "worker", "--node", "own")
    assert done.exit_code == 1
    assert {"BP502", "BP012"} & rules_of(done)


def test_a_branch_that_is_behind_its_base_is_not_blamed_for_that(repository: GitRepository):
    repository.branch("work", FINISHED)
    repository.git("checkout", "--quiet", "main")
    repository.write("README.md", "Newer.\n")
    repository.write(MAIN, BASE.replace("(title := /-- A title -/)", "(title := /-- Another -/)", 1))
    repository.commit("Move on")
    done = work("work")
    assert done.exit_code == 0, done.stdout


def test_a_conflict_is_a_failure(repository: GitRepository):
    repository.branch("work", FINISHED)
    repository.git("checkout", "--quiet", "main")
    repository.write(MAIN, FINISHED.replace("exact one n", "exact one _"))
    repository.commit("Finish it otherwise")
    assert "BP012" in rules_of(work("work"))


def test_a_refiner_changes_targets_with_an_approval_alone(repository: GitRepository):
    repository.branch("refine", BASE.replace("IsEven 4", "IsEven 6"))
    judge = ("--base", "main", "--head", "refine", "--role", "refiner")
    done = verify(*judge)
    assert rules_of(done) == {"BP006"}
    becomes = done.stdout.split("becomes '")[1].split("'")[0]
    repository.write("../approvals.toml", f'[approved]\ngoal = "{becomes}"\n')
    done = verify(*judge, "--approvals", "../approvals.toml")
    assert (done.exit_code, "BP014" in done.stdout) == (0, True)


def test_a_refiner_gives_proofs_up_openly_and_writes_none(repository: GitRepository):
    repository.git("checkout", "--quiet", "main")
    repository.write(MAIN, FINISHED)
    repository.commit("Merge")
    judge = ("--base", "main", "--role", "refiner")
    repository.branch("down", BASE)
    done = verify(*judge, "--head", "down")
    assert (done.exit_code, "BP015" in done.stdout) == (0, True)
    repository.branch("up", FINISHED.replace("exact one n", "exact one _"))
    assert rules_of(verify(*judge, "--head", "up")) == {"BP008"}


def test_a_blueprinter_begins_from_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository = GitRepository.made(tmp_path / "target", HEADER)
    monkeypatch.chdir(repository.root)
    judge = ("--base", "main", "--branch", "blueprint/init", "--title", "Blueprint")
    repository.branch("draft", BASE)
    assert verify(*judge, "--head", "draft").exit_code == 0
    repository.branch("proofs", FINISHED)
    assert rules_of(verify(*judge, "--head", "proofs")) == {"BP008"}


def test_a_branch_and_a_title_say_the_role_and_the_node(repository: GitRepository):
    repository.branch("work", FINISHED)
    judge = ("--base", "main", "--head", "work", "--branch", "round-1/own")
    assert verify(*judge, "--title", "Complete blueprint node: own").exit_code == 0
    assert verify(*judge, "--title", "Complete blueprint node: goal").exit_code == 2


def test_files_need_not_be_named(repository: GitRepository):
    repository.branch("work", FINISHED)
    arguments = ("blueprint", "verify", "--report", "../report.json", *OFF)
    assert ekiden(*arguments).exit_code == 0
    assert ekiden(*arguments, "--base", "main", "--head", "work", "--role", "worker", "--node", "own").exit_code == 0


def test_modules_are_counted_from_the_folder_of_the_sources(repository: GitRepository):
    files = {
        "src/LeanMarathon/Goal.lean": "\n".join([HEADER.replace("Mathlib", "LeanMarathon.One"), OWN, GOAL]),
        "src/LeanMarathon/One.lean": text_of(EVEN, ONE),
    }
    settings = '[blueprint]\nfiles = ["src/**/*.lean"]\n'
    repository.branch("several", **files, **{"ekiden.toml": settings})
    repository.branch(
        "work",
        start="several",
        **{"src/LeanMarathon/Goal.lean": files["src/LeanMarathon/Goal.lean"].replace(OWN, DONE)},
    )
    arguments = ("blueprint", "verify", "--report", "../report.json", *OFF)
    judge = ("--base", "several", "--head", "work", "--role", "worker", "--node", "own")
    assert "BP804" in rules_of(ekiden(*arguments))
    repository.write("ekiden.toml", settings + 'source_folder = "src"\n')
    for done in (ekiden(*arguments), ekiden(*arguments, *judge)):
        assert (rules_of(done), done.exit_code) == (set(), 0)
        assert report(repository)["files"] == ["src/LeanMarathon/One.lean", "src/LeanMarathon/Goal.lean"]


def test_an_assumption_is_declared_counted_and_shown(repository: GitRepository):
    axiom = node("axiom deep : ∀ n, IsEven n").replace('"def:deep"', '"ax:deep"')
    repository.write(MAIN, text_of(EVEN, axiom, ONE, OWN, GOAL))
    assert "BP202" in rules_of(verify())
    done = verify("--assume", "deep")
    assert "BP202" not in rules_of(done)
    assert "Assumptions declared: 1." in done.stdout
    assert report(repository)["assumptions"] == [{"name": "deep", "present": True}]


@pytest.mark.parametrize("form", ["json", "sarif", "github", "markdown"])
def test_each_format_tells_of_a_breach_by_a_role(repository: GitRepository, form: str):
    repository.branch("work", FINISHED.replace("IsEven 4", "IsEven 2"))
    done = work("work", "--format", form)
    assert done.exit_code == 1
    if form == "json":
        assert json.loads(done.stdout)["findings"][0]["rule"] == "BP003"
    elif form == "sarif":
        run = json.loads(done.stdout)["runs"][0]
        first = run["results"][-1]
        assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"]
        assert "BP003" in {result["ruleId"] for result in run["results"]}
    elif form == "github":
        assert "::error file=LeanMarathon/Main.lean,line=" in done.stdout
    else:
        assert done.stdout.startswith("<!-- verify-blueprint:report -->\n")
        assert "❌ Blueprint not verified" in done.stdout


@pytest.mark.parametrize("form", ["tree", "mermaid", "json"])
def test_the_graph_is_shown(repository: GitRepository, form: str):
    done = ekiden("blueprint", "graph", MAIN, "--format", form, *OFF)
    assert (done.exit_code, done.stderr) == (0, "")
    assert all(name in done.stdout for name in ("goal", "own", "one", "ready", "waiting"))
    output = repository.root / "graph.out"
    ekiden("blueprint", "graph", MAIN, "--format", form, "--output", output, *OFF)
    assert output.read_text("utf-8") == done.stdout


def test_a_graph_without_lean_says_why(repository: GitRepository):
    repository.write(MAIN, "import Nowhere\n" + BASE)
    done = ekiden("blueprint", "graph", MAIN)
    said, _, why = done.stderr.partition("declares. ")
    assert (done.exit_code, said) == (0, "Edges and states are what the text ")
    assert len(why.splitlines()) == 1


def test_the_graph_of_one_node_leaves_out_the_others(repository: GitRepository):
    repository.write(MAIN, text_of(EVEN, ONE, OWN, GOAL, node("theorem aside : True")))
    done = ekiden("blueprint", "graph", MAIN, "--node", "own", *OFF)
    assert ("goal" in done.stdout, "aside" in done.stdout) == (True, False)
    assert ekiden("blueprint", "graph", MAIN, "--node", "nobody", *OFF).exit_code == 2


def test_all_rules_are_told():
    done = ekiden("blueprint", "rules")
    assert all(rule in done.stdout for rule in ("### BP001", "### BP015", "### BP202", "### BP911"))
