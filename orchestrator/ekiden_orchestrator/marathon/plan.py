"""What one attempt is about, and the order to the warden that follows from it."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ekiden_config import MarathonSettings
from ekiden_orchestrator.marathon.environment import built_in_environment, confined_view, contract_environment
from ekiden_orchestrator.marathon.folder import AttemptFolder, RunFolder
from ekiden_orchestrator.marathon.model_access import ModelAccess
from ekiden_orchestrator.marathon.submission import SOLVER_FILE
from ekiden_warden import Order

_WARDEN_MARGIN_S = 30.0
_ISOLATIONS = ("confined", "namespaces", "subreaper", "group")
KEEP_KEYS = frozenset({"confined"})
"""The kinds of isolation in which keys are safe: a solver reaches no process of its owner, not the ledger, and no file
that the owner will run."""


def isolations_for(strongest: Literal["auto", "namespaces", "subreaper", "group"]) -> tuple[str, ...]:
    """Return the kinds of isolation to try, strongest first."""
    return _ISOLATIONS if strongest == "auto" else _ISOLATIONS[_ISOLATIONS.index(strongest) :]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt is about.

    Attributes:
        number: The attempt's number, 1-based.
        run: The run it belongs to.
        manifest_origin: The labelled manifest, hidden from a solver that is not ours.
        wall_s: Wall time it may use.
        tokens: Tokens that it is told it may use.
        output_bytes: Largest answers file.
        built_in: Whether the solver is Ekiden's own.
        pool_s: The time share of a solver that takes one.
        models: How it reaches language models; None if it cannot.
        token_limit: Settled tokens of the run at which the solver is ended; 0 or less never ends it.
        model: The model that the solver is told to use; empty: its own choice.
        has_keys: Whether its runner has keys, which a solver that is not ours must not read.
    """

    number: int
    run: RunFolder
    manifest_origin: Path
    wall_s: float
    tokens: int
    output_bytes: int
    built_in: bool = False
    pool_s: float | None = None
    models: ModelAccess | None = None
    token_limit: int = 0
    model: str = ""
    has_keys: bool = False

    @property
    def folder(self) -> AttemptFolder:
        """The folder of this attempt."""
        return self.run.attempt(self.number)


def order_for(plan: Plan, settings: MarathonSettings, *, stdout_fd: int, stderr_fd: int) -> Order:
    """Say what the warden has to do for an attempt."""
    environment = contract_environment(plan.folder, wall_s=plan.wall_s, tokens=plan.tokens, model=plan.model)
    if plan.models is not None:
        environment |= plan.models.environment
    isolations = isolations_for(settings.isolation)
    view = None
    if plan.built_in:
        environment |= built_in_environment(plan.pool_s)
        isolations = tuple(kind for kind in isolations if kind != "confined")
    elif plan.has_keys and not settings.allow_readable_keys:
        isolations = tuple(kind for kind in isolations if kind in KEEP_KEYS)
    if not plan.built_in and "confined" in isolations and sys.platform.startswith("linux"):
        view = confined_view(plan.run, plan.folder, plan.manifest_origin)
    return Order(
        argv=(sys.executable, str(plan.folder.submission / SOLVER_FILE)),
        environment=environment,
        directory=str(plan.folder.submission),
        stdout_fd=stdout_fd,
        stderr_fd=stderr_fd,
        deadline_s=plan.wall_s + settings.grace_s + _WARDEN_MARGIN_S,
        file_bytes=settings.file_limit_bytes,
        processes=settings.process_limit,
        view=view,
        isolations=isolations,
    )
