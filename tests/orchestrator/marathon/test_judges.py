"""Which judge a run has, what happens when it fails or is interrupted, and that it does nothing twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from command_line import ekiden
from ekiden_config import JudgeName, Settings
from ekiden_judge import CheckItem, CheckResult, JudgeInfrastructureError, Limits
from ekiden_judge.checker import Done
from ekiden_judge.choice import Judge
from ekiden_orchestrator.marathon.events import Judged, RunFinished, RunStarted, read_events
from ekiden_orchestrator.marathon.run import (
    Request,
    RunInterrupted,
    RunStopped,
    resume_run,
    score_foreign,
    score_run,
    start_run,
)
from ekiden_orchestrator.marathon.summary import Summary
from marathon_bed import Bed

ANSWER_ALL = 'for id in ids:\n    answer(id, "true", "theorem submission : Goal := " + id)'


@dataclass
class Bailiff:
    """A checker that accepts everything, up to a point; remembers what it was asked."""

    identity: str = "bailiff 1"
    fails_at: int | None = None
    failure: BaseException = field(default_factory=lambda: JudgeInfrastructureError("The bailiff is ill."))
    asked: list[str] = field(default_factory=list[str])
    opened: list[JudgeName] = field(default_factory=list[JudgeName])
    name: str = "bailiff"

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        results: list[CheckResult] = []
        for place, item in enumerate(items):
            if len(self.asked) == self.fails_at:
                raise self.failure
            self.asked.append(item.problem.id)
            results.append(CheckResult("ACCEPTED", "So be it.", axioms=("propext",), declarations=("Eq.trans",)))
            if done is not None:
                done(place, results[-1])
        return results

    @contextmanager
    def choose(self, name: JudgeName, settings: Settings) -> Generator[Judge]:
        del settings
        self.opened.append(name)
        yield Judge(name, self, Limits())


def run(bed: Bed, bailiff: Bailiff, *, judge: JudgeName | None = "lean", score: bool = True) -> Summary:
    request = Request(
        solver=bed.solver(ANSWER_ALL),
        manifest=bed.manifest(1, 2, 3, 4, 5),
        budget_seconds=30,
        output_dir=bed.run_folder,
        judge=judge,
    )
    return start_run(request, bed.settings, bed.display, score=score, choose=bailiff.choose)


def judged(bed: Bed) -> list[str]:
    return [event.problem for event in read_events(bed.run_folder / "events.jsonl") if isinstance(event, Judged)]


def numbers(*wanted: int) -> list[str]:
    return [f"normal_{number:04}" for number in wanted]


def test_the_judge_is_recorded_and_what_proofs_rest_on_is_in_the_summary(bed: Bed) -> None:
    summary = run(bed, Bailiff())
    assert (summary.score, summary.judge, summary.judge_identity) == (5, "lean", "bailiff 1 sizes=50000/10000")
    assert {(result.checker, result.axioms, result.declarations) for result in summary.per_problem} == {
        ("bailiff", ("propext",), ("Eq.trans",))
    }
    events = read_events(bed.run_folder / "events.jsonl")
    assert [event.judge for event in events if isinstance(event, RunStarted)] == ["lean"]
    assert [(event.judge_name, event.judge) for event in events if isinstance(event, RunFinished)] == [
        ("lean", "bailiff 1 sizes=50000/10000")
    ]
    assert "  Judge:    lean\n" in bed.printed
    assert "  Axioms:        propext in 5 accepted answers\n" in bed.printed


def test_the_settings_name_the_judge_of_a_run_that_names_none(bed: Bed) -> None:
    bailiff = Bailiff()
    chosen = bed.settings.judge.model_copy(update={"default": "cross"})
    bed.settings = bed.settings.model_copy(update={"judge": chosen})
    assert run(bed, bailiff, judge=None).judge == "cross"
    assert bailiff.opened == ["cross"]


def test_a_judge_that_cannot_be_had_is_found_before_anything_is_made(bed: Bed) -> None:
    @contextmanager
    def nobody(name: JudgeName, settings: Settings) -> Generator[Judge]:
        del settings
        raise JudgeInfrastructureError(f"There is no {name}.")
        yield

    request = Request(
        solver=bed.solver("open(os.path.join(os.path.dirname(output), 'ran'), 'w')"),
        manifest=bed.manifest(1),
        budget_seconds=30,
        output_dir=bed.run_folder,
        judge="lean",
    )
    with pytest.raises(JudgeInfrastructureError, match=r"There is no lean\."):
        start_run(request, bed.settings, bed.display, choose=nobody)
    assert not bed.run_folder.exists()
    assert start_run(request, bed.settings, bed.display, score=False, choose=nobody).score is None


def test_an_interrupted_judge_goes_on_where_it_was(bed: Bed) -> None:
    with pytest.raises(RunInterrupted, match="--resume"):
        run(bed, Bailiff(fails_at=2, failure=KeyboardInterrupt()))
    assert judged(bed) == numbers(1, 2)
    bailiff = Bailiff()
    assert resume_run(bed.run_folder, bed.settings, bed.display, choose=bailiff.choose).score == 5
    assert bailiff.asked == numbers(3, 4, 5)
    assert bailiff.opened == ["lean"]
    assert judged(bed) == numbers(1, 2, 3, 4, 5)


KILLED = """
import os, signal, sys
from pathlib import Path
from rich.console import Console
from ekiden_config import load_settings
from ekiden_orchestrator.marathon.display import Display
from ekiden_orchestrator.marathon.run import score_run
from test_judges import Bailiff

class Deadly(Bailiff):
    def check_batch(self, items, *, done=None):
        def last_will(place, result):
            done(place, result)
            if place == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().check_batch(items, done=last_will)

