"""What Slurm's words mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.job_states import STATES, UNKNOWN, meaning, state_word, waits_for_ever

WORDS = st.sampled_from(sorted(STATES))


@pytest.mark.parametrize("printed", ["CANCELLED", "CANCELLED by 0", "CANCELLED by 65534", "CANCELLED+", "cancelled"])
def test_a_cancelled_job_is_known_however_slurm_prints_it(printed: str) -> None:
    assert meaning(printed) == ("ended", "cancelled")


@given(WORDS, st.sampled_from(["", "+", " by 1000", "*"]))
def test_what_slurm_adds_to_a_word_does_not_change_it(word: str, added: str) -> None:
    assert state_word(word + added) == word


@given(st.text())
def test_a_word_that_is_not_in_the_table_is_never_an_end(word: str) -> None:
    if state_word(word) not in STATES:
        assert meaning(word) == UNKNOWN
        assert meaning(word).phase is None


@given(WORDS)
def test_a_word_tells_an_outcome_exactly_when_it_tells_an_end(word: str) -> None:
    assert (meaning(word).outcome is not None) == (meaning(word).phase == "ended")


@pytest.mark.parametrize("word", ["COMPLETING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED", "REVOKED"])
def test_a_job_that_may_yet_run_again_has_not_ended(word: str) -> None:
    assert meaning(word).phase != "ended"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("PENDING", "JobHeldUser"),
        ("PENDING", "(PartitionTimeLimit)"),
        ("PENDING", "DependencyNeverSatisfied"),
        ("PENDING", "job requeued in held state"),
        ("PENDING", "job_requeued_in_held_state"),
        ("PENDING", "AssocMaxCpuPerJobLimit"),
        ("REQUEUE_HOLD", ""),
        ("SPECIAL_EXIT", "None"),
    ],
)
def test_what_will_not_come_by_itself_is_told(state: str, reason: str) -> None:
    assert waits_for_ever(state, reason)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("PENDING", "Priority"),
        ("PENDING", "Resources"),
        ("PENDING", "BeginTime"),
        ("PENDING", "ReqNodeNotAvail, UnavailableNodes:n3"),
        ("PENDING", "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"),
        ("PENDING", "QOSMaxJobsPerUserLimit"),
        ("RUNNING", "JobHeldUser"),
        ("CANCELLED by 0", "JobHeldUser"),
    ],
)
def test_what_may_come_by_itself_is_waited_for(state: str, reason: str) -> None:
    assert not waits_for_ever(state, reason)
