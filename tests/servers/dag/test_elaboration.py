"""A real Lean elaborates a blueprint, and the graph is what it made of it."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import anyio
import psutil
import pytest
from mcp import Client

import lean_stand_ins as stand_ins
from blueprint_graphs import node
from ekiden_blueprint import Project, parse
from ekiden_config import load_settings
from ekiden_dag.elaboration import LeanElaborator
from ekiden_dag.errors import ElaborationError
from ekiden_dag.server import dag_server
from ekiden_dag.snapshot import LeanPart, Snapshot, code_key
from ekiden_kit.build import build_server

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "\n".join(
    [
        "import Architect\n",
        node("def D : Nat := 0"),
        node("lemma a : 0 = 0", body="rfl"),
        node("lemma b : 1 = 1", "lem:a"),
        node("def E : {n : Nat // n = n} := ⟨1, b ▸ rfl⟩"),
    ]
)
SECOND = "\n".join(
    [
        "import First\n",
        node("lemma p : E.1 = E.1", body="rfl").replace("lemma p", "private lemma p"),
        node("theorem t : D = 0 ∧ True", "lem:b", "lem:p"),
        node("theorem u : E.1 = E.1"),
        node("theorem v : True", body="have := @p\n  admit"),
    ]
)


@pytest.mark.lean
@pytest.mark.timeout(600)
def test_edges_states_and_messages_come_from_lean(tmp_path: Path) -> None:
    project = Project([parse(FIRST, "First.lean"), parse(SECOND, "Second.lean")])
    elaborator = LeanElaborator(load_settings().lean, tmp_path)
    try:
        found = elaborator.elaborate(project)
    finally:
        elaborator.close()
    assert found.facts.outcome == "complete", found.facts.message
    snapshot = Snapshot((), project, code_key(project), lean=LeanPart.of_elaboration(found))
    edges = snapshot.graph.edges
    assert edges.parents == {"a": (), "b": ("a",), "p": ("b",), "t": ("b", "p"), "u": ("b",), "v": ("b", "p")}
    assert edges.through_definitions["u"] == ("b",)
    assert (edges.origin, edges.unknown) == ("elaborated", ())
    assert snapshot.progress.states == {
        "a": "proved", "b": "ready", "p": "proved", "t": "waiting", "u": "waiting", "v": "waiting",
    }  # fmt: skip
    places = {(message.path, message.line) for message in found.diagnostics}
    lines = [(file.source.path, file.source.text.split("\n")) for file in project.files]
    sorries = {(path, text.index(f"{start} := by") + 1) for path, text in lines for start in [
        "lemma b : 1 = 1", "theorem t : D = 0 ∧ True", "theorem u : E.1 = E.1", "theorem v : True"
    ] if f"{start} := by" in text}  # fmt: skip
    assert places == sorries


def test_what_was_stopped_is_no_answer_and_the_next_text_gets_one(tmp_path: Path) -> None:
    lean = stand_ins.stand_in_lean(tmp_path / "lean")
    (tmp_path / "lean" / "may-start").touch()
    elaborator = LeanElaborator(
        load_settings({"lean": {"toolchain": "native", "lean": str(lean)}}).lean, tmp_path / "kept"
    )
    stop = Event()
    stop.set()
    project = Project([parse(node("lemma a : True"), "One.lean")])
    try:
        with pytest.raises(ElaborationError, match="no longer wanted"):
            elaborator.elaborate(project, stop)
        assert elaborator.elaborate(project, Event()).facts.outcome == "complete"
    finally:
        elaborator.close()


@pytest.mark.anyio
async def test_a_server_that_ends_while_lean_is_at_work_leaves_no_lean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Main.lean").write_text(node("lemma forever : True"), encoding="utf-8")
    monkeypatch.setenv("DAG_PROJECT_ROOT", str(tmp_path))
    monkeypatch.setenv("DAG_TARGET_FILE", "Main.lean")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lean = stand_ins.stand_in_lean(tmp_path / "lean")
    (tmp_path / "lean" / "may-start").touch()
    settings = load_settings({"lean": {"toolchain": "native", "lean": str(lean)}})
    before = set(psutil.Process().children())
    async with Client(build_server([dag_server()], settings)) as client:
        await client.call_tool("dag_overview")
        with anyio.fail_after(20):
            while not _sleeping():
                await anyio.sleep(0.02)
    with anyio.fail_after(20):
        while set(psutil.Process().children()) - before:  # the thread that asked Lean ends by itself
            await anyio.sleep(0.02)


def _sleeping() -> bool:
    """Tell whether the stand-in is at a text that never ends."""
    names: list[str] = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            names += process.cmdline()
    return "3600" in names


@pytest.mark.lean
@pytest.mark.timeout(600)
def test_an_edit_while_lean_elaborates_ends_that_and_the_new_text_is_elaborated(tmp_path: Path) -> None:
    def project(*nodes: str) -> Project:
        return Project([parse("\n".join(nodes), "One.lean")])

    mended = node("lemma a : True", body="trivial")
    long = [node(f"lemma c{number} : ∀ a b : Fin 20, a = a ∨ a = b", body="decide") for number in range(1500)]
    elaborator = LeanElaborator(load_settings().lean, tmp_path)
    stop = Event()
    try:
        elaborator.elaborate(project(mended))
        warm = set(psutil.Process().children())
        with ThreadPoolExecutor(1) as pool:
            stale = pool.submit(elaborator.elaborate, project(*long), stop)
            cpu_s = _cpu_s(warm)
            while _cpu_s(warm) < cpu_s + 1.0:
                assert not stale.done()
                Event().wait(0.05)
            stop.set()
            with pytest.raises(ElaborationError, match="no longer wanted"):
                stale.result(30)
        assert set(psutil.Process().children()) < warm
        assert elaborator.elaborate(project(mended, node("lemma b : True", body="trivial"))).facts.outcome == "complete"
    finally:
        elaborator.close()


def _cpu_s(wardens: set[psutil.Process]) -> float:
    times = [one.cpu_times() for warden in wardens for one in warden.children(recursive=True)]
    return sum(time.user + time.system for time in times)


def test_without_a_lean_elaborating_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = load_settings({"lean": {"toolchain": "wasm", "home": tmp_path / "none"}}).lean
    elaborator = LeanElaborator(settings, tmp_path / "kept")
    with pytest.raises(ElaborationError, match="ekiden lean install"):
        elaborator.elaborate(Project([parse(FIRST, "First.lean")]))
    elaborator.close()