score_run(Path(sys.argv[1]), load_settings(), Display(Console()), choose=Deadly().choose)
"""


def test_a_judge_killed_by_kill_9_has_lost_nothing_that_it_said(bed: Bed) -> None:
    run(bed, Bailiff(), score=False)
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parents[1]), *sys.path])
    command = [sys.executable, "-c", KILLED, str(bed.run_folder)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert judged(bed) == numbers(1, 2, 3)
    bailiff = Bailiff()
    assert score_run(bed.run_folder, bed.settings, bed.display, choose=bailiff.choose).score == 5
    assert bailiff.asked == numbers(4, 5)


def test_a_judge_that_falls_ill_leaves_what_it_said_and_harness_errors(bed: Bed) -> None:
    summary = run(bed, Bailiff(fails_at=2))
    assert (summary.score, summary.harness_errors, summary.attempted) == (2, 3, 2)
    assert {result.message for result in summary.per_problem if result.status == "harness_error"} == {
        "The judge failed, which says nothing about the answer: The bailiff is ill."
    }
    assert "JudgeInfrastructureError" in (bed.run_folder / "run.log").read_text(encoding="utf-8")
    bailiff = Bailiff()
    assert resume_run(bed.run_folder, bed.settings, bed.display, choose=bailiff.choose).score == 5
    assert bailiff.asked == numbers(3, 4, 5)


class Squeamish(Bailiff):
    """Crashes at one answer, and takes its batch along."""

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        if any(item.problem.id == "normal_0002" for item in items):
            super().check_batch(items[:1] if len(items) > 1 else [], done=done)
            raise RuntimeError("boo")
        return super().check_batch(items, done=done)


def test_an_answer_that_crashes_the_judge_takes_no_other_along(bed: Bed) -> None:
    summary = run(bed, Squeamish())
    assert [(result.id, result.status) for result in summary.per_problem] == [
        (name, "harness_error" if name == "normal_0002" else "accepted") for name in numbers(1, 2, 3, 4, 5)
    ]


def test_a_full_disk_while_recording_a_verdict_stops_the_run_and_is_no_harness_error(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bailiff = Bailiff()
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if b'"judged"' in data and len(bailiff.asked) == 3:
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RunStopped, match="No space left"):
            run(bed, bailiff)
    assert judged(bed) == numbers(1, 2)
    resumed = Bailiff()
    assert resume_run(bed.run_folder, bed.settings, bed.display, choose=resumed.choose).score == 5
    assert resumed.asked == numbers(3, 4, 5)


def test_another_judge_or_another_version_of_it_judges_anew(bed: Bed) -> None:
    run(bed, Bailiff())
    newer, other = Bailiff(identity="bailiff 2"), Bailiff(identity="usher 1")
    score_run(bed.run_folder, bed.settings, bed.display, choose=newer.choose)
    assert (newer.opened, newer.asked) == (["lean"], numbers(1, 2, 3, 4, 5))
    summary = score_run(bed.run_folder, bed.settings, bed.display, judge="coq", choose=other.choose)
    assert (summary.judge, summary.judge_identity) == ("coq", "usher 1 sizes=50000/10000")
    assert other.opened == ["coq"]
    again = Bailiff()
    assert score_run(bed.run_folder, bed.settings, bed.display, judge="lean", choose=again.choose).score == 5
    assert again.asked == []


def test_a_finished_run_is_shown_again_without_its_judge(bed: Bed) -> None:
    first = run(bed, Bailiff())
    bailiff = Bailiff(identity="bailiff 2")
    assert resume_run(bed.run_folder, bed.settings, bed.display, choose=bailiff.choose) == first
    assert (bailiff.opened, bailiff.asked) == ([], [])


def test_a_run_of_an_earlier_version_is_still_read(bed: Bed) -> None:
    run(bed, Bailiff(), judge="exact")
    path = bed.run_folder / "events.jsonl"
    old: list[dict[str, object]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        match event["type"]:
            case "run_started":
                del event["judge"]
            case "run_finished":
                del event["judge_name"], event["judge"]
            case "judged":
                event["judge"] = "exact 0.1.0 50000/10000"
                for name in ("axioms", "declarations", "diagnostics", "left_out"):
                    del event["verdict"][name]
            case _:
                pass
        old.append(event)
    path.write_text("".join(json.dumps(event) + "\n" for event in old), encoding="utf-8")
    bailiff = Bailiff()
    assert resume_run(bed.run_folder, bed.settings, bed.display, choose=bailiff.choose).score == 5
    assert bailiff.opened == ["exact"]


def test_a_foreign_folder_is_judged_by_the_judge_that_is_named(bed: Bed) -> None:
    run(bed, Bailiff(), score=False)
    foreign = bed.root / "foreign"
    foreign.mkdir()
    (foreign / "answers.jsonl").write_bytes((bed.run_folder / "answers.jsonl").read_bytes())
    bailiff = Bailiff()
    manifest = bed.manifest(1, 2, 3, 4, 5)
    summary = score_foreign(foreign, manifest, bed.settings, bed.display, judge="coq", choose=bailiff.choose)
    assert (summary.score, summary.judge, bailiff.opened) == (5, "coq", ["coq"])


def test_a_judge_that_there_is_not_is_refused(bed: Bed) -> None:
    done = ekiden("marathon", "run", "--manifest", bed.manifest(1), "--judge", "oracle")
    assert (done.exit_code, done.stderr) == (
        2,
        "ekiden: There is no judge 'oracle'; choose one of exact, lean, coq, cross.\n",
    )


def test_a_resumed_run_keeps_its_judge(bed: Bed) -> None:
    done = ekiden("marathon", "run", "--resume", bed.run_folder, "--judge", "exact")
    assert done.exit_code == 2
    assert "keeps its solver, manifest, budget, model, judge and folder" in done.stderr
