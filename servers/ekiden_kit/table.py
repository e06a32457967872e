"""The one table of servers: everything that serves, lists or configures a server reads it from here."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from ekiden_kit.errors import UnknownServerError, nearest

if TYPE_CHECKING:
    from ekiden_kit.definition import ServerDefinition

TOKEN_VARIABLE = "EKIDEN_HTTP_TOKEN"  # noqa: S105  # the variable's name, not a token
"""Holds the bearer token of servers over HTTP, for them and for their clients."""

ClientName = Literal["codex", "claude", "vscode"]
"""The hosts whose files can be rendered."""


class ServerEntry(NamedTuple):
    """One server of the table.

    Attributes:
        name: What `ekiden serve` and hosts call it; letters, digits and underscores.
        definition: Where its `ServerDefinition` is, as `module:attribute`, so that the table imports no server.
        summary: One line for people.
        startup_timeout_s: How long a host should wait for it to start.
        tool_timeout_s: How long a host should wait for one call.
        environment: Variables of the host's environment that it needs.
    """

    name: str
    definition: str
    summary: str
    startup_timeout_s: int = 60
    tool_timeout_s: int = 600
    environment: tuple[str, ...] = ()

    def load(self) -> "ServerDefinition":
        """Import the server's definition."""
        module, _, attribute = self.definition.partition(":")
        return cast("ServerDefinition", getattr(import_module(module), attribute))


SERVERS = (
    ServerEntry(
        name="apply_patch",
        definition="ekiden_patch.server:SERVER",
        summary="Edit files by patches, only where this agent may.",
        environment=(
            "APPLY_PATCH_WORKSPACE",
            "APPLY_PATCH_TARGET_FILE",
            "APPLY_PATCH_OTHER_FILES",
            "APPLY_PATCH_NODE",
            "APPLY_PATCH_ROLE",
        ),
    ),
    ServerEntry(
        name="budget",
        definition="ekiden_budget.server:SERVER",
        summary="See, share out and close budgets for model calls.",
        environment=("EKIDEN_BUDGET_TOKEN", "EKIDEN_BUDGET_LEDGER"),
    ),
    ServerEntry(
        name="cayley",
        definition="ekiden_cayley.server:SERVER",
        summary="Search for finite and infinite countermodels of implications between magma laws.",
    ),
    ServerEntry(
        name="dag_tracker",
        definition="ekiden_dag.server:SERVER",
        summary="Ask the proof graph of a blueprint: relatives, states, leaves, critical path, pictures, verification.",
        environment=("DAG_PROJECT_ROOT", "DAG_TARGET_FILE", "DAG_TRACKER_LEAN_THREADS"),
    ),
    ServerEntry(
        name="judge",
        definition="ekiden_judge.server:SERVER",
        summary="Grade answers to equational-implication problems by exact computation.",
    ),
    ServerEntry(
        name="slurm",
        definition="ekiden_slurm.server:SERVER",
        summary="Run programs as jobs, on a Slurm cluster or here, that outlive their starter.",
        environment=("SLURM_CONF",),
    ),
    ServerEntry(
        name="trajectories",
        definition="ekiden_store.server:SERVER",
        summary="Keep, count and show attempts at proofs, and make data sets of them.",
    ),
)


def entries(names: Iterable[str] = ()) -> tuple[ServerEntry, ...]:
    """Return the entries of some servers, each once, in the order named; all of them when none is named.

    Raises:
        UnknownServerError: If a name is not in the table.
    """
    known = {entry.name: entry for entry in SERVERS}
    wanted = tuple(dict.fromkeys(names)) or tuple(known)
    for name in wanted:
        if name not in known:
            raise UnknownServerError(f"No server {name!r}; {nearest(name, known)}")
    return tuple(known[name] for name in wanted)
