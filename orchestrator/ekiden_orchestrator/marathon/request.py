"""What a new run is asked to do, and what follows from it."""

import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ekiden_config import JudgeName, MarathonSettings
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import RunStarted
from ekiden_orchestrator.marathon.manifest import Manifest
from ekiden_orchestrator.marathon.model_access import ModelSource, caps_of
from ekiden_orchestrator.marathon.submission import Submission
from ekiden_orchestrator.marathon.versions import versions
from ekiden_policies.marathon_budget import MarathonBudgetError, MarathonReference, marathon_budget
from ekiden_policies.schedule import time_pool


@dataclass(frozen=True, slots=True)
class Request:
    """What a new run is asked to do; None leaves a choice to the settings."""

    solver: str
    manifest: str
    budget_seconds: float | None = None
    budget_tokens: int | None = None
    budget_usd: Decimal | None = None
    compression_ratio: float | None = None
    output_dir: Path | None = None
    problem_seconds: float | None = None
    judge: JudgeName | None = None
    model: str | None = None


def decide(
    request: Request,
    settings: MarathonSettings,
    *,
    submission: Submission,
    manifest: Manifest,
    models: ModelSource,
    judge: JudgeName,
) -> RunStarted:
    """Decide everything that the request leaves open.

    Raises:
        MarathonError: A figure of the request cannot be.
    """
    problems = len(manifest.problems)
    try:
        budget = marathon_budget(
            problems,
            seconds=request.budget_seconds,
            tokens=request.budget_tokens,
            usd=request.budget_usd,
            compression_ratio=request.compression_ratio
            if request.compression_ratio is not None
            else settings.compression_ratio,
            reference=MarathonReference(settings.seconds_per_problem, settings.tokens_per_problem),
            models=bool(models.upstreams),
        )
    except MarathonBudgetError as error:
        raise MarathonError(f"{error}") from error
    caps_of(budget.tokens, budget.usd)
    _require_fitting(request, submission)
    pool_s = time_pool(problems, budget_s=budget.seconds, problem_s=request.problem_seconds)
    return RunStarted(
        versions=versions(),
        solver=submission.name,
        built_in=submission.built_in,
        solver_sha256=submission.sha256,
        manifest=manifest.name,
        manifest_origin=str(manifest.origin),
        manifest_sha256=manifest.sha256,
        problems=problems,
        budget_seconds=budget.seconds,
        budget_tokens=budget.tokens,
        budget_origin=budget.origin,
        budget_usd=budget.usd,
        models=models.names,
        model=request.model or settings.model,
        pool_seconds=pool_s if submission.takes_share else None,
        judge=judge,
    )


def _require_fitting(request: Request, submission: Submission) -> None:
    """Refuse what is not for this solver."""
    if request.problem_seconds is not None and not 0 < request.problem_seconds < math.inf:
        raise MarathonError(f"--problem-seconds is {request.problem_seconds!r}; it needs a number above 0.")
    if request.problem_seconds is not None and not submission.takes_share:
        raise MarathonError("--problem-seconds is for the solver 'harvest'; others share out their time themselves.")
    if request.model is not None and submission.built_in and not submission.asks_models:
        raise MarathonError(f"--model is for solvers that ask a language model; {submission.name!r} asks none.")
