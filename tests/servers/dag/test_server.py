"""The proof graph's tools, called by a client in memory."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from blueprint_graphs import HEADER, node, text_of
from ekiden_config import load_settings
from ekiden_dag.errors import ElaborationError
from ekiden_dag.server import dag_server
from ekiden_dag.snapshot import Elaboration
from ekiden_files import write_whole
from ekiden_kit.build import build_server
from ekiden_lean.facts import DeclarationFacts, LeanFacts
from tool_answers import answer, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

    from ekiden_blueprint import Project
    from ekiden_config import Settings
    from ekiden_lean.facts import ProbeOutcome

pytestmark = pytest.mark.anyio

NODES = (
    node("def D : Nat := 0"),
    node("lemma a : True", body="trivial"),
    node("lemma b : True", "lem:a", statement="About \\cref{def:D}."),
    node("def E : Nat := 1"),
    node("theorem t : True", "lem:a", "lem:b"),
)
FACTS = {"D": (), "a": (), "b": ("a",), "E": (), "t": ("b",)}
UNPROVED = {"b", "t"}
TAKEN = {"a": ("Nat.add_comm",), "E": tuple(f"List.fact{number}" for number in range(12))}
"""Library theorems without proofs that declarations rest on."""


class ScriptedLean:
    """Says of any blueprint what it was told to say, when it is let."""

    def __init__(self) -> None:
        self.may_answer = Event()
        self.seen: list[str] = []
        self.stopped = 0
        self.problem = ""
        self.outcome: ProbeOutcome = "complete"

    def elaborate(self, project: Project, stop: Event) -> Elaboration:
        self.seen.append(project.files[0].source.text)
        for _ in range(1000):
            if stop.is_set():
                self.stopped += 1
                raise ElaborationError("It was stopped.")
            if self.may_answer.wait(0.02):
                break
        assert self.may_answer.is_set()
        if self.problem:
            raise ElaborationError(self.problem)
        names = [found.full_name for found in project.nodes]
        facts = [self.fact(name) for name in names] if self.outcome == "complete" else []
        return Elaboration(LeanFacts(self.outcome, "It says so.", plain=True, declarations=tuple(facts)), ())

    @staticmethod
    def fact(name: str) -> DeclarationFacts:
        kind = "def" if name in {"D", "E"} else "theorem"
        sorry = name in UNPROVED
        axioms = ("sorryAx",) if sorry else ()
        return DeclarationFacts(
            name, kind, private=False, type_hash="t", value_hash="v", meaning_hash="m", axioms=axioms,
            unproved=TAKEN.get(name, ()),
            sorry=sorry, own_sorry=sorry, uses_type=(), uses_value=FACTS.get(name, ()),
        )  # fmt: skip

    @contextmanager
    def open(self, settings: Settings, threads: int | None) -> Generator[ScriptedLean]:
        del settings, threads
        try:
            yield self
        finally:
            self.may_answer.set()


@pytest.fixture
def blueprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for prefix in ("", "EKIDEN_", "LEANMARATHON_"):
        for name in ("DAG_PROJECT_ROOT", "DAG_TARGET_FILE", "DAG_TRACKER_LEAN_THREADS"):
            monkeypatch.delenv(prefix + name, raising=False)
    monkeypatch.setenv("DAG_PROJECT_ROOT", str(tmp_path))
    monkeypatch.setenv("DAG_TARGET_FILE", "LeanMarathon/Main.lean")
    file = tmp_path / "LeanMarathon" / "Main.lean"
    file.parent.mkdir()
    file.write_text(text_of(*NODES), encoding="utf-8")
    return file


@pytest.fixture
async def client(blueprint: Path) -> AsyncGenerator[Client]:
    del blueprint
    async with Client(build_server([dag_server(None)], load_settings())) as client:
        yield client


@pytest.fixture
def lean() -> ScriptedLean:
    return ScriptedLean()


@pytest.fixture
async def with_lean(blueprint: Path, lean: ScriptedLean) -> AsyncGenerator[Client]:
    del blueprint
    async with Client(build_server([dag_server(lean.open)], load_settings())) as client:
        yield client


async def verdict(client: Client) -> dict[str, Any]:
    with anyio.fail_after(20):
        return await answer(client, "dag_verify")


async def test_the_four_tools_answer_in_their_exact_shapes(with_lean: Client, lean: ScriptedLean) -> None:
    lean.may_answer.set()
    await verdict(with_lean)
    assert await answer(with_lean, "parent_nodes", lean_name="t") == {
        "target": "t", "parent_nodes": ["b"], "count": 1,
    }  # fmt: skip
    assert await answer(with_lean, "child_nodes", lean_name="a") == {
        "target": "a", "child_nodes": ["b"], "count": 1,
    }  # fmt: skip
    assert await answer(with_lean, "global_definitional_context", lean_name="b") == {
        "target": "b",
        "global_definitional_context": [
            {"lean_name": "D", "label": "def:D", "line": 7, "keyword": "def", "visibility": "visible"},
            {"lean_name": "E", "label": "def:E", "line": 29, "keyword": "def", "visibility": "invisible"},
        ],
        "count": 2,
    }
    assert await answer(with_lean, "admissible_external_nodes", lean_name="b") == {
        "target": "b",
        "admissible_external_nodes": [{"lean_name": "a", "label": "lem:a", "line": 13, "visibility": "visible"}],
        "count": 1,
    }


async def test_without_lean_answers_are_marked_as_declared(client: Client) -> None:
    assert await answer(client, "parent_nodes", lean_name="t") == {
        "target": "t", "parent_nodes": ["a", "b"], "count": 2, "origin": "declared",
    }  # fmt: skip
    assert (await answer(client, "child_nodes", lean_name="a"))["origin"] == "declared"
    assert (await answer(client, "admissible_external_nodes", lean_name="a"))["origin"] == "declared"
    assert (await answer(client, "dag_overview"))["lean"].startswith("No Lean is asked here")


async def test_while_lean_is_at_work_answers_come_from_the_text(with_lean: Client, lean: ScriptedLean) -> None:
    early = await answer(with_lean, "parent_nodes", lean_name="t")
    assert (early["parent_nodes"], early["origin"]) == (["a", "b"], "declared")
    assert (await answer(with_lean, "dag_overview"))["lean"].startswith("Lean is at work")
    lean.may_answer.set()
    assert (await verdict(with_lean))["lean"].startswith("Lean has elaborated the blueprint.")
    assert (await answer(with_lean, "parent_nodes", lean_name="t"))["parent_nodes"] == ["b"]


async def test_an_edit_shows_at_the_next_call_even_if_size_and_time_stay(client: Client, blueprint: Path) -> None:
    import os

    before = blueprint.stat()
    assert (await answer(client, "child_nodes", lean_name="a"))["child_nodes"] == ["b", "t"]
    text = blueprint.read_text(encoding="utf-8").replace("\\cref{lem:a, lem:b}", "\\cref{lem:b, lem:b}")
    blueprint.write_text(text.replace("sorry_using [a, b]", "sorry_using [b, b]"), encoding="utf-8")
    os.utime(blueprint, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert blueprint.stat().st_size == before.st_size
    assert (await answer(client, "child_nodes", lean_name="a"))["child_nodes"] == ["b"]


async def test_an_edit_of_prose_alone_does_not_trigger_lean(
    with_lean: Client, lean: ScriptedLean, blueprint: Path
) -> None:
    lean.may_answer.set()
    await verdict(with_lean)
    text = blueprint.read_text(encoding="utf-8")  # written whole below: Lean would be asked about half a file
    write_whole(blueprint, text.replace("/-- A title -/", "/-- Another name,\nlonger -/").encode())
    report = await answer(with_lean, "dag_node", lean_name="t")
    assert (report["origin"], len(lean.seen)) == ("elaborated", 1)
    assert "Another name" in report["source"]
    write_whole(blueprint, (text + node("lemma z : True")).encode())
    await verdict(with_lean)
    assert len(lean.seen) == 2
    write_whole(blueprint, text.encode())
    assert (await answer(with_lean, "dag_node", lean_name="t"))["origin"] == "elaborated"
    assert len(lean.seen) == 2


async def test_a_change_is_taken_in_without_a_call(with_lean: Client, lean: ScriptedLean, blueprint: Path) -> None:
    lean.may_answer.set()
    await verdict(with_lean)
    text = blueprint.read_text(encoding="utf-8") + node("lemma z : True")
    with anyio.fail_after(20):
        while lean.seen[-1] != text:
            # written again until the watch, which starts in the background, is there to see it
            blueprint.write_text(text, encoding="utf-8")
            await anyio.to_thread.run_sync(Event().wait, 0.05)
    assert len(lean.seen) == 2


async def test_an_edit_while_lean_is_at_work_stops_it_and_the_new_text_is_read(
    with_lean: Client, lean: ScriptedLean, blueprint: Path
) -> None:
    await answer(with_lean, "dag_overview")
    text = blueprint.read_text(encoding="utf-8")
    blueprint.write_text(text + node("lemma z : True"), encoding="utf-8")
    with anyio.fail_after(20):
        while len(lean.seen) < 2:  # the first is never let answer
            await answer(with_lean, "dag_overview")
    assert (lean.seen, lean.stopped) == ([text, text + node("lemma z : True")], 1)
    lean.may_answer.set()
    assert (await verdict(with_lean))["lean"].startswith("Lean has elaborated the blueprint.")
    assert (len(lean.seen), lean.stopped) == (2, 1)


async def test_an_edit_of_prose_while_lean_is_at_work_does_not_stop_it(
    with_lean: Client, lean: ScriptedLean, blueprint: Path
) -> None:
    await answer(with_lean, "dag_overview")
    text = blueprint.read_text(encoding="utf-8")
    blueprint.write_text(text.replace("/-- A title -/", "/-- Another name -/"), encoding="utf-8")
    await answer(with_lean, "dag_overview")
    lean.may_answer.set()
    assert (await verdict(with_lean))["lean"].startswith("Lean has elaborated the blueprint.")
    assert (len(lean.seen), lean.stopped) == (1, 0)


async def test_lean_that_cannot_be_asked_is_told_and_asked_again(with_lean: Client, lean: ScriptedLean) -> None:
    lean.problem = "There is no Lean on this machine."
    lean.may_answer.set()
    told = await verdict(with_lean)
    assert told["verdict"] in {"undecided", "failed"}
    assert told["lean"] == (
        "Lean cannot be asked: There is no Lean on this machine. Edges and states are what the text declares."
    )
    lean.problem = ""
    assert (await verdict(with_lean))["lean"].startswith("Lean has elaborated")


async def test_lean_that_came_to_no_end_leaves_the_text(with_lean: Client, lean: ScriptedLean) -> None:
    lean.outcome = "timeout"
    lean.may_answer.set()
    assert "Lean came to no end (timeout)" in (await verdict(with_lean))["lean"]
    assert (await answer(with_lean, "parent_nodes", lean_name="t"))["origin"] == "declared"


async def test_a_lean_without_the_library_is_as_good_as_none(with_lean: Client, lean: ScriptedLean) -> None:
    lean.outcome = "unavailable"
    lean.may_answer.set()
    told = await verdict(with_lean)
    assert told["lean"].startswith("Lean cannot be asked: It says so.")
    assert not any("BP103" in finding for finding in told["findings"])


async def test_a_node_is_shown_with_the_reasons_for_its_state(client: Client) -> None:
    report = await answer(client, "dag_node", lean_name="t")
    source = report.pop("source")
    assert source == NODES[-1].strip()
    assert report == {
        "place": "LeanMarathon/Main.lean:35-41",
        "state": "waiting",
        "reasons": [
            "Its proof is a placeholder. 't' rests on 'b' (ready) as its text says. That one must be proved first.",
        ],
        "ancestors": ["a (proved)", "b (ready)"],
        "origin": "declared",
        "truncated": False,
    }
    assert (await answer(client, "dag_node", lean_name="D"))["state"] == "definition"


async def test_library_theorems_whose_axioms_do_not_show_are_told(with_lean: Client, lean: ScriptedLean) -> None:
    lean.may_answer.set()
    told = "Their axioms leave out those of 13 library theorems taken as they are."
    assert (await verdict(with_lean))["lean"].endswith(told)
    assert (await answer(with_lean, "dag_overview"))["lean"].endswith(told)
    reasons = {name: (await answer(with_lean, "dag_node", lean_name=name))["reasons"] for name in ("a", "b", "E")}
    assert reasons["a"][-1] == "It rests on 1 library theorem whose axioms this Lean cannot show: 'Nat.add_comm'."
    assert reasons["E"][-1].startswith(
        "It rests on 12 library theorems whose axioms this Lean cannot show: 'List.fact0', "
    )
    assert reasons["E"][-1].endswith(", 'List.fact9' and 2 more.")
    assert not any("library" in reason for reason in reasons["b"])


async def test_the_overview_has_counts_leaves_and_the_critical_path(client: Client) -> None:
    found = await answer(client, "dag_overview")
    del found["lean"]
    assert found == {
        "counts": {"proved": 1, "ready": 1, "waiting": 1, "blocked": 0, "assumption": 0},
        "leaves": ["b"],
        "total": 1,
        "critical_path": ["b", "t"],
        "cycles": [],
        "origin": "declared",
    }


@pytest.mark.parametrize(("form", "begin"), [("tree", "1 proved, 1 ready"), ("mermaid", "flowchart TD"), ("json", "{")])
async def test_the_graph_is_drawn(client: Client, form: str, begin: str) -> None:
    whole = (await answer(client, "dag_draw", form=form))["picture"]
    part = (await answer(client, "dag_draw", form=form, around="a"))["picture"]
    assert whole.startswith(begin)
    assert part.startswith(begin)
    if form == "json":
        assert [found["name"] for found in json.loads(whole)["nodes"]] == ["a", "b", "t"]


async def test_an_svg_picture_is_drawn_where_graphviz_is(client: Client) -> None:
    pytest.importorskip("pygraphviz", reason="SVG is drawn by pygraphviz, an extra")
    assert (await answer(client, "dag_draw", form="svg"))["picture"].startswith("<svg")


async def test_a_picture_too_large_for_an_answer_is_refused_with_the_way_out(client: Client, blueprint: Path) -> None:
    nodes = [node(f"lemma l{place} : True") for place in range(400)]
    blueprint.write_text(text_of(*nodes), encoding="utf-8")
    for form in ("json", "svg"):
        assert "Give 'around'" in await refusal(client, "dag_draw", form=form)
    assert "l7" in (await answer(client, "dag_draw", form="json", around="l7"))["picture"]


async def test_verify_reports_all_findings_together_with_rule_and_place(client: Client, blueprint: Path) -> None:
    bad = node("lemma b : True", title="") + "\naxiom cheat : False\n"
    blueprint.write_text(HEADER + "\n" + bad, encoding="utf-8")
    told = await answer(client, "dag_verify")
    assert told["verdict"] == "failed"
    assert told["total"] >= 2
    assert any("axiom" in finding for finding in told["findings"])
    assert all(finding.startswith("LeanMarathon/Main.lean:") for finding in told["findings"])


async def test_verify_passes_a_good_blueprint_only_when_lean_has_spoken(
    with_lean: Client, lean: ScriptedLean, blueprint: Path
) -> None:
    blueprint.write_text(text_of(node("theorem a : True", body="trivial")), encoding="utf-8")
    lean.problem = "no Lean"
    lean.may_answer.set()
    assert (await verdict(with_lean))["verdict"] == "undecided"
    lean.problem = ""
    told = await verdict(with_lean)
    assert (told["verdict"], [line for line in told["findings"] if " error " in line]) == ("passed", [])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("D", "'D' is declared by `def`, no lemma or theorem"),
        ("lem_a", "No node 'lem_a' in this blueprint"),
        ("", "No node '' in this blueprint"),
    ],
)
@pytest.mark.parametrize(
    "tool", ["parent_nodes", "child_nodes", "global_definitional_context", "admissible_external_nodes"]
)
async def test_a_name_that_is_no_vertex_is_refused(client: Client, tool: str, name: str, words: str) -> None:
    assert words in await refusal(client, tool, lean_name=name)


async def test_an_unknown_name_is_answered_with_the_nearest(client: Client, blueprint: Path) -> None:
    blueprint.write_text(text_of(node("lemma lem_30 : True"), node("lemma lem_31 : True")), encoding="utf-8")
    assert "the nearest are 'lem_31', 'lem_30'" in await refusal(client, "parent_nodes", lean_name="lem_3")


async def test_arguments_are_exactly_the_name(client: Client) -> None:
    assert "'lean_name' is missing" in await refusal(client, "parent_nodes")
    assert "no argument 'depth'" in await refusal(client, "parent_nodes", lean_name="a", depth=1)


async def test_a_file_that_breaks_and_is_mended_is_followed(client: Client, blueprint: Path) -> None:
    text = blueprint.read_text(encoding="utf-8")
    blueprint.write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in await refusal(client, "dag_overview")
    blueprint.unlink()
    assert "Cannot read 'LeanMarathon/Main.lean'" in await refusal(client, "dag_overview")
    blueprint.write_text("/- never closed\n" + text, encoding="utf-8")
    assert (await answer(client, "dag_overview"))["total"] == 0
    blueprint.write_text(text, encoding="utf-8")
    assert (await answer(client, "dag_overview"))["leaves"] == ["b"]


async def test_a_file_swapped_for_a_link_is_not_read(client: Client, blueprint: Path, tmp_path: Path) -> None:
    await answer(client, "dag_overview")
    elsewhere = tmp_path / "secret.lean"
    blueprint.rename(elsewhere)
    blueprint.symlink_to(elsewhere)
    assert "leads elsewhere by a link" in await refusal(client, "dag_overview")


async def test_many_callers_at_once_get_the_same_answer(client: Client) -> None:
    answers: list[dict[str, Any]] = []

    async def ask() -> None:
        answers.append(await answer(client, "dag_overview"))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(ask)
    assert len(answers) == 20
    assert all(found == answers[0] for found in answers)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"DAG_TARGET_FILE": ""}, "DAG_TARGET_FILE is not set. Set it to the blueprint's file"),
        ({"DAG_TARGET_FILE": "Gone.lean"}, "DAG_TARGET_FILE names 'Gone.lean', and there is no such file"),
        ({"DAG_TARGET_FILE": "../outside.lean"}, "does not lie in the project's folder"),
        ({"DAG_PROJECT_ROOT": "/no/such/folder"}, "DAG_PROJECT_ROOT names 'folder', which is no folder"),
        ({"DAG_TRACKER_LEAN_THREADS": "many"}, "DAG_TRACKER_LEAN_THREADS is 'many'; set it to a number from 1 to 256"),
        ({"DAG_TRACKER_LEAN_THREADS": "0"}, "DAG_TRACKER_LEAN_THREADS is '0'"),
    ],
)
async def test_a_wrong_configuration_is_told_at_each_call_until_it_is_mended(
    blueprint: Path, lean: ScriptedLean, monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], words: str
) -> None:
    del blueprint
    kept = {"DAG_PROJECT_ROOT", "DAG_TARGET_FILE"}
    with monkeypatch.context() as wrong:
        for name, value in changes.items():
            wrong.setenv(name, value)
        async with Client(build_server([dag_server(lean.open)], load_settings())) as client:
            assert words in await refusal(client, "dag_overview")
            assert words in await refusal(client, "parent_nodes", lean_name="a")
            for name in changes:
                wrong.undo() if name in kept else wrong.delenv(name)
            assert (await answer(client, "dag_overview"))["leaves"] == ["b"]


async def test_variables_for_all_of_ekiden_stand_in_for_the_servers_own(
    blueprint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(blueprint.parents[1])
    for name in ("DAG_PROJECT_ROOT", "DAG_TARGET_FILE"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("EKIDEN_DAG_PROJECT_ROOT", root)
    monkeypatch.setenv("LEANMARATHON_DAG_TARGET_FILE", "LeanMarathon/Main.lean")
    async with Client(build_server([dag_server(None)], load_settings())) as client:
        assert (await answer(client, "dag_overview"))["leaves"] == ["b"]


async def test_a_blueprint_may_have_several_files(blueprint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = blueprint.with_name("More.lean")
    more.write_text(node("theorem u : True", "thm:t"), encoding="utf-8")
    monkeypatch.setenv("DAG_TARGET_FILE", "LeanMarathon/Main.lean, LeanMarathon/More.lean")
    async with Client(build_server([dag_server(None)], load_settings())) as client:
        assert (await answer(client, "parent_nodes", lean_name="u"))["parent_nodes"] == ["t"]
        assert (await answer(client, "dag_node", lean_name="u"))["place"].startswith("LeanMarathon/More.lean:1-")


async def test_modules_are_counted_from_the_folder_of_the_sources(
    blueprint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = blueprint.parents[1] / "src" / "LeanMarathon"
    folder.mkdir(parents=True)
    shutil.copy(blueprint, folder)
    header = HEADER.replace("Mathlib", "LeanMarathon.Main")
    (folder / "More.lean").write_text(header + node("theorem u : True", "thm:t"), encoding="utf-8")
    monkeypatch.setenv("DAG_TARGET_FILE", "src/LeanMarathon/Main.lean, src/LeanMarathon/More.lean")
    told: list[str] = []
    for source_folder in ("", "src"):
        settings = load_settings({"blueprint": {"source_folder": source_folder}})
        async with Client(build_server([dag_server(None)], settings)) as client:
            told.append(str((await answer(client, "dag_verify"))["findings"]))
    assert "BP804" in told[0]
    assert "BP804" not in told[1]
