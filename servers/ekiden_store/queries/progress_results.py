"""What was counted of a store, gathered by iteration, run and model."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ekiden_store.queries.progress_figures import (
    Depth,
    Group,
    Iteration,
    Model,
    Outcomes,
    PerProof,
    Progress,
    Run,
    Share,
    Spent,
)
from ekiden_store.queries.progress_tables import (
    ACCEPTED,
    ASKED,
    GAVE_UP,
    NO_LENGTH,
    PROVED,
    Indices,
    Rows,
    Scenes,
    Theorems,
)
from ekiden_store.queries.sampling_hashes import Distinct
from ekiden_store.queries.stats import LabelCounts, total_labels

_NEVER = 2**64


@dataclass(slots=True)
class Tallies:
    """What was counted: by the number of a scene where nothing else is said."""

    scenes: Scenes = field(default_factory=Scenes)
    rows: Counter[int] = field(default_factory=Counter[int])
    labels: dict[int, LabelCounts] = field(default_factory=dict[int, LabelCounts])
    times: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    spent: dict[int, Spent] = field(default_factory=dict[int, Spent])
    kinds: Counter[str] = field(default_factory=Counter[str])
    origins: Counter[str] = field(default_factory=Counter[str])
    labels_by_origin: dict[str, LabelCounts] = field(default_factory=dict[str, LabelCounts])
    depths: dict[int, Depth] = field(default_factory=dict[int, Depth])
    failures: Counter[str] = field(default_factory=Counter[str])
    attempts: Distinct = field(default_factory=Distinct)
    theorems: Distinct = field(default_factory=Distinct)
    known: Theorems = field(default_factory=Theorems)


class _Gathered(NamedTuple):
    """Scenes put together.

    Attributes:
        numbers: The scenes of each group.
        outcomes: What became of theorems in each.
        first_attempts: How many theorems were first attempted in each group.
        first_proofs: How many were first proved in each.
    """

    numbers: list[list[int]]
    outcomes: list[Outcomes]
    first_attempts: Indices
    first_proofs: Indices


def progress_of(tallies: Tallies, asked: int | None) -> Progress:
    """Return what was counted as figures.

    Args:
        tallies: What was counted.
        asked: How many theorems were to be proved; None: not told.
    """
    everything = _gathered(tallies, [0] * len(tallies.scenes), 1)
    _count_by_depth(tallies)
    whole = _group(tallies, everything, 0, asked)
    named = len(tallies.theorems)
    tried = sum(len(np.unique(rows.theorems)) for rows in tallies.known.buckets())
    return Progress(
        whole=whole,
        kinds=dict(sorted(tallies.kinds.items())),
        origins=dict(sorted(tallies.origins.items())),
        attempts=len(tallies.attempts),
        theorems=named,
        copied=named - tried,
        asked=asked,
        not_attempted=None if asked is None else asked - whole.outcomes.attempted,
        iterations=_iterations(tallies, asked),
        runs=_runs(tallies, asked),
        models=_models(tallies),
        labels_by_origin=dict(sorted(tallies.labels_by_origin.items())),
        depths=dict(sorted(tallies.depths.items())),
        failed=tallies.failures.total(),
        failures=dict(sorted(tallies.failures.items(), key=lambda item: (-item[1], item[0]))),
    )


def _count_by_depth(tallies: Tallies) -> None:
    """Count the theorems whose search came to each depth, and whose shortest proof ends there."""
    deepest: Counter[int] = Counter()
    for rows in tallies.known.buckets():
        together = replace(rows, groups=np.zeros_like(rows.groups)).reduced()
        chosen = together.at(together.has(ASKED))
        for depth, theorems in _counted(chosen.deepest):
            deepest[depth] += theorems
        for depth, theorems in _counted(chosen.shortest[chosen.shortest != NO_LENGTH]):
            tallies.depths.setdefault(depth, Depth()).finished += theorems
    deeper = 0
    for depth in sorted(tallies.depths, reverse=True):
        deeper += deepest[depth]
        tallies.depths[depth].reached = deeper


def _iterations(tallies: Tallies, asked: int | None) -> list[Iteration]:
    numbers = _in_order({scene.iteration for scene in tallies.scenes})
    places = {number: place for place, number in enumerate(numbers)}
    gathered = _gathered(tallies, [places[scene.iteration] for scene in tallies.scenes], len(numbers))
    so_far = _so_far(gathered, asked)
    return [
        Iteration(number, _group(tallies, gathered, place, asked), int(gathered.first_proofs[place]), so_far[place])
        for place, number in enumerate(numbers)
    ]


def _runs(tallies: Tallies, asked: int | None) -> list[Run]:
    scenes = list(tallies.scenes)
    began: dict[str, int] = {}
    for number, scene in enumerate(scenes):
        first, _ = tallies.times.get(number, (_NEVER, _NEVER))
        began[scene.run] = min(began.get(scene.run, _NEVER), first)
    names = sorted(began, key=lambda name: (began[name], name))
    places = {name: place for place, name in enumerate(names)}
    gathered = _gathered(tallies, [places[scene.run] for scene in scenes], len(names))
    so_far = _so_far(gathered, asked)
    runs: list[Run] = []
    for place, name in enumerate(names):
        mine = [scenes[number] for number in gathered.numbers[place]]
        runs.append(
            Run(
                run_id=name,
                group=_group(tallies, gathered, place, None),
                iterations=_in_order({scene.iteration for scene in mine}),
                models=sorted({scene.model for scene in mine} - {""}),
                new=int(gathered.first_proofs[place]),
                so_far=so_far[place],
            )
        )
    return runs


def _so_far(gathered: _Gathered, asked: int | None) -> list[Share]:
    attempted, proved = np.cumsum(gathered.first_attempts).tolist(), np.cumsum(gathered.first_proofs).tolist()
    return [Share.of(part, whole if asked is None else asked) for part, whole in zip(proved, attempted, strict=True)]


def _models(tallies: Tallies) -> list[Model]:
    names = sorted({scene.model for scene in tallies.scenes})
    places = {name: place for place, name in enumerate(names)}
    gathered = _gathered(tallies, [places[scene.model] for scene in tallies.scenes], len(names))
    return [Model(name, _group(tallies, gathered, place, None)) for place, name in enumerate(names)]


def _group(tallies: Tallies, gathered: _Gathered, place: int, asked: int | None) -> Group:
    numbers, outcomes = gathered.numbers[place], gathered.outcomes[place]
    spent = Spent()
    for number in numbers:
        spent.add(tallies.spent.get(number, Spent()))
    times = [tallies.times[number] for number in numbers if number in tallies.times]
    return Group(
        rows=sum(tallies.rows[number] for number in numbers),
        labels=total_labels(tallies.labels.get(number, LabelCounts()) for number in numbers),
        outcomes=outcomes,
        success=Share.of(outcomes.proved, outcomes.attempted if asked is None else asked),
        spent=spent,
        per_proof=PerProof.of(spent, outcomes.proofs, outcomes.failed_nanodollars),
        first_ms=min((first for first, _ in times), default=None),
        last_ms=max((last for _, last in times), default=None),
    )


def _gathered(tallies: Tallies, groups: Sequence[int], count: int) -> _Gathered:
    """Put scenes together.

    Args:
        tallies: What was counted.
        groups: The group of each scene.
        count: How many groups there are.
    """
    group_of = np.array(groups, dtype=np.int64)
    tries, proofs, proved, accepted, gave_up, costs, first_attempts, first_proofs = np.zeros((8, count), dtype=np.int64)
    lengths: list[Counter[int | None]] = [Counter() for _ in range(count)]
    for known in tallies.known.buckets():
        rows = replace(known, groups=group_of[known.groups]).reduced()
        is_proved, is_asked = rows.has(PROVED), rows.has(ASKED)
        counted = is_proved & is_asked
        tries += np.bincount(rows.groups[is_asked], minlength=count)
        proofs += np.bincount(rows.groups[is_proved], minlength=count)
        proved += np.bincount(rows.groups[counted], minlength=count)
        accepted += np.bincount(rows.groups[counted & rows.has(ACCEPTED)], minlength=count)
        gave_up += np.bincount(rows.groups[is_asked & ~is_proved & rows.has(GAVE_UP)], minlength=count)
        np.add.at(costs, rows.groups[~is_proved], rows.costs[~is_proved])
        first_attempts += _firsts(rows.at(is_asked), count)
        first_proofs += _firsts(rows.at(counted), count)
        told = (rows.groups[counted] << np.int64(33)) | rows.shortest[counted]
        for place, theorems in _counted(told):
            group, length = divmod(place, 1 << 33)
            lengths[group][None if length == NO_LENGTH else length] += theorems
    outcomes = [
        Outcomes(
            attempted=int(tries[group]),
            proved=int(proved[group]),
            accepted=int(accepted[group]),
            gave_up=int(gave_up[group]),
            proofs=int(proofs[group]),
            failed_nanodollars=int(costs[group]),
            lengths=dict(sorted(lengths[group].items(), key=lambda item: (item[0] is None, item[0] or 0))),
        )
        for group in range(count)
    ]
    numbers: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(groups):
        numbers[group].append(number)
    return _Gathered(numbers, outcomes, first_attempts, first_proofs)


def _in_order(iterations: Iterable[int | None]) -> list[int | None]:
    return sorted(iterations, key=lambda number: (number is None, number or 0))


def _firsts(rows: Rows, count: int) -> Indices:
    """Return for how many theorems each group is the first."""
    _, places = np.unique(rows.theorems, return_index=True)  # in order of theorems, then of groups
    return np.bincount(rows.groups[places], minlength=count)


def _counted(values: Indices) -> Iterator[tuple[int, int]]:
    found, counts = np.unique(values, return_counts=True)
    yield from zip(found.tolist(), counts.tolist(), strict=True)
