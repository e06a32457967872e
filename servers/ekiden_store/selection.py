"""Choosing theorems: all of them, less those that are left out, and some of what remains at random."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from ekiden_files import write_whole
from ekiden_store.errors import StoreError, one_line
from ekiden_store.sampling_hashes import text_digest


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What became of one set of names that were to be left out.

    Attributes:
        named: How many names it holds.
        found: How many of those are among the theorems.
        alone: How many theorems it leaves out that no other set leaves out.
    """

    named: int
    found: int
    alone: int


@dataclass(frozen=True, slots=True)
class Selection:
    """Theorems that were chosen, and how.

    Attributes:
        total: How many there were.
        excluded: How many of those were left out, each counted once.
        eligible: How many remained.
        exclusions: What each set did.
        overlaps: How many theorems two sets leave out both, for each pair of sets that share some.
        seed: The seed.
        chosen: The names that were chosen, in the order of the alphabet.
    """

    total: int
    excluded: int
    eligible: int
    exclusions: dict[str, Exclusion]
    overlaps: dict[str, int]
    seed: int
    chosen: tuple[str, ...]


def select_theorems(
    theorems: Iterable[str], *, without: Mapping[str, Collection[str]], count: int | None, seed: int
) -> Selection:
    """Choose theorems at random among those that are not left out.

    The choice depends on the names and the seed, not on their order.

    Args:
        theorems: The names of all.
        without: Names that are left out, in sets that may overlap, each called something.
        count: How many to choose; None: all that remain.
        seed: Another seed chooses others.

    Raises:
        StoreError: Fewer remain.
    """
    everything = set(theorems)
    sets = {name: set(names) & everything for name, names in without.items()}
    excluded = set[str]().union(*sets.values())
    eligible = everything - excluded
    wanted = len(eligible) if count is None else count
    if not 0 <= wanted <= len(eligible):
        raise StoreError(
            f"{wanted} theorems cannot be chosen: of {len(everything)}, {len(excluded)} are left out, so "
            f"{len(eligible)} remain. Choose fewer, or leave out fewer."
        )
    ranked = sorted(eligible, key=lambda name: (text_digest("theorem", str(seed), name), name))
    overlaps = {
        f"{first} & {second}": len(shared)
        for first, second in combinations(sets, 2)
        if (shared := sets[first] & sets[second])
    }
    return Selection(
        total=len(everything),
        excluded=len(excluded),
        eligible=len(eligible),
        exclusions={name: _exclusion(name, len(set(without[name])), sets) for name in sets},
        overlaps=overlaps,
        seed=seed,
        chosen=tuple(sorted(ranked[:wanted])),
    )


def _exclusion(name: str, named: int, sets: Mapping[str, set[str]]) -> Exclusion:
    others = set[str]().union(*(names for other, names in sets.items() if other != name))
    return Exclusion(named, len(sets[name]), len(sets[name] - others))


def write_selection(path: Path, selection: Selection) -> None:
    """Write which theorems were chosen, and how, as JSON.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        write_whole(path, json.dumps(asdict(selection), ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be written: {one_line(error)}") from error


def read_names(path: Path) -> set[str]:
    """Return the names of theorems that a file holds.

    A JSON file is a list of names or of objects with a `name`, or an object with such a list as `theorems`, `easy` or
    `chosen`. Any other file has a name a line.

    Raises:
        StoreError: It cannot be read, or holds something else.
    """
    try:
        text = path.read_text("utf-8")
        found: object = json.loads(text) if path.suffix == ".json" else [line for line in text.splitlines() if line]
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error}.") from error
    if isinstance(found, dict):
        table = cast("dict[str, Any]", found)
        found = next((table[key] for key in ("chosen", "theorems", "easy") if key in table), None)
    if not isinstance(found, list):
        raise StoreError(f"{str(path)!r} holds no list of theorems.")
    return {_name(each, path) for each in cast("list[object]", found)}


def _name(value: object, path: Path) -> str:
    name = cast("dict[str, object]", value).get("name") if isinstance(value, dict) else value
    if not isinstance(name, str) or not name.strip():
        raise StoreError(f"{str(path)!r} holds {value!r:.80}, which names no theorem.")
    return name.strip()
