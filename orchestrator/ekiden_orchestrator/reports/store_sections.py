"""What a report on a store says: its head, and a section for each question, with a chart and the numbers in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_orchestrator.reports import store_charts as charts
from ekiden_orchestrator.reports.page_parts import Chart, Figure, Part, Section, Table
from ekiden_orchestrator.reports.store_stages import NO_NAME, stages_of
from ekiden_orchestrator.reports.words import (
    NONE,
    UNKNOWN,
    amount,
    day,
    duration,
    interval_words,
    iteration_words,
    money,
    percent,
    share_words,
    theorems,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_orchestrator.reports.pictures import Drawing
    from ekiden_store.queries.progress_figures import Group, Progress, Spent
    from ekiden_store.queries.stats import LabelCounts

MOST_RUNS = 100
MOST_FAILURES = 15
MOST_DEPTHS = 40
_MOST_IN_PANEL = 6


def figures_of(progress: Progress) -> list[Figure]:
    """Return the figures at the head of the page."""
    whole, outcomes, spent = progress.whole, progress.whole.outcomes, progress.whole.spent
    kind = "attempted" if progress.asked is None else "asked for"
    of = f"{outcomes.proved:,} of {whole.success.whole:,} {kind}"
    interval = f"; 95% interval {interval_words(whole.success)}" if whole.success.value is not None else ""
    if progress.asked is None:
        tried = "It is not told which were asked for (--asked), so those that left no row are not known."
    else:
        tried = f"of {progress.asked:,} asked for; {progress.not_attempted:,} left no row, and count as not proved."
    per_proof = whole.per_proof
    if spent.cost_nanodollars is None:
        price, cost = UNKNOWN, "No row bears a cost."
    elif per_proof.nanodollars is None:
        price, cost = NONE, f"{money(spent.cost_nanodollars)} spent, and nothing proved."
    else:
        price = money(per_proof.nanodollars)
        lost = f", {money(per_proof.nanodollars_of_failures)} of it on theorems that stayed unproved"
        cost = f"All {money(spent.cost_nanodollars)} spent, divided by {theorems(outcomes.proofs)}{lost}."
    return [
        Figure("Proved", share_words(whole.success), f"{of}{interval}."),
        Figure("Attempted", f"{outcomes.attempted:,}", tried),
        Figure("Cost of a proof", _at_least(price, spent.unpriced_calls), cost + _unpriced(spent)),
        _accepted(progress),
    ]


def _accepted(progress: Progress) -> Figure:
    outcomes = progress.whole.outcomes
    if "verdict" not in progress.kinds:
        return Figure("Accepted by a judge", NONE, "There are no verdicts.")
    return Figure("Accepted by a judge", f"{outcomes.accepted:,}", f"of {theorems(outcomes.proved)} proved.")


def remarks_of(progress: Progress) -> list[str]:
    """Return what is to be known besides."""
    outcomes = progress.whole.outcomes
    remarks = [
        f"Not counted as proved: {theorems(progress.copied)} of which there are copied proofs alone (ground truth), "
        f"and {theorems(outcomes.gave_up)} whose only proof uses sorry."
    ]
    if outcomes.proofs > outcomes.proved:
        more = outcomes.proofs - outcomes.proved
        remarks.append(f"{theorems(more)} that nobody asked for were proved too; costs are divided by these as well.")
    return remarks


def sections_of(progress: Progress) -> list[Section]:
    """Return all sections."""
    return [
        _success(progress),
        _depth(progress),
        _labels(progress),
        _cost(progress),
        *([_failures(progress)] if progress.failed else []),
        _runs(progress),
    ]


def panels_of(progress: Progress) -> list[tuple[str, Drawing]]:
    """Return the charts of the one picture."""
    return [
        (f"Success over {stages_of(progress).what}s", lambda axes: charts.draw_success(axes, progress)),
        ("Depth of states", lambda axes: charts.draw_depths(axes, progress)),
        ("Label balance", lambda axes: charts.draw_labels(axes, progress, most=_MOST_IN_PANEL)),
        ("Cost of a proof", lambda axes: charts.draw_costs(axes, progress)),
    ]


def _success(progress: Progress) -> Section:
    whole = "asked for" if progress.asked is not None else "attempted"
    stages = stages_of(progress)
    rows = [
        [
            each.name,
            f"{each.group.outcomes.attempted:,}",
            f"{each.group.outcomes.proved:,}",
            share_words(each.success),
            interval_words(each.success),
            f"{each.new:,}",
            f"{each.so_far.part:,} of {each.so_far.whole:,}",
            share_words(each.so_far),
        ]
        for each in stages.items
    ]
    table = Table(
        f"Theorems by {stages.what}; shares are of those {whole}",
        [stages.what, "attempted", "proved", "share", "95% interval", "new", "up to here", "share"],
        rows,
        note=_cut(len(rows), stages.total, f"{stages.what}s"),
    )
    says = f"Share of the theorems {whole} that each {stages.what} proved, and that were proved up to it."
    return Section(
        "success",
        f"Success over {stages.what}s",
        "A theorem is proved when an attempt completed a proof without sorry. Copied proofs and labels prove nothing. "
        f"Shares are of the theorems {whole}. The interval is Wilson’s: few theorems tell little.",
        [Part([table], Chart("success", says, lambda axes: charts.draw_success(axes, progress)))],
    )


def _depth(progress: Progress) -> Section:
    shown = [depth for depth in progress.depths if depth <= MOST_DEPTHS]
    beyond = [progress.depths[depth] for depth in progress.depths if depth > MOST_DEPTHS]
    rows = [
        [
            str(depth),
            *_counts(at.labels),
            f"{at.reached:,}",
            f"{at.finished:,}",
            percent(at.finished, at.reached),
        ]
        for depth, at in ((depth, progress.depths[depth]) for depth in shown)
    ]
    if beyond:
        labels = [sum(getattr(at.labels, name) for at in beyond) for name in ("positive", "negative", "unknown")]
        reached, finished = max(at.reached for at in beyond), sum(at.finished for at in beyond)
        tail = [*(f"{count:,}" for count in labels), f"{reached:,}", f"{finished:,}", percent(finished, reached)]
        rows.append([f"over {MOST_DEPTHS}", *tail])
    stages = stages_of(progress)
    classes = [(each.name, charts.length_classes(each.group)) for each in stages.items]
    names = list(charts.length_classes(progress.whole))
    lengths = [[stage, *(f"{counts[name]:,}" for name in names)] for stage, counts in classes]
    together = charts.length_classes(progress.whole)
    if len(lengths) > 1:
        lengths.append(["all, each theorem once", *(f"{together[name]:,}" for name in names)])
    return Section(
        "depth",
        "Depth",
        "Most early proofs are one step, so a share of proved theorems tells little without the length of the proofs. "
        "The length of a theorem’s proof is the number of tactics of its shortest one.",
        [
            Part(
                [Table("Theorems proved, by the tactics of the shortest proof", [stages.what, *names], lengths)],
                Chart(
                    "lengths",
                    f"Theorems that each {stages.what} proved, by the tactics of the shortest proof.",
                    lambda axes: charts.draw_lengths(axes, progress),
                ),
            ),
            Part(
                [
                    Table(
                        "States by depth; theorems whose search came as deep, and whose shortest proof ended there",
                        ["depth", "positive", "negative", "unknown", "searched as deep", "proved there", "share"],
                        rows,
                    )
                ],
                Chart("depths", "States at each depth, by label.", lambda axes: charts.draw_depths(axes, progress)),
            ),
        ],
    )


def _labels(progress: Progress) -> Section:
    head, total = ["positive", "negative", "unknown", "positive share"], progress.whole.labels
    stages = stages_of(progress)
    by_stage = [
        [each.name, *_counts(each.group.labels), _positive(each.group.labels)]
        for each in stages.items
        if each.group.labels.total
    ]
    if len(by_stage) > 1:
        by_stage.append(["all", *_counts(total), _positive(total)])
    by_origin = [
        [origin.replace("_", " "), *_counts(labels), _positive(labels)]
        for origin, labels in progress.labels_by_origin.items()
    ]
    last = f" (the last {charts.MOST_BARS})" if stages.total > charts.MOST_BARS else ""
    return Section(
        "labels",
        "Label balance",
        "States and tactics of searches by label; messages, calls and verdicts have none. Positive is what lies on a "
        "proof: of copied proofs (ground truth) that is every state, so watch where positives come from.",
        [
            Part(
                [
                    Table(f"States by {stages.what}", [stages.what, *head], by_stage),
                    Table("States by origin", ["origin", *head], by_origin),
                ],
                Chart(
                    "labels",
                    f"Labels of states by {stages.what}{last} and by origin; at the right the share of positive ones.",
                    lambda axes: charts.draw_labels(axes, progress),
                    charts.labels_height(progress),
                ),
            )
        ],
    )


def _cost(progress: Progress) -> Section:
    head = ["spent", "a proof", "of it on failures", "tokens", "tokens a proof", "time", "time a proof"]
    stages = stages_of(progress)
    shown = [(each.name, each.group) for each in stages.items]
    if len(shown) > 1:
        shown.append(("all", progress.whole))
    rows = [[name, f"{group.outcomes.proofs:,}", *_spent(group)] for name, group in shown]
    spent = progress.whole.spent
    gaps: list[str] = []
    if spent.unpriced_calls:
        gaps.append(f"{spent.unpriced_calls:,} of {spent.calls:,} calls of models bear no cost")
    if spent.uncounted_calls:
        gaps.append(f"{spent.uncounted_calls:,} bear no tokens")
    lack = f" {' and '.join(gaps)}, so the figures with ≥ are too low." if gaps else ""
    return Section(
        "cost",
        "Cost of a proof",
        "All that was spent, on failed attempts and on a run as a whole too, divided by the theorems that were proved. "
        f"Times are added up, also of what ran side by side.{lack}",
        [
            Part(
                [Table(f"Costs by {stages.what}", [stages.what, "proved", *head], rows)],
                Chart(
                    "costs",
                    f"What a proved theorem cost in each {stages.what}.",
                    lambda axes: charts.draw_costs(axes, progress),
                ),
            )
        ],
    )


def _failures(progress: Progress) -> Section:
    shown = list(progress.failures.items())[:MOST_FAILURES]
    rest = progress.failed - sum(rows for _, rows in shown)
    if rest:
        shown.append((f"{len(progress.failures) - MOST_FAILURES:,} other reasons", rest))
    most = max(rows for _, rows in shown)
    table = Table(
        f"{progress.failed:,} failed rows by reason",
        ["reason", "rows", "share"],
        [[visible(kind) or "(no reason told)", f"{rows:,}", percent(rows, progress.failed)] for kind, rows in shown],
        bars=[100 * rows / most for _, rows in shown],
    )
    return Section(
        "failures",
        "Why attempts failed",
        "Rows of tactics, calls and verdicts that failed, by the reason that they name.",
        [Part([table])],
    )


def _runs(progress: Progress) -> Section:
    head = ["rows", "attempted", "proved", "share", "95% interval", "spent", "a proof", "tokens"]
    latest = progress.runs[-MOST_RUNS:]
    runs = [
        [
            visible(run.run_id) or NO_NAME,
            ", ".join(map(visible, run.models)) or NONE,
            _few(iteration_words(number) for number in run.iterations),
            _days(run.group),
            *_success_and_cost(run.group),
        ]
        for run in latest
    ]
    models = [[visible(model.name) or NO_NAME, *_success_and_cost(model.group)] for model in progress.models]
    return Section(
        "runs",
        "Runs and models",
        "Shares are of the theorems that a run or model attempted; compare those that attempted the same.",
        [
            Part(
                [
                    Table(
                        "Runs, in the order in which they began",
                        ["run", "models", "iterations", "when", *head],
                        runs,
                        texts=4,
                        note=_cut(len(latest), len(progress.runs), "runs"),
                    ),
                    Table("Models, as rows name them", ["model", *head], models),
                ]
            )
        ],
    )


def _success_and_cost(group: Group) -> list[str]:
    return [
        f"{group.rows:,}",
        f"{group.outcomes.attempted:,}",
        f"{group.outcomes.proved:,}",
        share_words(group.success),
        interval_words(group.success),
        *_spent(group)[:2],
        _at_least(amount(group.spent.tokens), group.spent.uncounted_calls),
    ]


def _spent(group: Group) -> list[str]:
    spent, per_proof = group.spent, group.per_proof

    def divided(said: str) -> str:
        return said if group.outcomes.proofs else "no proof"

    return [
        _at_least(money(spent.cost_nanodollars), spent.unpriced_calls),
        divided(_at_least(money(per_proof.nanodollars), spent.unpriced_calls)),
        divided(_at_least(money(per_proof.nanodollars_of_failures), spent.unpriced_calls)),
        _at_least(amount(spent.tokens), spent.uncounted_calls),
        divided(_at_least(amount(per_proof.tokens), spent.uncounted_calls)),
        duration(spent.duration_ms),
        divided(duration(per_proof.duration_ms)),
    ]


def _at_least(said: str, missing: int) -> str:
    return f"≥ {said}" if missing and said not in {UNKNOWN, NONE} else said


def _unpriced(spent: Spent) -> str:
    if spent.cost_nanodollars is None or not spent.unpriced_calls:
        return ""
    return f" {spent.unpriced_calls:,} of {spent.calls:,} calls of models bear no cost, so it is more."


def _counts(labels: LabelCounts) -> list[str]:
    return [f"{labels.positive:,}", f"{labels.negative:,}", f"{labels.unknown:,}"]


def _positive(labels: LabelCounts) -> str:
    return percent(labels.positive, labels.total)


def _days(group: Group) -> str:
    first, last = day(group.first_ms), day(group.last_ms)
    return first if first == last else f"{first} to {last}"


def _few(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every) if len(every) <= 6 else f"{', '.join(every[:3])}, … {', '.join(every[-2:])}"


def _cut(shown: int, count: int, what: str) -> str:
    return f"The last {shown:,} of {count:,} {what}; --json tells all." if shown < count else ""
