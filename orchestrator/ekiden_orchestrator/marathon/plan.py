"""What one attempt is about, and the order to the warden that follows from it."""

import sys
from dataclasses import dataclass
from pathlib import Path

from ekiden_config import MarathonSettings
from ekiden_orchestrator.marathon.environment import built_in_environment, confined_view, contract_environment
from ekiden_orchestrator.marathon.folder import AttemptFolder, RunFolder
from ekiden_orchestrator.marathon.submission import SOLVER_FILE
from ekiden_warden import Order

_WARDEN_MARGIN_S = 30.0
_ISOLATIONS = {
    "auto": ("confined", "namespaces", "subreaper", "group"),
    "namespaces": ("namespaces", "subreaper", "group"),
    "subreaper": ("subreaper", "group"),
    "group": ("group",),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt is about.

    Attributes:
        number: The attempt's number, 1-based.
        run: The run it belongs to.
        manifest_origin: The labelled manifest, hidden from a solver that is not ours.
        wall_s: Wall time it may use.
        tokens: Token budget of the run.
        output_bytes: Largest answers file.
        pool_s: The time share of a built-in solver; None for anybody else's.
    """

    number: int
    run: RunFolder
    manifest_origin: Path
    wall_s: float
    tokens: int
    output_bytes: int
    pool_s: float | None

    @property
    def folder(self) -> AttemptFolder:
        """The folder of this attempt."""
        return self.run.attempt(self.number)


def order_for(plan: Plan, settings: MarathonSettings, *, stdout_fd: int, stderr_fd: int) -> Order:
    """Say what the warden has to do for an attempt."""
    environment = contract_environment(plan.folder, wall_s=plan.wall_s, tokens=plan.tokens)
    isolations = _ISOLATIONS[settings.isolation]
    view = None
    if plan.pool_s is not None:
        environment |= built_in_environment(plan.pool_s)
        isolations = tuple(kind for kind in isolations if kind != "confined")
    elif "confined" in isolations and sys.platform.startswith("linux"):
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
