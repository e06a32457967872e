"""What an answer says it cost, in tokens.

An answer is somebody else's JSON: what is not a plain count makes the usage unreadable, and never an exception.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import assert_never, cast

from ekiden_budget.wire.call import Dialect
from ekiden_budget.wire.fields import mapping_of

MAX_TOKENS = 10**12
"""More than any call has; a higher count is a fault of the upstream."""
MAX_USD = 10**6
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call.

    Attributes:
        input_tokens: Tokens of the request, those of caches included.
        output_tokens: Tokens of the answer, hidden reasoning included.
        cached_input_tokens: Those of the request that were read from a cache.
        cache_write_tokens: Those of the request that were written to a cache.
        reported_nanodollars: What the upstream says the call cost, where it does.
        long_cache_write_tokens: Those written to a cache that are kept for longer than is usual, or perhaps are.
        model: Which model alone used them, where that is told; empty where it is not.
        reasoning_tokens: Those of the answer that were hidden reasoning, where that is told.
        is_split: Whether the tokens of the request and of the answer were told apart; else all count as the answer's.
    """

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reported_nanodollars: int | None = None
    long_cache_write_tokens: int = 0
    model: str = ""
    reasoning_tokens: int = 0
    is_split: bool = True

    @property
    def total_tokens(self) -> int:
        """All tokens of the call."""
        return self.input_tokens + self.output_tokens


def read_usage(dialect: Dialect, answer: Mapping[str, object]) -> Usage | None:
    """Return what a whole answer says it cost; None if that cannot be read.

    A call without any token is a fault of the upstream's count, not a free call.
    """
    usage = _read(dialect, mapping_of(answer.get("usage")))
    if usage is None or not usage.total_tokens:
        return None
    model = answer.get("model")
    # in Messages a model that declined may have used some of it before the one that is named
    return replace(usage, model=model) if isinstance(model, str) and dialect != "messages" else usage


def _read(dialect: Dialect, usage: Mapping[str, object]) -> Usage | None:
    match dialect:
        case "chat":
            return _openai_usage(usage, "prompt", "completion")
        case "embeddings":
            alone = {"completion_tokens": 0, **usage}
            return _openai_usage(alone, "prompt", "completion")
        case "responses":
            return _openai_usage(usage, "input", "output")
        case "messages":
            return _anthropic_usage(usage)
        case _:
            assert_never(dialect)


def _openai_usage(usage: Mapping[str, object], request: str, answer: str) -> Usage | None:
    """Read counts that are named after what they are of, as `prompt_tokens` and `completion_tokens` are."""
    total = _optional_count(usage.get("total_tokens"))
    asked = _optional_count(usage.get(f"{request}_tokens"))
    answered = _optional_count(usage.get(f"{answer}_tokens"))
    if -1 in (total, asked, answered) or (total is None and (asked is None or answered is None)):
        return None
    known = (asked or 0) + (answered or 0)
    # some upstreams count hidden reasoning in the total alone; without parts, all is taken for the dearer one
    output = (answered or 0) + max(0, (total or 0) - known)
    details = mapping_of(usage.get(f"{request}_tokens_details"))
    cached = _part(details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"))
    written = _part(details.get("cache_write_tokens"))
    long = _part(mapping_of(details.get("cache_write_tokens_details")).get("ttl_12h_tokens"))
    read = _usage(asked or 0, output, (cached, written, long), _reported_cost(usage))
    thought = _part(mapping_of(usage.get(f"{answer}_tokens_details")).get("reasoning_tokens"))
    is_split = asked is not None and answered is not None
    return replace(read, reasoning_tokens=min(thought, output), is_split=is_split)


def _anthropic_usage(usage: Mapping[str, object]) -> Usage | None:
    whole = _anthropic_counts(usage)
    if whole is None:
        return None
    # a compaction or an advisor on the way is a call of its own that the counts at the top leave out
    given = usage.get("iterations")
    steps = cast("list[object]", given) if isinstance(given, list) else []
    parts = [_anthropic_counts(cast("Mapping[str, object]", step)) for step in steps if isinstance(step, dict)]
    if len(parts) != len(steps) or None in parts:
        return None
    sums = [sum(part[index] for part in parts if part) for index in range(5)]
    fresh, output, read, written, long = (max(pair) for pair in zip(whole, sums, strict=True))
    return _usage(fresh + read + written, output, (read, written, long), _reported_cost(usage))


def _anthropic_counts(usage: Mapping[str, object]) -> tuple[int, int, int, int, int] | None:
    """Return fresh input, output, input read from and written to the cache, and what of the last is kept for an hour.

    Input is of one kind alone; what is not told to be kept for five minutes may be kept for an hour.
    """
    fresh = _optional_count(usage.get("input_tokens"))
    output = _optional_count(usage.get("output_tokens"))
    read = _optional_count(usage.get("cache_read_input_tokens"))
    written = _optional_count(usage.get("cache_creation_input_tokens"))
    if fresh is None or output is None or -1 in (fresh, output, read, written):
        return None
    short = _part(mapping_of(usage.get("cache_creation")).get("ephemeral_5m_input_tokens"))
    return fresh, output, read or 0, written or 0, max(0, (written or 0) - short)


def _usage(asked: int, answered: int, caches: tuple[int, int, int], nanodollars: int | None) -> Usage:
    cached, written, long = caches
    cached = min(cached, asked)
    written = min(written, asked - cached)
    return Usage(asked, answered, cached, written, nanodollars, min(long, written))


def _optional_count(value: object) -> int | None:
    """Return a count of tokens, None if there is none, and -1 for what is no count."""
    if value is None:
        return None
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else -1


def _part(*values: object) -> int:
    """Return the first count; a part that cannot be read is priced as the whole is, so it counts for none."""
    return next((count for value in values if (count := _optional_count(value)) is not None and count > 0), 0)


def _reported_cost(usage: Mapping[str, object]) -> int | None:
    """Return OpenRouter's cost; where the provider is paid apart, both are added."""
    costs: list[object] = [usage.get("cost")]
    if usage.get("is_byok") is True:
        costs.append(mapping_of(usage.get("cost_details")).get("upstream_inference_cost") or 0)
    return _nanodollars(costs)


def _nanodollars(costs: Iterable[object]) -> int | None:
    total = Decimal(0)
    for cost in costs:
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= MAX_USD:
            return None
        total += Decimal(repr(cost))
    return int((total * _NANO).to_integral_value(ROUND_CEILING))
