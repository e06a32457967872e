"""What a report is told over: iterations, or runs where no row names an iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ekiden_orchestrator.reports.words import NO_ITERATION, visible
from ekiden_store.queries.progress_figures import Group, Progress, Share

if TYPE_CHECKING:
    from ekiden_store.queries.progress_figures import Iteration, Run

NO_NAME = "(none)"
MOST_STAGES = 200


class Stage(NamedTuple):
    """An iteration, or a run.

    Attributes:
        name: What it is called in tables.
        tick: What it is called in charts.
        is_apart: Whether it is what names no iteration, and so stands in no order with the others.
        group: What became of it.
        success: The theorems that it proved, of those asked for; of those that it attempted where that is not told.
        new: Theorems that no stage before proved.
        so_far: All that were proved up to here.
    """

    name: str
    tick: str
    is_apart: bool
    group: Group
    success: Share
    new: int
    so_far: Share


class Stages(NamedTuple):
    """The last stages, in order.

    Attributes:
        what: What they are.
        items: The stages.
        total: How many there are in all.
    """

    what: Literal["iteration", "run"]
    items: list[Stage]
    total: int


def stages_of(progress: Progress) -> Stages:
    """Return what to tell a report over."""
    has_iterations = any(iteration.number is not None for iteration in progress.iterations)
    if has_iterations or len(progress.runs) < 2:
        items = [_of_iteration(iteration) for iteration in progress.iterations]
        return Stages("iteration", items[-MOST_STAGES:], len(items))
    items = [_of_run(place, run, progress.asked) for place, run in enumerate(progress.runs, 1)]
    return Stages("run", items[-MOST_STAGES:], len(items))


def _of_iteration(iteration: Iteration) -> Stage:
    number, group = iteration.number, iteration.group
    name, tick = (NO_ITERATION, "none") if number is None else (str(number), str(number))
    return Stage(name, tick, number is None, group, group.success, iteration.new, iteration.so_far)


def _of_run(place: int, run: Run, asked: int | None) -> Stage:
    group = run.group
    success = group.success if asked is None else Share.of(group.outcomes.proved, asked)
    name = f"{place}. {visible(run.run_id) or NO_NAME}"
    return Stage(name, str(place), False, group, success, run.new, run.so_far)
