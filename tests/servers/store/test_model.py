"""Whatever is done with a store in whatever order, it holds what a list of acknowledged rows holds."""

import os
import shutil
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from ekiden_store import Snapshot, Step, Store, Writer

Rows = dict[str, int]


def rows_in(snapshot: Snapshot) -> Rows:
    table = snapshot.scan(columns=["row_id", "state_id"]).read_all()
    found: Rows = dict(zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True))
    assert len(found) == table.num_rows == snapshot.count()
    return found


def step(number: int, row_id: str = "") -> Step:
    return Step(
        theorem_name=f"t{number % 3}", kind="tactic", state_id=number, row_id=row_id, state_pp="ℕ" * (number % 50)
    )


class StoreMachine(RuleBasedStateMachine):
    """A store, and what it must hold."""

    writers = Bundle[Writer]("writers")
    snapshots = Bundle[tuple[Snapshot, Rows]]("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store(self.folder)
        self.rows: Rows = {}
        self.number = 0
        self.has_torn_tails = False
        self.to_be_closed = ExitStack()

    def batch(self, ids: list[str]) -> list[Step]:
        self.number += len(ids)
        return [step(self.number - place, row_id) for place, row_id in enumerate(ids)]

    def note(self, steps: list[Step], told: list[str]) -> None:
        for one, row_id in zip(steps, told, strict=True):
            self.rows.setdefault(row_id, one.state_id)

    @rule(target=writers, segment_bytes=st.sampled_from([1, 500, 1 << 20]))
    def begin(self, segment_bytes: int) -> Writer:
        return self.to_be_closed.enter_context(self.store.writer(segment_bytes=segment_bytes))

    @rule(writer=writers, rows=st.integers(0, 5), sync=st.booleans())
    def append(self, writer: Writer, rows: int, sync: bool) -> None:
        steps = self.batch([""] * rows)
        self.note(steps, writer.append(steps, sync=sync))

    @rule(writer=writers, ids=st.lists(st.sampled_from(["a", "b", "c\0", "ℕ", ""]), max_size=4))
    def append_with_ids(self, writer: Writer, ids: list[str]) -> None:
        steps = self.batch(ids)
        self.note(steps, writer.append(steps))

    @rule(writer=writers)
    def seal(self, writer: Writer) -> None:
        writer.close()

    @rule(batches=st.lists(st.integers(1, 3), max_size=3), torn=st.binary(max_size=20))
    def append_and_be_killed(self, batches: list[int], torn: bytes) -> None:
        reading, writing = os.pipe()
        every = [self.batch([""] * rows) for rows in batches]
        child = os.fork()
        if child == 0:
            writer = self.store.writer()
            for steps in every:
                os.write(writing, "".join(f"{row_id}\n" for row_id in writer.append(steps)).encode())
            for path in (self.folder / "wal" / writer.name).glob("*.jsonl"):
                with path.open("ab") as file:
                    file.write(torn.replace(b"\n", b""))
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(writing)
        with os.fdopen(reading) as told:
            ids = told.read().splitlines()
        os.waitpid(child, 0)
        self.has_torn_tails |= bool(torn)
        self.note([one for steps in every for one in steps], ids)

    @rule(part_rows=st.sampled_from([1, 5, 1_000]))
    def compact(self, part_rows: int) -> None:
        kinds = {finding.kind for finding in self.store.compact(part_rows=part_rows).findings}
        assert kinds <= ({"torn_tail"} if self.has_torn_tails else set())

    @rule()
    def open_again(self) -> None:
        self.store = Store(self.folder)
        assert {finding.kind for finding in self.store.found.findings} <= {"torn_tail"}

    @rule()
    def check(self) -> None:
        assert {finding.kind for finding in self.store.check().findings} <= {"torn_tail"}

    @rule(target=snapshots)
    def look(self) -> tuple[Snapshot, Rows]:
        return self.to_be_closed.enter_context(self.store.snapshot()), dict(self.rows)

    @rule(pair=consumes(snapshots))
    def look_back(self, pair: tuple[Snapshot, Rows]) -> None:
        snapshot, rows = pair
        assert rows_in(snapshot) == rows
        snapshot.close()

    @invariant()
    def holds_what_was_acknowledged(self) -> None:
        with self.store.snapshot() as snapshot:
            assert rows_in(snapshot) == self.rows
            assert snapshot.findings == []

    def teardown(self) -> None:
        self.to_be_closed.close()
        shutil.rmtree(self.folder)


@pytest.mark.timeout(300)
def test_a_store_holds_what_was_acknowledged_whatever_is_done_in_whatever_order():
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]  # its annotations are partial
        StoreMachine,
        settings=settings(
            max_examples=int(os.environ.get("EKIDEN_STORE_EXAMPLES", "6")),
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
