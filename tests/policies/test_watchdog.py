"""When a solver is told to end, and when it is made to."""

from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.watchdog import Decision, Limits, Reading, Watch, decide, next_deadline_s, tripped

LIMITS = Limits(wall_s=10.0, tokens=100, output_bytes=1000, grace_s=5.0)

limits = st.builds(
    Limits,
    wall_s=st.floats(0.1, 100),
    tokens=st.integers(-5, 100),
    output_bytes=st.integers(0, 100),
    grace_s=st.floats(0, 10),
)
readings = st.builds(Reading, elapsed_s=st.floats(0, 200), tokens=st.integers(0, 200), output_bytes=st.integers(0, 200))


def test_limits_are_checked_in_the_order_wall_tokens_output() -> None:
    assert tripped(LIMITS, Reading(10.0, 100, 1001)) == "wall"
    assert tripped(LIMITS, Reading(9.9, 100, 1001)) == "tokens"
    assert tripped(LIMITS, Reading(9.9, 99, 1001)) == "output"
    assert tripped(LIMITS, Reading(9.9, 99, 1000)) is None


def test_the_token_watchdog_sleeps_without_a_positive_cap() -> None:
    for cap in (0, -1):
        assert tripped(Limits(10.0, cap, 1000, 5.0), Reading(1.0, 10**9, 0)) is None


def test_a_tripped_solver_is_told_to_end_and_killed_after_the_grace() -> None:
    asked = decide(LIMITS, Reading(10.2, 0, 0), Watch())
    assert asked == Decision("terminate", Watch("wall", 10.2))
    assert decide(LIMITS, Reading(15.1, 0, 0), asked.watch) == Decision("wait", asked.watch)
    killed = decide(LIMITS, Reading(15.2, 0, 0), asked.watch)
    assert killed == Decision("kill", Watch("wall", 10.2, killed=True))
    assert decide(LIMITS, Reading(99.0, 0, 0), killed.watch).action == "wait"


def test_the_first_reason_stays_the_reason() -> None:
    asked = decide(LIMITS, Reading(1.0, 0, 2000), Watch())
    assert asked.watch.reason == "output"
    assert decide(LIMITS, Reading(30.0, 500, 2000), asked.watch).watch.reason == "output"


@given(limits, st.lists(readings, max_size=20))
def test_a_solver_is_asked_once_and_killed_at_most_once_and_never_unasked(bounds: Limits, path: list[Reading]) -> None:
    watch, actions = Watch(), list[str]()
    for reading in sorted(path, key=lambda reading: reading.elapsed_s):
        decision = decide(bounds, reading, watch)
        watch = decision.watch
        if decision.action != "wait":
            actions.append(decision.action)
    assert actions in ([], ["terminate"], ["terminate", "kill"])


@given(limits, readings)
def test_at_the_next_deadline_something_happens(bounds: Limits, reading: Reading) -> None:
    watch = decide(bounds, reading, Watch()).watch
    at = Reading(next_deadline_s(bounds, watch), 0, 0)
    assert decide(bounds, at, watch).action == ("terminate" if watch.terminated_at_s is None else "kill")
