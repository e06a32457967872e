"""The names of the variables that hold the keys of models; never the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_budget.upstreams import Upstream
    from ekiden_config import BudgetSettings

KEY_VARIABLES = {
    "openrouter": "OPENROUTER_API_KEY",
    "openai": "OPENAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
"""Vendor to the variable that its key is found in without any setting."""


def key_variable(upstream: Upstream, settings: BudgetSettings) -> str:
    """Return the variable that an upstream's key came from; empty if it gets none."""
    configured = settings.upstreams.get(upstream.name)
    if configured is not None and configured.base_url == upstream.base_url:
        return configured.key_env
    return KEY_VARIABLES[upstream.name]
