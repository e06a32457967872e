"""What answers say they cost."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_budget.wire import Dialect, Usage, error_body, error_event, read_usage

_NAMES = (
    "prompt_tokens completion_tokens total_tokens prompt_tokens_details cached_tokens cache_write_tokens input_tokens "
    "output_tokens input_tokens_details cache_read_input_tokens cache_creation_input_tokens iterations cost is_byok "
    "cost_details upstream_inference_cost prompt_cache_hit_tokens"
)
NAMES = _NAMES.split()
odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**99)
    | st.integers(0, 1000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "usage", "expected"),
    [
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 9}},
         Usage(10, 5, reasoning_tokens=5)),
        # reasoning that only the total counts
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}, Usage(10, 30)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 7}, Usage(10, 5)),
        ("chat", {"total_tokens": 40}, Usage(0, 40, is_split=False)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5,
                  "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}}, Usage(10, 5, 4, 3)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8,
                  "prompt_cache_miss_tokens": 2}, Usage(10, 5, 8)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5,
                  "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 9}}, Usage(10, 5, 10)),
        ("chat", {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": "4"}},
         Usage(10, 5)),
        ("chat", {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.00014},
         Usage(1, 1, reported_nanodollars=140_000)),
        ("chat", {"prompt_tokens": 1, "completion_tokens": 1, "cost": 1e-10}, Usage(1, 1, reported_nanodollars=1)),
        ("chat", {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5, "is_byok": True,
                  "cost_details": {"upstream_inference_cost": 1}}, Usage(1, 1, reported_nanodollars=1_500_000_000)),
        ("chat", {"prompt_tokens": 1, "completion_tokens": 1, "cost": -0.5}, Usage(1, 1)),
        ("embeddings", {"prompt_tokens": 8, "total_tokens": 8}, Usage(8, 0)),
        ("responses", {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                       "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 3}},
         Usage(10, 5, 4, reasoning_tokens=3)),
        # input that was read from or written to a cache is not in Anthropic's input_tokens
        ("messages", {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 100,
                      "cache_creation_input_tokens": 20}, Usage(123, 5, 100, 20, None, 20)),
        ("messages", {"input_tokens": 3, "output_tokens": 5, "cache_creation_input_tokens": 20, "cache_creation": {
            "ephemeral_5m_input_tokens": 12, "ephemeral_1h_input_tokens": 8}}, Usage(23, 5, 0, 20, None, 8)),
        ("responses", {"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {
            "cache_write_tokens": 6, "cache_write_tokens_details": {"ttl_12h_tokens": 4}}}, Usage(9, 5, 0, 6, None, 4)),
        ("messages", {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": None}, Usage(3, 5)),
        # a compaction is a call that the counts at the top leave out
        ("messages", {"input_tokens": 3, "output_tokens": 5, "iterations": [
            {"type": "compaction", "input_tokens": 1000, "output_tokens": 50},
            {"type": "message", "input_tokens": 3, "output_tokens": 5}]}, Usage(1003, 55)),
    ],
)  # fmt: skip
def test_the_usage_of_an_answer_is_read(dialect: Dialect, usage: dict[str, Any], expected: Usage) -> None:
    assert read_usage(dialect, {"usage": usage}) == expected
    assert expected.total_tokens == expected.input_tokens + expected.output_tokens


def test_the_model_that_answered_is_read_where_it_did_all_the_work() -> None:
    answer = {"model": "n", "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
    told = {dialect: read_usage(dialect, answer) for dialect in get_args(Dialect)}
    assert {dialect: usage.model for dialect, usage in told.items() if usage} == {
        "chat": "n",
        "responses": "n",
        "embeddings": "n",
        "messages": "",
    }


@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("count", [-1, True, 1.0, "5", [5], {}, 10**13, float("nan"), None])
def test_a_count_that_is_none_makes_the_usage_unreadable(dialect: Dialect, count: object) -> None:
    first, second = ("prompt_tokens", "completion_tokens") if dialect in {"chat", "embeddings"} else (
        "input_tokens", "output_tokens")  # fmt: skip
    assert read_usage(dialect, {"usage": {first: count, second: 5}}) is None
    assert read_usage(dialect, {"usage": {first: 5, second: count}}) is None or (dialect, count) == ("embeddings", None)


@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("answer", [{}, {"usage": None}, {"usage": []}, {"usage": {}}, {"usage": 5}])
def test_an_answer_that_says_nothing_is_unreadable(dialect: Dialect, answer: dict[str, object]) -> None:
    assert read_usage(dialect, answer) is None


def test_a_call_of_no_tokens_is_a_fault_and_not_free() -> None:
    assert read_usage("chat", {"usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}) is None
    assert read_usage("messages", {"usage": {"input_tokens": 0, "output_tokens": 0}}) is None


@given(st.sampled_from(get_args(Dialect)), odd)
def test_no_usage_is_too_odd_to_be_read_or_set_aside(dialect: Dialect, usage: object) -> None:
    read = read_usage(dialect, {"usage": usage})
    if read is not None:
        assert read.total_tokens > 0
        assert min(read.input_tokens, read.output_tokens, read.cached_input_tokens, read.cache_write_tokens) >= 0
        assert read.cached_input_tokens + read.cache_write_tokens <= read.input_tokens
        assert read.reported_nanodollars is None or read.reported_nanodollars >= 0


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_an_error_has_its_message_in_the_same_place_in_every_format(dialect: Dialect) -> None:
    body: Any = error_body(dialect, 402, "token budget exhausted", "insufficient_quota")
    assert body["error"]["message"] == "token budget exhausted"
    assert body["error"]["type"] == ("billing_error" if dialect == "messages" else "insufficient_quota")


def test_the_events_that_end_a_stream_early_are_those_of_its_format() -> None:
    assert error_event("messages", "gone", "x") == (
        b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "gone", "code": "x"}}\n\n'
    )
    assert error_event("chat", "gone").startswith(b'data: {"error": {"message": "gone"')
    assert error_event("responses", "gone").startswith(b'event: response.failed\ndata: {"type": "response.failed"')
