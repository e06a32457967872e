"""How a job ended, who runs it, and how often others are asked."""

import itertools
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.job_states import STATES, Outcome, Phase, meaning
from ekiden_policies.jobs import (
    EndRecord,
    Found,
    Reconciliation,
    Seen,
    decide_forgotten,
    decide_outcome,
    decide_submission,
    may_submit_at,
    next_pause,
    rest_after,
    summarize,
)

DONE = EndRecord("7", 0, 0, None)
FAILED = EndRecord("7", 0, 3, None)
TOLD = EndRecord("7", 0, 0, None, heard=("SIGTERM",))

records = st.builds(
    EndRecord,
    native_id=st.just("7"),
    restarts=st.integers(0, 3),
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    limit=st.sampled_from(["", "time", "memory"]),
    heard=st.lists(st.sampled_from(["SIGUSR1", "SIGTERM", "SIGINT"]), max_size=3).map(tuple),
)
sights = st.builds(
    Seen,
    state=st.sampled_from(sorted(STATES)) | st.text(max_size=8),
    reason=st.sampled_from(["", "NonZeroExitCode", "BadConstraints", "OutOfMemory"]),
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(0, 70),
    restarts=st.integers(0, 3),
    never_ran=st.booleans(),
)


def outcome(record: EndRecord | None, seen: Seen | None) -> Outcome | None:
    decided = decide_outcome(record, seen)
    return None if decided is None else decided[0]


def test_a_job_of_which_nothing_is_known_has_not_ended() -> None:
    assert decide_outcome(None, None) is None


@given(st.text())
def test_an_unknown_word_alone_never_ends_a_job(word: str) -> None:
    if meaning(word).phase != "ended":
        assert decide_outcome(None, Seen(word)) is None


@given(st.none() | records, st.none() | sights)
def test_every_end_has_a_reason_in_a_sentence(record: EndRecord | None, seen: Seen | None) -> None:
    decided = decide_outcome(record, seen)
    assert decided is None or (decided[0] in get_args(Outcome) and decided[1].endswith("."))
    assert decide_forgotten(record)[1].endswith(".")


@given(st.sampled_from(sorted(STATES)), st.text())
def test_a_program_that_says_it_succeeded_unbidden_is_believed(word: str, reason: str) -> None:
    assert outcome(DONE, Seen(word, reason)) == "ok"


@given(st.none() | records, st.none() | sights)
def test_nothing_succeeds_that_neither_the_program_nor_the_system_says_did(
    record: EndRecord | None, seen: Seen | None
) -> None:
    if outcome(record, seen) == "ok":
        assert (record is not None and record.exit_code == 0) or (seen is not None and seen.state == "COMPLETED")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("TIMEOUT", "time_limit"), ("PREEMPTED", "preempted"), ("CANCELLED by 0", "cancelled"), ("COMPLETED", "ok")],
)
def test_a_program_that_ended_well_because_it_was_told_to_is_judged_by_the_system(word: str, expected: Outcome) -> None:
    assert outcome(TOLD, Seen(word)) == expected


def test_a_program_told_to_end_has_not_ended_before_the_system_says_why() -> None:
    cut = EndRecord("7", 0, None, 15, heard=("SIGTERM",))
    assert outcome(cut, None) is None
    assert outcome(TOLD, None) is None
    assert outcome(cut, Seen("COMPLETING")) is None
    assert outcome(cut, Seen("PENDING", "BeginTime", restarts=1)) is None


def test_a_program_that_ended_by_itself_has_ended_though_the_system_lags() -> None:
    assert decide_outcome(FAILED, Seen("RUNNING")) == ("failed", "It exited with code 3.")
    assert decide_outcome(FAILED, None) == ("failed", "It exited with code 3.")
    assert outcome(DONE, Seen("RUNNING")) == "ok"


def test_a_signal_that_nobody_explains_is_named() -> None:
    assert decide_outcome(EndRecord("7", 0, None, 9), None) == ("failed", "SIGKILL ended it.")
    assert decide_outcome(None, Seen("FAILED", "JobLaunchFailure", 0, 9)) == ("failed", "SIGKILL ended it.")
    assert decide_outcome(None, Seen("FAILED", "", None, 99)) == ("failed", "signal 99 ended it.")


