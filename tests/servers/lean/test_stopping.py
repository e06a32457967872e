"""Stopping Lean when nobody wants its answer any more; the `lean` here is a stand-in that only takes jobs."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import psutil
import pytest

import lean_stand_ins as stand_ins
from ekiden_config import default_settings
from ekiden_lean import LeanFacts, LeanLimits, LeanProbe, LeanStoppedError, ProofChecker, Toolchain, find_toolchain
from ekiden_lean.worker import Job, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PLAIN, ALONE = "-- {}", "-- {}\nmacro"
"""Texts for a process that others share, and for one of their own."""


@pytest.fixture
def toolchain(tmp_path: Path) -> Toolchain:
    lean = stand_ins.stand_in_lean(tmp_path / "lean")
    (tmp_path / "lean" / "may-start").touch()
    return find_toolchain(default_settings().lean.model_copy(update={"toolchain": "native", "lean": str(lean)}))


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the folders of jobs made here."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def probe(toolchain: Toolchain, jobs: Path) -> Iterator[LeanProbe]:
    with LeanProbe(toolchain, LeanLimits(cpu_s=60.0)) as probe:
        yield probe


def processes() -> set[psutil.Process]:
    """Return the warden of each Lean."""
    children = psutil.Process().children()
    return {child for child in children if any("ekiden_warden" in part for part in _command(child))}


def at_work() -> bool:
    """Tell whether a Lean is at the text that never ends."""
    return any("3600" in command for process in psutil.Process().children(True) for command in _command(process))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def until(true: Callable[[], object]) -> None:
    for _ in range(1000):
        if true():
            return
        Event().wait(0.02)
    raise AssertionError("It did not come true within 20 s.")


def stopped(probe: LeanProbe, code: str, when: Callable[[], object]) -> None:
    """Probe a text, stop that when something is true, and see it stop."""
    stop = Event()
    with ThreadPoolExecutor(1) as pool:
        under_way: Future[LeanFacts] = pool.submit(probe.probe, code, stop=stop)
        until(lambda: under_way.done() or when())
        assert not under_way.done()
        stop.set()
        with pytest.raises(LeanStoppedError):
            under_way.result(20)


@pytest.mark.parametrize("text", [PLAIN, ALONE])
def test_a_process_at_work_on_a_text_is_gone_once_it_is_stopped(probe: LeanProbe, jobs: Path, text: str) -> None:
    probe.probe(PLAIN.format("first"))
    warm = processes()
    stopped(probe, text.format("forever"), at_work)
    assert not at_work()
    left = processes()
    # the one that had the text is gone with its folder; all that had not are warm still
    assert left < warm if text == PLAIN else left == warm
    assert len(list(jobs.iterdir())) == (1 if text == PLAIN else 2)
    assert probe.probe(text.format("next")).outcome == "complete"
    assert left <= processes()


@pytest.mark.parametrize("text", [PLAIN, ALONE])
def test_a_process_that_only_starts_is_kept_for_the_next_text(probe: LeanProbe, tmp_path: Path, text: str) -> None:
    (tmp_path / "lean" / "may-start").unlink()
    stopped(probe, text.format("forever"), lambda: len(processes()) == 2)
    starting = processes()
    (tmp_path / "lean" / "may-start").touch()
    assert probe.probe(text.format("next")).outcome == "complete"
    assert processes() <= starting


def test_what_is_stopped_before_it_begins_starts_no_job(toolchain: Toolchain, jobs: Path) -> None:
    stop = Event()
    stop.set()
    with Worker(toolchain, "check", LeanLimits()) as worker:
        with pytest.raises(LeanStoppedError):
            worker.work(Job((), (), "", "", "", "0"), stop)
        assert list(jobs.glob("*/*.job")) == []
        assert worker.work(Job((), (), "", "", "", "0")).ending == "done"


def test_closing_ends_what_was_kept(toolchain: Toolchain, jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "lean" / "may-start").unlink()
    with LeanProbe(toolchain) as probe:
        stopped(probe, ALONE.format("forever"), lambda: len(processes()) == 2)
    assert (processes(), list(jobs.iterdir())) == (set(), [])


def test_the_probe_and_the_checker_of_one_lean_say_that_they_are_the_same(toolchain: Toolchain) -> None:
    checker, probe = ProofChecker(toolchain), LeanProbe(toolchain)
    assert probe.identity.startswith(checker.identity)
    assert toolchain.identity in checker.identity
    changed = [LeanLimits(cpu_s=1.0), LeanLimits(wall_factor=9.0), LeanLimits(memory_bytes=1 << 30)]
    assert len({ProofChecker(toolchain, limits).identity for limits in [LeanLimits(), *changed]}) == 4
