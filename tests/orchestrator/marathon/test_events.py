"""The event log survives what can happen to a file, and its fold is the state of the run."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import AttemptEnded, AttemptStarted, EventLog, Heartbeat, RunStarted
from ekiden_orchestrator.marathon.state import fold

STARTED = RunStarted(
    versions={"ekiden": "1"},
    solver="somebody",
    built_in=False,
    solver_sha256="00",
    manifest="few",
    manifest_origin="/few.jsonl",
    manifest_sha256="11",
    problems=3,
    budget_seconds=10.0,
    budget_tokens=0,
    budget_origin="as given",
    pool_seconds=None,
)


def ended(attempt: int, reason: str = "exited") -> AttemptEnded:
    return AttemptEnded.model_validate(
        {
            "attempt": attempt,
            "reason": reason,
            "exit_code": 0,
            "wall_seconds": 1.5,
            "sigterm_fired": False,
            "sigkill_fired": False,
            "stderr_tail": "",
            "answer_bytes": 12,
            "notes": (),
        }
    )


HISTORY = [
    STARTED,
    AttemptStarted(attempt=1, wall_seconds=10.0, problems=3),
    Heartbeat(attempt=1, elapsed_seconds=2.0),
    ended(1, "interrupted"),
    AttemptStarted(attempt=2, wall_seconds=8.5, problems=2),
    Heartbeat(attempt=2, elapsed_seconds=0.5),
]


def written(path: Path) -> bytes:
    with EventLog.open(path, create=True) as log:
        for event in HISTORY:
            log.append(event)
    return path.read_bytes()


@given(st.data())
def test_a_log_cut_anywhere_opens_with_the_events_that_were_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    whole = written(path)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    with EventLog.open(path, create=False) as log:
        assert log.events == HISTORY[:kept]
        assert log.repaired_bytes == cut - (whole[:cut].rfind(b"\n") + 1)
        log.append(ended(1))
    with EventLog.open(path, create=False) as log:
        assert len(log.events) == kept + 1
        assert log.repaired_bytes == 0


def test_a_hole_where_the_last_line_was_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(written(path) + b"\0" * 100 + b"\n")
    with EventLog.open(path, create=False) as log:
        assert (log.events, log.repaired_bytes) == (HISTORY, 101)


def test_damage_before_the_end_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = written(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + b"".join(lines[2:]))
    with pytest.raises(MarathonError, match=r"events\.jsonl:2: .*damaged"):
        EventLog.open(path, create=False)


def test_a_log_with_events_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    written(tmp_path / "events.jsonl")
    with pytest.raises(MarathonError, match="holds a run already"):
        EventLog.open(tmp_path / "events.jsonl", create=True)


def test_time_used_is_what_attempts_ended_with_or_last_said() -> None:
    state = fold(HISTORY)
    assert state.wall_seconds == 1.5 + 0.5
    assert not state.solver_is_done
    assert fold([*HISTORY, ended(2)]).solver_is_done
    assert not fold([*HISTORY, ended(2, "lost")]).solver_is_done


def test_a_log_without_a_start_is_refused() -> None:
    with pytest.raises(MarathonError, match="start a new one"):
        fold([])
    with pytest.raises(MarathonError, match="starts with 'heartbeat'"):
        fold(HISTORY[2:])
    with pytest.raises(MarathonError, match="attempt 1"):
        fold([STARTED, HISTORY[2]])