def test_the_bound_at_which_the_runner_ended_a_program_counts_whatever_its_code() -> None:
    assert outcome(EndRecord("7", 0, 0, None, "time"), Seen("COMPLETED")) == "time_limit"
    assert outcome(EndRecord("7", 0, None, 9, "memory"), Seen("FAILED")) == "memory"


def test_the_end_of_an_earlier_run_counts_only_if_the_work_was_done() -> None:
    again = Seen("PENDING", "BeginTime", restarts=1)
    assert outcome(DONE, again) == "ok"
    assert outcome(FAILED, again) is None
    assert outcome(TOLD, again) is None
    assert outcome(EndRecord("7", 1, 3, None), again) == "failed"


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (Seen("COMPLETED", exit_code=0), "ok"),
        (Seen("FAILED", "NonZeroExitCode", 3), "failed"),
        (Seen("FAILED", "BadConstraints", 0, 1, never_ran=True), "rejected"),
        (Seen("FAILED", "Exceeded job memory limit", 0, 9), "memory"),
        (Seen("OUT_OF_MEMORY", exit_code=0, signal=125), "memory"),
        (Seen("TIMEOUT"), "time_limit"),
        (Seen("DEADLINE"), "time_limit"),
        (Seen("NODE_FAIL"), "node_failure"),
        (Seen("BOOT_FAIL"), "node_failure"),
        (Seen("PREEMPTED"), "preempted"),
        (Seen("CANCELLED by 0", never_ran=True), "cancelled"),
    ],
)
def test_without_a_record_the_system_is_believed(seen: Seen, expected: Outcome) -> None:
    assert outcome(None, seen) == expected


def test_a_failed_program_is_judged_by_what_the_system_did_to_it() -> None:
    assert outcome(FAILED, Seen("TIMEOUT")) == "time_limit"
    assert outcome(FAILED, Seen("COMPLETED")) == "failed"
    assert outcome(EndRecord("7", 0, None, 15, heard=("SIGTERM",)), Seen("CANCELLED")) == "cancelled"


def test_a_job_that_the_system_has_forgotten_is_judged_by_its_record() -> None:
    assert decide_forgotten(None)[0] == "lost"
    assert decide_forgotten(DONE)[0] == "ok"
    assert decide_forgotten(FAILED)[0] == "failed"
    assert decide_forgotten(TOLD)[0] == "cancelled"
    assert decide_forgotten(EndRecord("7", 0, None, 15, heard=("SIGUSR1", "SIGTERM")))[0] == "time_limit"


found_jobs = st.lists(
    st.builds(
        Found,
        native_id=st.integers(1, 12).map(str),
        state=st.sampled_from(["PENDING", "RUNNING", "COMPLETED", "CANCELLED", "FAILED"]),
        never_ran=st.booleans(),
    ),
    max_size=5,
    unique_by=lambda job: job.native_id,
)


def reconcile(
    found: list[Found], claimed_by: str = "", absent_s: float = 0.0, attempt: int = 1, attempts: int = 3
) -> Reconciliation:
    return decide_submission(
        found, claimed_by=claimed_by, absent_s=absent_s, settled_after_s=40.0, attempt=attempt, attempts=attempts
    )


def test_the_one_job_of_the_name_is_adopted() -> None:
    assert reconcile([Found("12", "PENDING")]) == Reconciliation("adopt", "12")


def test_of_several_jobs_the_first_is_adopted_and_what_may_run_is_cancelled() -> None:
    found = [
        Found("100", "PENDING"),
        Found("20", "RUNNING"),
        Found("9", "FAILED", never_ran=True),
        Found("30", "FAILED"),
    ]
    assert reconcile(found) == Reconciliation("adopt", "20", ("100",))


def test_the_job_that_has_begun_to_run_is_adopted_before_earlier_ones() -> None:
    found = [Found("20", "PENDING"), Found("21", "RUNNING")]
    assert reconcile(found, claimed_by="21") == Reconciliation("adopt", "21", ("20",))
    assert reconcile([], claimed_by="21", absent_s=1e9) == Reconciliation("adopt", "21")


def test_a_job_that_was_turned_away_after_it_got_a_number_was_rejected() -> None:
    assert reconcile([Found("12", "FAILED", never_ran=True)]) == Reconciliation("rejected", "12")


