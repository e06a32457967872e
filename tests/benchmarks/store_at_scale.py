"""The trajectory store beside plain pyarrow: `python tests/benchmarks/store_at_scale.py [--rows 1000000 10000000]`.

Both sides get the same made-up search: attempts of 40 states each, three at every theorem, far apart in time. Plain
pyarrow does only the work that is named: it writes the same rows to Parquet, turns the same JSON Lines into Parquet,
opens, scans, looks a theorem up and takes a mix without order, ids, locks, trees or seeds to keep to. Each stage of
each side is a process of its own, and its most resident memory is the stage's. Prints seconds, their ratio, memory,
and how the seconds grow from the fewest rows to the most. Ten million rows take about 20 GB of disk, and an hour.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from made_up_search import ATTEMPT_ROWS, Search

from ekiden_store import Store

PART_ROWS = 1_000_000
LOOK_UPS = 9
MIX = {
    "seed": 42,
    "sources": [
        {
            "name": "proofs",
            "kind": "store",
            "rows": {"labels": ["positive"], "origins": ["search"], "min_depth": 1},
            "subsample": 10_000,
            "upsample": 10,
        }
    ],
    "validation": {"fraction": 0.05},
}


@dataclass(frozen=True, order=True)
class Took:
    """The time that something took."""

    seconds: float
    processor_s: float

    def __add__(self, other: "Took") -> "Took":
        return Took(self.seconds + other.seconds, self.processor_s + other.processor_s)


class Stage(NamedTuple):
    """What a stage has to work with."""

    search: Search
    folder: Path

    @property
    def store(self) -> Path:
        """The folder of our store."""
        return self.folder / "store"

    @property
    def plain(self) -> Path:
        """The folder of plain pyarrow's Parquet files."""
        return self.folder / "plain"

    def theorems(self) -> list[str]:
        """Return the names of some theorems."""
        attempts = self.search.share_rows // ATTEMPT_ROWS
        places = ((attempts * place // LOOK_UPS, place % self.search.shares) for place in range(LOOK_UPS))
        return [self.search.attempt(*place)[0].theorem_name for place in places]


def our_append(stage: Stage) -> Took:
    store = Store(stage.store)
    stage.search.fill(store)
    took = Took(0, 0)
    with store.writer(producer="benchmark") as writer:
        for steps in stage.search.batches(stage.search.shares - 1):
            took += timed(writer.append, steps)
    return took


def plain_append(stage: Stage) -> Took:
    from ekiden_store.arrow import pa, pq
    from ekiden_store.schema import LINE_SCHEMA
    from ekiden_store.steps import step_line

    def write(writer: Any, rows: list[dict[str, object]]) -> None:
        writer.write_table(pa.Table.from_pylist(rows, LINE_SCHEMA))

    took = Took(0, 0)
    with pq.ParquetWriter(stage.folder / "appended.parquet", LINE_SCHEMA, compression="zstd") as writer:
        for steps in stage.search.batches(stage.search.shares - 1):
            rows = [json.loads(step_line(step, row_id="", now_ms=0, producer="benchmark")) for step in steps]
            took += timed(write, writer, rows)
    (stage.folder / "appended.parquet").unlink()
    return took


def our_compact(stage: Stage) -> Took:
    from ekiden_store.compaction import compact
    from ekiden_store.layout import Layout

    return timed(compact, Layout(stage.store))


def plain_compact(stage: Stage) -> Took:
    from ekiden_store.arrow import pa, pj, pq
    from ekiden_store.schema import LINE_SCHEMA

    stage.plain.mkdir()
    parsing = pj.ParseOptions(explicit_schema=LINE_SCHEMA, unexpected_field_behavior="ignore")
    reading = pj.ReadOptions(block_size=32 << 20)

    def rewrite() -> None:
        waiting = sorted((stage.store / "wal").glob("*/*.jsonl"))
        number = 0
        while waiting:
            written = 0
            with pq.ParquetWriter(stage.plain / f"{number:04}.parquet", LINE_SCHEMA, compression="zstd") as writer:
                while waiting and written < PART_ROWS:
                    with pj.open_json(waiting.pop(0), parse_options=parsing, read_options=reading) as reader:
                        for batch in reader:
                            writer.write_table(pa.Table.from_batches([batch]))
                            written += batch.num_rows
            number += 1

    return timed(rewrite)


def our_open(stage: Stage) -> Took:
    def open_() -> None:
        with Store(stage.store).snapshot() as snapshot:
            check(snapshot.count(), stage.search.rows)

    return best(open_)


def plain_open(stage: Stage) -> Took:
    from ekiden_store.arrow import ds

    return best(lambda: check(ds.dataset(stage.plain).count_rows(), stage.search.rows))


def our_scan(stage: Stage) -> Took:
    from ekiden_store.arrow import pc

    with Store(stage.store).snapshot() as snapshot:

        def scan() -> None:
            columns = ["theorem_name", "state_pp", "tactic_applied"]
            found = sum(
                batch.num_rows for batch in snapshot.scan(columns=columns, filter=pc.field("label") == "positive")
            )
            check(found, stage.search.positives)

        return best(scan)


def plain_scan(stage: Stage) -> Took:
    from ekiden_store.arrow import ds, pc

    dataset = ds.dataset(stage.plain)

    def scan() -> None:
        columns = ["theorem_name", "state_pp", "tactic_applied"]
        found = sum(
            batch.num_rows for batch in dataset.to_batches(columns=columns, filter=pc.field("label") == "positive")
        )
        check(found, stage.search.positives)

    return best(scan)


def our_replay(stage: Stage) -> Took:
    from ekiden_store.queries.trees import read_trees

    with Store(stage.store).snapshot() as snapshot:

        def replay(theorem: str) -> None:
            check(sum(len(tree.nodes) for tree in read_trees(snapshot, theorem=theorem)) % ATTEMPT_ROWS, 0)

        return statistics.median_low(timed(replay, theorem) for theorem in stage.theorems())


def plain_replay(stage: Stage) -> Took:
    from ekiden_store.arrow import ds, pc

    dataset = ds.dataset(stage.plain)

    def replay(theorem: str) -> None:
        check(dataset.to_table(filter=pc.field("theorem_name") == theorem).num_rows % ATTEMPT_ROWS, 0)

    return statistics.median_low(timed(replay, theorem) for theorem in stage.theorems())


def our_mix(stage: Stage) -> Took:
    from ekiden_store.data_sets.exports import export_mix
    from ekiden_store.data_sets.mixes import Mix

    with Store(stage.store).snapshot() as snapshot:
        return timed(lambda: export_mix(Mix.model_validate(MIX), stage.folder / "mix", snapshot=snapshot))


def plain_mix(stage: Stage) -> Took:
    from ekiden_store.arrow import ds, pc

    def mix() -> None:
        dataset = ds.dataset(stage.plain)
        wanted = (pc.field("label") == "positive") & (pc.field("depth_from_root") >= 1)
        columns = ["attempt_id", "theorem_name", "parent_state_id", "tactic_applied", "depth_from_root"]
        found = dataset.to_table(columns=columns, filter=wanted)
        draw = random.Random(42)
        found = found.take(draw.sample(range(found.num_rows), min(10_000, found.num_rows)))
        parents = dataset.to_table(
            columns=["attempt_id", "state_id", "state_pp"],
            filter=pc.field("attempt_id").isin(found["attempt_id"].unique()),
        )
        lines = [
            json.dumps({"theorem": row["theorem_name"], "state": row["state_pp"], "tactic": row["tactic_applied"]})
            for row in found.join(parents, ["attempt_id", "parent_state_id"], ["attempt_id", "state_id"]).to_pylist()
        ] * 10
        draw.shuffle(lines)
        (stage.folder / "mix.jsonl").write_text("\n".join(lines), encoding="utf-8")

    return timed(mix)


def our_stats(stage: Stage) -> Took:
    from ekiden_store.queries.stats import read_stats

    with Store(stage.store).snapshot() as snapshot:
        return timed(lambda: check(read_stats(snapshot).rows, stage.search.rows))


def plain_stats(stage: Stage) -> Took:
    from ekiden_store.arrow import ds

    def count() -> None:
        dataset = ds.dataset(stage.plain)
        for names in (["label", "depth_from_root"], ["theorem_name", "label"], ["state_pp"], ["attempt_id"]):
            dataset.to_table(columns=names).group_by(names).aggregate([([], "count_all")])

    return timed(count)


def our_dedupe(stage: Stage) -> Took:
    from ekiden_store.queries.sampling import dedupe

    with Store(stage.store).snapshot() as snapshot:
        return timed(lambda: sum(table.num_rows for table in dedupe(snapshot, columns=["theorem_name", "state_pp"])))


def plain_dedupe(stage: Stage) -> Took:
    from ekiden_store.arrow import ds

    key = ["theorem_name", "state_pp", "tactic_applied"]
    return timed(lambda: ds.dataset(stage.plain).to_table(columns=key).group_by(key).aggregate([]))


STAGES: dict[str, tuple[Callable[[Stage], Took], Callable[[Stage], Took]]] = {
    "append": (our_append, plain_append),
    "compact": (our_compact, plain_compact),
    "open": (our_open, plain_open),
    "filtered scan": (our_scan, plain_scan),
    "replay": (our_replay, plain_replay),
    "mix": (our_mix, plain_mix),
    "stats": (our_stats, plain_stats),
    "dedupe": (our_dedupe, plain_dedupe),
}


def check(found: int, expected: int) -> None:
    """Stop if something else was found than there is."""
    if found != expected:
        raise SystemExit(f"{found} were found in place of {expected}")


def timed(work: Callable[..., object], *given: object) -> Took:
    """Return the time that some work takes."""
    started, busy = time.perf_counter(), time.process_time()
    work(*given)
    return Took(time.perf_counter() - started, time.process_time() - busy)


def best(work: Callable[[], object]) -> Took:
    """Return the least time that some work takes, of three times."""
    return min(timed(work) for _ in range(3))


def most_memory() -> int:
    """Return the most bytes of memory that this process has held."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


class Measured(NamedTuple):
    """What a stage took."""

    seconds: float
    processor_s: float
    memory: int


def in_a_process(name: str, side: int, stage: Stage) -> Measured:
    """Run one side of a stage in a process of its own."""
    command = [sys.executable, __file__, "--stage", name, "--side", str(side), "--folder", str(stage.folder)]
    found = subprocess.run([*command, "--rows", str(stage.search.rows)], stdout=subprocess.PIPE, check=True, text=True)
    return Measured(*json.loads(found.stdout))


def here(name: str, side: int, stage: Stage) -> Measured:
    """Run one side of a stage."""
    took = STAGES[name][side](stage)
    return Measured(took.seconds, took.processor_s, most_memory())


def measure(stage: Stage, run: Callable[[str, int, Stage], Measured]) -> dict[str, tuple[Measured, Measured]]:
    """Run all stages, print a table, and return what they took: ours first."""
    search = stage.search
    print(f"\n{search.rows:,} rows")
    heads = ("ours, s", "pyarrow, s", "ratio", "processor", "rows/s", "ours, MiB", "pyarrow, MiB")
    print(f"{'':14}" + "".join(f"{head:>14}" for head in heads))
    found: dict[str, tuple[Measured, Measured]] = {}
    for name in STAGES:
        plain = run(name, 1, stage) if name == "compact" else None  # ours removes what it reads
        ours = run(name, 0, stage)
        plain = plain or run(name, 1, stage)
        found[name] = ours, plain
        done = search.share_rows if name == "append" else search.rows
        ratios = ours.seconds / plain.seconds, ours.processor_s / plain.processor_s
        print(
            f"{name:14}{ours.seconds:14.3f}{plain.seconds:14.3f}{ratios[0]:14.2f}{ratios[1]:14.2f}"
            f"{done / ours.seconds:14,.0f}{ours.memory / 2**20:14,.0f}{plain.memory / 2**20:14,.0f}",
            flush=True,
        )
    for name, where in (("ours", stage.store), ("pyarrow", stage.plain)):
        size = sum(path.stat().st_size for path in where.rglob("*.parquet"))
        print(f"{name}: {size / search.rows:.1f} bytes a row in Parquet")
    return found


def main() -> None:
    """Measure all sizes that were asked for, or one stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, help="where the files lie meanwhile; they stay")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--side", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    searches = [Search.at_least(rows) for rows in sorted(given.rows)]
    if given.stage:
        print(json.dumps(here(given.stage, given.side, Stage(searches[0], given.folder))))
        return
    found: list[dict[str, tuple[Measured, Measured]]] = []
    for search in searches:
        with tempfile.TemporaryDirectory(prefix="ekiden-bench-") as folder:
            where = given.folder / str(search.rows) if given.folder else Path(folder)
            where.mkdir(parents=True, exist_ok=True)
            found.append(measure(Stage(search, where), in_a_process))
    few, many = searches[0].rows, searches[-1].rows
    if many > few:
        print(f"\nFrom {few:,} to {many:,} rows, {many / few:.1f} times as many, the processor's seconds grow")
        for name in STAGES:
            ours, plain = (found[-1][name][side].processor_s / found[0][name][side].processor_s for side in (0, 1))
            print(f"{name:14}{ours:8.1f} times, pyarrow's {plain:.1f} times")


if __name__ == "__main__":
    main()
