"""The charts of a report on a store.

None holds a name from the store: fonts of pictures lack signs, and names can be of any length. Names stand in tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ekiden_orchestrator.reports.pictures import COLOURS
from ekiden_orchestrator.reports.store_stages import stages_of
from ekiden_orchestrator.reports.words import amount, duration, money

if TYPE_CHECKING:
    from collections.abc import Callable

    from ekiden_orchestrator.reports.store_stages import Stages
    from ekiden_store.queries.progress_figures import Group, Progress, Share
    from ekiden_store.queries.stats import LabelCounts

LENGTHS = (("at most 1", 1), ("2", 2), ("3 to 4", 4), ("5 to 8", 8), ("9 or more", 2**32))
"""How proofs are told apart by their tactics: what each class is called, and the most that it holds."""
NOT_TOLD = "not told"
MOST_BARS = 24
DEEPEST = 30
_SHADES = ("first", "second", "third", "fourth", "fifth")
_LABELS = ("positive", "negative", "unknown")


class Bars(NamedTuple):
    """One colour of stacked bars."""

    name: str
    colour: str
    values: list[float]


def draw_success(axes: Any, progress: Progress) -> None:
    """Draw the share of theorems that each stage proved, with its interval, and all that were proved so far."""
    stages = stages_of(progress)
    places, names = _places(stages)
    ordered = [(place, stage) for place, stage in zip(places, stages.items, strict=True) if not stage.is_apart]
    so_far = [_percent(stage.so_far.value) for _, stage in ordered]
    if len(ordered) > 1:
        axes.plot(
            [place for place, _ in ordered], so_far, color=COLOURS["positive"], marker="s", linewidth=1.6,
            markersize=3.5 if len(ordered) <= MOST_BARS else 0, label="all up to here",
        )  # fmt: skip
    told = [(place, at.success) for place, at in zip(places, stages.items, strict=True) if at.success.value is not None]
    if told:
        _points(axes, [place for place, _ in told], [share for _, share in told], f"this {stages.what}, 95% interval")
    highest = max([5.0, *so_far, *(_percent(share.high) for _, share in told)])
    axes.set_ylim(0, min(104.0, 1.1 * highest))
    axes.set_ylabel("% of theorems asked" if progress.asked is not None else "% of theorems attempted")
    _stages_below(axes, stages.what, places, names)
    _legend(axes, columns=2)


def _points(axes: Any, places: list[float], shares: list[Share], name: str) -> None:
    """Draw shares with their intervals: a bar at each, or a band where there are many."""
    values = [_percent(share.value) for share in shares]
    low, high = [_percent(share.low) for share in shares], [_percent(share.high) for share in shares]
    colour, many = COLOURS["line"], 0
    if len(places) > MOST_BARS:
        many = len(places) - (places[-1] % 1 != 0)  # rows without an iteration stand apart
        axes.fill_between(places[:many], low[:many], high[:many], color=colour, alpha=0.2, linewidth=0)
        axes.plot(places[:many], values[:many], color=colour, marker="o", markersize=2, linewidth=0.8, label=name)
    below = [value - least for value, least in zip(values, low, strict=True)]
    above = [most - value for value, most in zip(values, high, strict=True)]
    if places[many:]:
        axes.errorbar(
            places[many:], values[many:], yerr=[below[many:], above[many:]], color=colour, marker="o", markersize=5,
            linestyle="none", elinewidth=1.4, capsize=2.5, label=None if many else name,
        )  # fmt: skip


def _percent(share: float | None) -> float:
    return 100 * (share or 0.0)


def draw_lengths(axes: Any, progress: Progress) -> None:
    """Draw how many theorems each stage proved, by the tactics of their shortest proof."""
    stages = stages_of(progress)
    places, names = _places(stages)
    classes = [length_classes(stage.group) for stage in stages.items]
    stack = [
        Bars(name, COLOURS[shade], [float(each[name]) for each in classes])
        for (name, _), shade in zip(LENGTHS, _SHADES, strict=True)
    ]
    if any(each[NOT_TOLD] for each in classes):
        stack.append(Bars(NOT_TOLD, COLOURS["unknown"], [float(each[NOT_TOLD]) for each in classes]))
    _stacked(axes, places, stack)
    axes.set_ylabel("theorems proved")
    _whole_numbers(axes)
    _stages_below(axes, stages.what, places, names)
    _legend(axes, columns=3)


def draw_depths(axes: Any, progress: Progress) -> None:
    """Draw the states at each depth by label; what is deeper than most stands together at the end."""
    depths = sorted(progress.depths)
    shown = [depth for depth in depths if depth <= DEEPEST]
    beyond = [depth for depth in depths if depth > DEEPEST]
    places = [*map(float, shown), *([DEEPEST + 1.5] if beyond else [])]

    def counted(label: str) -> list[float]:
        rows = {depth: float(getattr(at.labels, label)) for depth, at in progress.depths.items()}
        return [*(rows[depth] for depth in shown), *([sum(rows[depth] for depth in beyond)] if beyond else [])]

    _stacked(axes, places, [Bars(label, COLOURS[label], counted(label)) for label in _shown_labels(progress)])
    axes.set_xlabel("tactics below the root")
    axes.set_ylabel("states")
    _whole_numbers(axes)
    last = max(shown, default=0)
    step = 1 if last <= 10 else 2 if last <= 20 else 5
    ticks = list(range(0, last + 1, step))
    names = [str(tick) for tick in ticks]
    if beyond:
        ticks, names = [*ticks, DEEPEST + 1.5], [*names, "more"]  # pyright: ignore[reportAssignmentType]  # halves
        if last > DEEPEST - step and names[-2] == str(DEEPEST):
            del ticks[-2], names[-2]
    axes.set_xticks(ticks, names)
    axes.set_xlim(-0.7, max([*places, 3.0]) + 0.7)
    _legend(axes, columns=3)


def draw_labels(axes: Any, progress: Progress, *, most: int = MOST_BARS) -> None:
    """Draw the shares of labels, by the last stages and by where rows come from."""
    stages = stages_of(progress)
    rows: list[tuple[str, LabelCounts]] = [
        (stage.name if stage.is_apart else f"{stages.what} {stage.tick}", stage.group.labels)
        for stage in stages.items
        if stage.group.labels.total
    ][-most:]
    gap = len(rows)
    rows += [(origin.replace("_", " "), labels) for origin, labels in progress.labels_by_origin.items()]
    places = [place + (0.6 if place >= gap else 0.0) for place in range(len(rows))]
    left = [0.0] * len(rows)
    for label in _shown_labels(progress):
        widths = [100 * getattr(labels, label) / labels.total for _, labels in rows]
        axes.barh(places, widths, left=left, height=0.72, color=COLOURS[label], label=label)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, (_, labels) in zip(places, rows, strict=True):
        axes.text(102, place, f"{labels.positive / labels.total:.1%} of {amount(labels.total)}", va="center", size=9)
    axes.set_yticks(places, [name for name, _ in rows])
    axes.set_xlim(0, 100)
    axes.set_xticks([0, 25, 50, 75, 100], ["0%", "25%", "50%", "75%", "100%"])
    axes.set_ylim(max([*places, 1.0]) + 0.6, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _legend(axes, columns=3)


def _shown_labels(progress: Progress) -> list[str]:
    return [label for label in _LABELS if label != "unknown" or progress.whole.labels.unknown]


def labels_height(progress: Progress) -> float:
    """Return how high the picture of labels must be."""
    bars = min(MOST_BARS, stages_of(progress).total) + len(progress.labels_by_origin)
    return 0.95 + 0.27 * max(3, bars)


def draw_costs(axes: Any, progress: Progress) -> None:
    """Draw what a proved theorem cost in each stage: in dollars, else in tokens, else in time, as rows tell."""
    stages = stages_of(progress)
    places, names = _places(stages)
    groups = [stage.group for stage in stages.items]
    unit, words = cost_unit(progress)
    values = [_cost(group, unit) for group in groups]
    totals = [value or 0.0 for value in values]
    failed = [group.per_proof.nanodollars_of_failures or 0.0 for group in groups]
    if unit == "nanodollars":
        rest = [total - lost for total, lost in zip(totals, failed, strict=True)]
        stack = [
            Bars("on the proved ones, and on all together", COLOURS["positive"], rest),
            Bars("on theorems that stayed unproved", COLOURS["negative"], failed),
        ]
        _stacked(axes, places, stack)
        _legend(axes, columns=1)
    else:
        _stacked(axes, places, [Bars("", COLOURS["line"], totals)])
    top = max([*totals, 0.0])
    for place, group, value in zip(places, groups, values, strict=True):
        if len(places) <= MOST_BARS // 2:
            shown = words(value) if value is not None else "no proof" if not group.outcomes.proofs else "unknown"
            if value is not None and _is_too_little(group, unit):
                shown = f"≥ {shown}"
            axes.annotate(
                shown, (place, value or 0.0), xytext=(0, 3), textcoords="offset points", ha="center", size=9,
                color=COLOURS["ink"] if value is not None else COLOURS["faint"],
            )  # fmt: skip
    axes.set_ylim(0, 1.15 * top or 1)
    axes.yaxis.set_major_formatter(_formatter(words))
    if not top:
        axes.set_yticks([])
    axes.set_ylabel({"nanodollars": "US dollars", "tokens": "tokens", "duration_ms": "time"}[unit] + " a proof")
    _stages_below(axes, stages.what, places, names)


def cost_unit(progress: Progress) -> tuple[str, Callable[[float | None], str]]:
    """Return in what costs are drawn: the first of dollars, tokens and time that some row tells; and how it is said."""
    units = (("nanodollars", money), ("tokens", amount), ("duration_ms", duration))
    for unit, words in units:
        if any(_cost(stage.group, unit) is not None for stage in stages_of(progress).items):
            return unit, words
    return units[0]


def length_classes(group: Group) -> dict[str, int]:
    """Count the proved theorems of a group by classes of `LENGTHS`."""
    counts = {name: 0 for name, _ in LENGTHS} | {NOT_TOLD: 0}
    for length, proved in group.outcomes.lengths.items():
        name = NOT_TOLD if length is None else next(name for name, most in LENGTHS if length <= most)
        counts[name] += proved
    return counts


def _is_too_little(group: Group, unit: str) -> bool:
    missing = {"nanodollars": group.spent.unpriced_calls, "tokens": group.spent.uncounted_calls}
    return missing.get(unit, 0) > 0


def _cost(group: Group, unit: str) -> float | None:
    return getattr(group.per_proof, unit)


def _places(stages: Stages) -> tuple[list[float], list[str]]:
    """Return where stages stand, rows without an iteration a little apart, and what they are called."""
    places = [place + (0.5 if stage.is_apart and place else 0.0) for place, stage in enumerate(stages.items)]
    return places, [stage.tick for stage in stages.items]


def _stages_below(axes: Any, what: str, places: list[float], names: list[str]) -> None:
    axes.set_xlabel("iteration" if what == "iteration" else "run, in the order in which they began")
    step = 1 + (len(places) - 1) // 12
    apart = places[-1] - 0.8 * step if names[-1:] == ["none"] else float("inf")
    chosen = [i for i in range(len(places)) if names[i] == "none" or (not i % step and places[i] < apart)]
    axes.set_xticks([places[i] for i in chosen], [names[i] for i in chosen])
    axes.set_xlim(-0.7, max([*places, 1.0]) + 0.7)
    axes.grid(visible=True, axis="y")


def _stacked(axes: Any, places: list[float], stack: list[Bars]) -> None:
    bottom = [0.0] * len(places)
    for bars in stack:
        axes.bar(places, bars.values, bottom=bottom, width=0.72, color=bars.colour, label=bars.name)
        bottom = [start + value for start, value in zip(bottom, bars.values, strict=True)]
    axes.set_ylim(0, 1.06 * max([*bottom, 0.0]) or 1)
    axes.grid(visible=True, axis="y")


def _whole_numbers(axes: Any) -> None:
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter(_formatter(amount))


def _formatter(words: Callable[[float | None], str]) -> Callable[[float, int], str]:
    def formatted(value: float, _: int) -> str:
        return words(value) if value else "0"

    return formatted


def _legend(axes: Any, *, columns: int) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)