def test_nothing_is_submitted_again_before_a_late_job_could_no_longer_come() -> None:
    assert reconcile([], absent_s=40.0) == Reconciliation("wait")
    assert reconcile([], absent_s=40.1) == Reconciliation("again")
    assert reconcile([], absent_s=40.1, attempt=3) == Reconciliation("give_up")


@given(found_jobs, st.sampled_from(["", "3", "20"]), st.floats(0, 100), st.integers(1, 4), st.randoms())
def test_whatever_is_found_at_most_one_job_may_run_on(
    found: list[Found], claimed_by: str, absent_s: float, attempt: int, order: Random
) -> None:
    decision = reconcile(found, claimed_by, absent_s, attempt)
    alive = {job.native_id for job in found if meaning(job.state).phase != "ended" and not job.never_ran}
    if decision.action == "adopt":
        assert alive - set(decision.cancel) <= {decision.native_id}
        assert decision.native_id not in decision.cancel
    else:
        assert not alive
    if decision.action in {"wait", "again", "give_up"}:
        assert not found
        assert not claimed_by
    shuffled = list(found)
    order.shuffle(shuffled)
    again = reconcile(shuffled, claimed_by, absent_s, attempt)
    assert again == decision


def test_looking_takes_no_more_than_its_share_of_the_time() -> None:
    assert rest_after(0.0, 0.1) == 0.0
    assert rest_after(2.0, 0.1) == pytest.approx(18.0)
    assert rest_after(3.0, 0.5) == pytest.approx(3.0)


def test_pauses_grow_to_the_longest_and_start_again_with_news() -> None:
    pauses = list(
        itertools.accumulate(
            range(8), lambda pause, _: next_pause(pause, changed=False, shortest_s=2.0, longest_s=20.0), initial=2.0
        )
    )
    assert pauses == sorted(pauses)
    assert pauses[1:3] == [3.0, 4.5]
    assert pauses[-1] == 20.0
    assert next_pause(20.0, changed=True, shortest_s=2.0, longest_s=20.0) == 2.0


@given(st.floats(0, 100), st.booleans())
def test_a_pause_lies_between_its_bounds(pause_s: float, changed: bool) -> None:
    assert 1.0 <= next_pause(pause_s, changed=changed, shortest_s=1.0, longest_s=30.0) <= 30.0


@given(st.lists(st.floats(0, 300), max_size=40).map(sorted), st.integers(1, 10))
def test_no_minute_sees_more_submissions_than_it_may(arrivals: list[float], per_minute: int) -> None:
    times: list[float] = []
    now = 0.0
    for arrival in arrivals:
        now = may_submit_at(times, max(now, arrival), per_minute)
        times.append(now)
    for first, last in zip(times, times[per_minute:], strict=False):
        assert last >= first + 60.0


def test_nobody_waits_while_the_minute_has_room() -> None:
    assert may_submit_at([], 5.0, 1) == 5.0
    assert may_submit_at([0.0, 1.0], 5.0, 3) == 5.0
    assert may_submit_at([1.0, 0.0], 5.0, 2) == 60.0
    assert may_submit_at([0.0], 61.0, 1) == 61.0


def test_a_clock_set_back_costs_a_minute_at_most() -> None:
    assert may_submit_at([10_000.0], 5.0, 1) == 65.0


def test_an_array_ends_with_its_last_task_and_tells_its_first_failure() -> None:
    assert summarize([("ended", "ok"), ("ended", "ok")]) == ("ended", "ok")
    assert summarize([("ended", "ok"), ("ended", "memory"), ("ended", "failed")]) == ("ended", "memory")
    assert summarize([("ended", "failed"), ("pending", None)]) == ("running", None)
    assert summarize([("unsubmitted", None), ("pending", None)]) == ("pending", None)
    assert summarize([("unsubmitted", None)]) == ("unsubmitted", None)
    assert summarize([("running", None), ("pending", None)]) == ("running", None)


@given(st.lists(st.sampled_from(get_args(Phase)), min_size=1))
def test_an_array_has_ended_exactly_when_all_its_tasks_have(phases: list[Phase]) -> None:
    whole = summarize([(phase, "ok" if phase == "ended" else None) for phase in phases])
    assert (whole == ("ended", "ok")) == all(phase == "ended" for phase in phases)
