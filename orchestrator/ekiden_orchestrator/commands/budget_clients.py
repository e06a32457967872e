"""What to paste so that a client calls its models through the budget proxy."""

from __future__ import annotations

from typing import NamedTuple

from ekiden_budget.holder import TOKEN_VARIABLE
from ekiden_orchestrator.client_variables import anthropic_variables, openai_variables


class Access(NamedTuple):
    """Where a proxy is, and the token that spends a budget there.

    Attributes:
        url: The proxy's address, without a path.
        token: The token; None when the user holds it already, in `EKIDEN_BUDGET_TOKEN`.
    """

    url: str
    token: str | None

    @property
    def openai_base_url(self) -> str:
        """Return the base address for clients of OpenAI's formats."""
        return openai_variables(self.url, "")["OPENAI_BASE_URL"]

    @property
    def anthropic_base_url(self) -> str:
        """Return the base address for clients of Anthropic's format, which add the version themselves."""
        return anthropic_variables(self.url, "")["ANTHROPIC_BASE_URL"]

    def paste(self) -> str:
        """Return lines for a shell, and for Codex's file, each under a comment that says for whom."""
        token = self.token or f'"${TOKEN_VARIABLE}"'
        own = f"# Codex, and the MCP server `budget`\nexport {TOKEN_VARIABLE}={token}\n\n" if self.token else ""
        first = (
            "" if self.token else f"# First set {TOKEN_VARIABLE} to the budget's token in the shell of the callers.\n"
        )
        return f"""\
{first}# Clients of OpenAI's formats
{_exports(openai_variables(self.url, token))}

# Claude Code, and other clients of Anthropic's format
{_exports(anthropic_variables(self.url, token))}

{own}# Codex, not for the shell but in ~/.codex/config.toml
model_provider = "ekiden"
web_search = "disabled"

[model_providers.ekiden]
name = "ekiden"
base_url = "{self.openai_base_url}"
wire_api = "responses"
env_key = "{TOKEN_VARIABLE}"
"""


def _exports(variables: dict[str, str]) -> str:
    return "\n".join(f"export {name}={value}" for name, value in variables.items())
