"""The journal of a job."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ekiden_jobs import JobsError
from ekiden_jobs.journal import (
    Adopted,
    Cancelled,
    Ended,
    Event,
    Intended,
    Journal,
    Observed,
    Refused,
    Standing,
    Submitted,
    Unclear,
)

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FIRST = Intended(at=AT, attempt=1, name="job.1", executor="slurm")
SECOND = Intended(at=AT, attempt=2, name="job.2", executor="slurm")


def journal_of(tmp_path: Path, *events: Event) -> Journal:
    journal = Journal(tmp_path / "journal.jsonl")
    for event in events:
        journal.add(event)
    return journal


def test_events_come_back_as_they_were_added(tmp_path: Path):
    events: list[Event] = [
        FIRST,
        Unclear(at=AT, attempt=1, text="Socket timed out"),
        Adopted(at=AT, attempt=1, native_id="7"),
        Observed(at=AT, task=3, native_id="8", state="RUNNING", node="n1"),
        Cancelled(at=AT),
        Ended(at=AT, task=3, outcome="cancelled", signal=15, started_at=AT),
    ]
    assert journal_of(tmp_path, *events).events() == events


def test_a_job_nobody_tried_to_submit_stands_nowhere(tmp_path: Path):
    assert journal_of(tmp_path).standing() == Standing()


def test_a_submitted_attempt_has_its_number(tmp_path: Path):
    submitted = Submitted(at=AT, attempt=1, native_id="7")
    assert journal_of(tmp_path, FIRST, submitted).standing() == Standing(FIRST, "7", AT)


def test_an_adopted_attempt_is_no_longer_unclear(tmp_path: Path):
    events = (FIRST, Unclear(attempt=1, text="?"), Adopted(at=AT, attempt=1, native_id="7"))
    assert journal_of(tmp_path, *events).standing() == Standing(FIRST, "7", AT)


def test_the_next_attempt_knows_nothing_of_the_last(tmp_path: Path):
    events = (FIRST, Refused(attempt=1, text="no"), Unclear(attempt=1, text="?"), SECOND)
    assert journal_of(tmp_path, *events).standing() == Standing(SECOND)


def test_tasks_are_told_apart(tmp_path: Path):
    seen = [Observed(at=AT, task=task, native_id="7", state="PENDING") for task in (0, 1)]
    over = Ended(at=AT, task=1, outcome="ok")
    later = Observed(at=AT, task=0, native_id="8", state="RUNNING")
    standing = journal_of(tmp_path, FIRST, *seen, Cancelled(task=1), over, later).standing()
    assert standing == Standing(FIRST, cancelled={1}, observed={0: later, 1: seen[1]}, ended={1: over})


def test_a_damaged_journal_is_told_with_its_file(tmp_path: Path):
    journal = journal_of(tmp_path, FIRST)
    path = tmp_path / "journal.jsonl"
    path.write_text('{"type": "unheard of"}\n' + path.read_text())
    with pytest.raises(JobsError, match=r"journal\.jsonl' cannot be read"):
        journal.standing()
