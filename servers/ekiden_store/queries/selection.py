"""Choosing theorems: all of them, less those that are left out, and some of what remains at random."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ekiden_files import write_whole
from ekiden_store.errors import StoreError, one_line
from ekiden_store.queries.sampling_hashes import text_digest

if TYPE_CHECKING:
    from ekiden_store.snapshot import Snapshot


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


def write_selection(path: Path, selection: Selection, *, entries: Mapping[str, object] | None = None) -> None:
    """Write which theorems were chosen: how as well if the file's name ends in `.json`, else a name a line.

    Args:
        path: The file.
        selection: What was chosen.
        entries: What an index says of each theorem, as `read_index` returns it: a JSON file gets it as `theorems`, so
            that it is such an index itself.

    Raises:
        StoreError: It cannot be written.
    """
    told = asdict(selection)
    if entries and any(entries[name] != name for name in selection.chosen):
        told["theorems"] = [entries[name] for name in selection.chosen]
    as_json = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
    text = as_json if path.suffix == ".json" else "".join(f"{name}\n" for name in selection.chosen)
    try:
        write_whole(path, text)
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be written: {one_line(error)}") from error


def read_names(path: Path) -> set[str]:
    """Return the names of theorems that a file holds, as `read_index` does, without what it says of them."""
    return set(read_index(path))


def read_index(path: Path) -> dict[str, object]:
    """Return the names of theorems that a file holds, and what it says of each: the name, or an object with more.

    A JSON file is a list of names or of objects with a `name`, or an object with such a list as `theorems`, `chosen` or
    `easy`. Any other file has a name a line.

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
        found = next((table[key] for key in ("theorems", "chosen", "easy") if key in table), None)
    if not isinstance(found, list):
        raise StoreError(f"{str(path)!r} holds no list of theorems.")
    return {_name(each, path): each for each in cast("list[object]", found)}


def read_depths(path: Path) -> dict[str, int]:
    """Return how deep the deepest tactic of each theorem is, from lines of JSON with `theorem` and `depth`.

    Raises:
        StoreError: It cannot be read, or holds something else.
    """
    depths: dict[str, int] = {}
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                row: object = json.loads(line)
                told = cast("dict[str, object]", row) if isinstance(row, dict) else {}
                theorem, depth = told.get("theorem"), told.get("depth")
                if not isinstance(theorem, str) or type(depth) is not int:
                    raise StoreError(f"Line {number} of {str(path)!r} has no theorem with a depth.")
                depths[theorem] = max(depths.get(theorem, depth), depth)
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error}.") from error
    return depths


def stored_names(snapshot: "Snapshot", *, attempted: bool = False, proved: bool = False, where: Any = None) -> set[str]:
    """Return the names of the theorems of a store.

    Args:
        snapshot: The store.
        attempted: Only those that were attempted: copied proofs are no attempt.
        proved: Only those of which a proof was completed in an attempt.
        where: Only those with such rows: a pyarrow expression; None: all.

    Raises:
        StoreError: The rows cannot be read.
    """
    from ekiden_store.arrow import pa, pc
    from ekiden_store.queries.proofs import Proofs, attempts_alone
    from ekiden_store.queries.row_filter import both

    if attempted or proved:
        where = both(where, attempts_alone())
    proofs = Proofs(snapshot) if proved else None
    if proofs:
        where = both(where, pc.field("is_proof_complete"))
    names: set[str] = set()
    for batch in snapshot.scan(columns=("theorem_name", *(proofs.columns if proofs else ())), filter=where):
        table = pa.Table.from_batches([batch])
        chosen = table.filter(proofs.completed(table).proved) if proofs else table
        names.update(chosen.column("theorem_name").unique().to_pylist())
    return names - {""}


def _name(value: object, path: Path) -> str:
    name = cast("dict[str, object]", value).get("name") if isinstance(value, dict) else value
    if not isinstance(name, str) or not name.strip():
        raise StoreError(f"{str(path)!r} holds {value!r:.80}, which names no theorem.")
    return name.strip()
