"""A drill: writers, a compactor and readers of one store, killed or stopped for a while at random moments.

    python crash_drill.py FOLDER SECONDS SEED

It prints what happened as JSON. What writers were told is in FOLDER/acknowledged, a file for each writer.
"""

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ekiden_store import Step, Store
from ekiden_store.compaction import compact  # imported before the forks, so that children start at once
from ekiden_store.row_ids import known_ids

_WRITERS = 8
_READERS = 2
_SEGMENT_BYTES = 20_000
_PART_ROWS = 3_000
_MOST_STOPPED = 4
_STOPPED_SHARE = 0.2

_PRELOADED = (compact, known_ids)


def acknowledged_ids(folder: Path) -> set[str]:
    """Return the ids that writers were told of; an id whose writing was cut short does not count."""
    ids: set[str] = set()
    for path in (folder / "acknowledged").iterdir():
        ids.update(path.read_text().split("\n")[:-1])
    return ids


def _write(folder: Path, slot: int, seed: int) -> None:
    """Append until killed; a batch whose fate is not known is sent again under the same ids."""
    dice = random.Random(seed)
    intent = folder / "intents" / f"{slot}.json"
    told = os.open(folder / "acknowledged" / f"{slot}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    with Store(folder / "store").writer(segment_bytes=_SEGMENT_BYTES) as writer:

        def append(ids: list[str]) -> None:
            steps = [_step(slot, dice, row_id) for row_id in ids]
            os.write(told, "".join(f"{row_id}\n" for row_id in writer.append(steps)).encode())

        if intent.exists():
            append(json.loads(intent.read_text()))
        while True:
            if dice.random() < 0.05:
                ids = [f"given-{slot}-{dice.getrandbits(64):x}" for _ in range(dice.randrange(1, 9))]
                temporary = intent.with_suffix(".part")
                temporary.write_text(json.dumps(ids))
                temporary.replace(intent)
                append(ids)
            else:
                append([""] * dice.choice((1, 1, 1, 2, 5, 30)))


def _step(slot: int, dice: random.Random, row_id: str) -> Step:
    return Step(
        theorem_name=f"theorem {slot}",
        kind="search_node",
        row_id=row_id,
        state_id=dice.getrandbits(64),
        state_pp="x : ℕ\n⊢ " + "x + " * dice.choice((1, 10, 100)) + "0 = x",
    )


def _compact(folder: Path, seed: int) -> None:
    store = Store(folder / "store")
    pause = threading.Event()
    dice = random.Random(seed)
    while True:
        store.compact(part_rows=_PART_ROWS)
        pause.wait(dice.random() / 20)


def _read(folder: Path, slot: int, _seed: int) -> None:
    """Take snapshots until killed; leave a note if one fails, misses a row, or has one twice."""
    store = Store(folder / "store")
    while True:
        told = acknowledged_ids(folder)
        with store.snapshot() as snapshot:
            found = Counter(_ids(snapshot.scan(columns=["row_id"])))
            assert snapshot.count() == found.total()
        twice = [row_id for row_id, times in found.items() if times > 1]
        missing = told - found.keys()
        assert not twice, f"{len(twice)} rows twice, as {twice[:3]}"
        assert not missing, f"{len(missing)} of {len(told)} rows missing, as {sorted(missing)[:3]}"
        with (folder / "reads" / f"{slot}").open("a") as file:
            file.write(f"{found.total()}\n")


def _ids(reader: object) -> list[str]:
    return [row_id for batch in reader for row_id in batch.column(0).to_pylist()]  # type: ignore[attr-defined]


def _fork(work: Callable[[], None], trouble: Path) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:  # noqa: BLE001  # whatever it is, the drill has failed
        trouble.write_text(traceback.format_exc())
    finally:
        os._exit(1)


def main() -> None:
    """Run the drill."""
    folder, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    for name in ("acknowledged", "intents", "reads", "trouble"):
        (folder / name).mkdir()
    Store(folder / "store")
    dice = random.Random(seed)
    roles: dict[str, Callable[[int], None]] = {
        **{f"writer-{n}": lambda s, n=n: _write(folder, n, s) for n in range(_WRITERS)},
        **{f"reader-{n}": lambda s, n=n: _read(folder, n, s) for n in range(_READERS)},
        "compactor": lambda s: _compact(folder, s),
    }
    starts = 0

    def start(role: str) -> int:
        nonlocal starts
        starts += 1
        own = dice.getrandbits(32)
        return _fork(lambda: roles[role](own), folder / "trouble" / f"{role}-{starts}")

    children = {role: start(role) for role in roles}
    pause = threading.Event()
    end = time.monotonic() + seconds
    kills: Counter[str] = Counter()
    stopped: list[str] = []
    while time.monotonic() < end:
        pause.wait(dice.random() / 10)
        role = dice.choice([name for name in roles if not name.startswith("reader")])
        if len(stopped) > dice.randrange(_MOST_STOPPED):
            os.kill(children[stopped.pop(0)], signal.SIGCONT)
        if dice.random() < _STOPPED_SHARE and role not in stopped:
            os.kill(children[role], signal.SIGSTOP)
            stopped.append(role)
            kills[f"stopped {role.split('-')[0]}"] += 1
            continue
        if role in stopped:
            stopped.remove(role)
        os.kill(children[role], signal.SIGKILL)
        os.waitpid(children[role], 0)
        kills[role.split("-")[0]] += 1
        children[role] = start(role)
    for child in children.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    reads = sum(path.read_text().count("\n") for path in (folder / "reads").iterdir())
    trouble = {path.name: path.read_text() for path in (folder / "trouble").iterdir()}
    print(json.dumps({"kills": kills, "reads": reads, "trouble": trouble}))


if __name__ == "__main__":
    main()
