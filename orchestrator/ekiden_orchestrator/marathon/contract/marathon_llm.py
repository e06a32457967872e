"""Language-model calls for Marathon solvers, as the contract names them.

This version has no proxy for language models, so the token budget is 0 and every call is denied. The answers have the
shape that solvers expect: a dict with `error` and `budget_remaining`, never an exception.
"""

ZERO_BUDGET = "token budget is zero — no LLM calls allowed"


def call_llm(
    prompt: str, *, config: dict[str, object] | None = None, max_seconds: float | None = None
) -> dict[str, object]:
    """Deny the call: the token budget is zero."""
    del prompt, config, max_seconds
    return {"error": ZERO_BUDGET, "budget_remaining": budget_remaining()}


def tokens_used() -> int:
    """Return the tokens that this process has used."""
    return 0


def budget_remaining() -> int:
    """Return the tokens that are left."""
    return 0
