"""What an answer says it cost, in tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call.

    Attributes:
        input_tokens: Tokens of the request, those of caches included.
        output_tokens: Tokens of the answer, hidden reasoning included.
        cached_input_tokens: Those of the request that were read from a cache.
        cache_write_tokens: Those of the request that were written to a cache.
        reported_total: The upstream's own total, where it is above the sum.
        reported_nanodollars: What the upstream says the call cost, where it does.
    """

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reported_total: int = 0
    reported_nanodollars: int | None = None

    @property
    def total_tokens(self) -> int:
        """All tokens of the call."""
        return max(self.input_tokens + self.output_tokens, self.reported_total)
