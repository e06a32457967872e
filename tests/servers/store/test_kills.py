"""Whatever a process was about to do with files when it was killed, nothing is lost and nothing doubled."""

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ekiden_store import Step, Store
from ekiden_store.arrow import pq
from ekiden_store.compaction import compact  # imported before the forks, so that what they do with files is the store's
from ekiden_store.legacy import import_parquet
from ekiden_store.parts import read_through
from ekiden_store.rescue import rescued

_PRELOADED = (compact, import_parquet, read_through, rescued)
_KILLED = 9
_LASTING = {"open", "os.remove", "os.rename", "os.link", "os.mkdir", "os.rmdir", "os.truncate", "fcntl.flock"}


def node(number: int, row_id: str = "") -> Step:
    return Step(theorem_name=f"t{number % 3}", kind="search_node", state_id=number, row_id=row_id)


def states(store: Store) -> list[int]:
    with store.snapshot() as snapshot:
        assert snapshot.findings == []
        return sorted(snapshot.scan(columns=["state_id"]).read_all().column(0).to_pylist())


def is_killed_before(step: int, work: Callable[[], object]) -> bool:
    """Do some work in a child that is killed before its so-manieth step with files; False: it ended before."""
    child = os.fork()
    if child == 0:
        numbers = itertools.count()

        def hook(event: str, _args: object) -> None:
            if event in _LASTING and next(numbers) == step:
                os._exit(_KILLED)  # nothing is flushed or unlocked by Python, as with a kill

        sys.addaudithook(hook)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, _KILLED}
    return status == _KILLED


def store_with_small_parts(folder: Path) -> Store:
    """Make a store with seven parts, a sealed segment and one that was cut short: a compaction then merges."""
    store = Store(folder)
    for number in range(7):
        with store.writer() as writer:
            writer.append([node(number)])
        store.compact()
    with store.writer(segment_bytes=1) as writer:
        for number in range(7, 10):
            writer.append([node(number)])
    last = sorted((folder / "wal").glob("*/*.jsonl"))[-1]
    last.write_bytes(last.read_bytes() + b'{"theorem_name":"t"')
    return store


def open_again(store: Store) -> Store:
    return Store(store.folder)


_CHANGES: list[Callable[[Store], object]] = [Store.compact, Store.check, open_again]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("work", _CHANGES, ids=["compact", "check", "open"])
def test_what_changes_files_may_be_killed_at_any_step(tmp_path: Path, work: Callable[[Store], object]):
    store_with_small_parts(tmp_path / "whole")
    step = 0
    for step in itertools.count():
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "whole", folder)
        was_killed = is_killed_before(step, lambda folder=folder: work(Store(folder)))
        store = Store(folder)
        assert states(store) == list(range(10))
        store.compact()
        assert states(store) == list(range(10))
        assert len(list((folder / "parts").iterdir())) == 1
        assert list((folder / "wal").iterdir()) == []
        shutil.rmtree(folder)
        if not was_killed:
            break
    assert step > 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_check_that_saves_what_a_damaged_part_holds_may_be_killed_at_any_step(tmp_path: Path):
    store = Store(tmp_path / "whole")
    with store.writer() as writer:
        writer.append(node(0) for _ in range(20_000))
    store.compact()
    (part,) = (tmp_path / "whole" / "parts").iterdir()
    data = bytearray(part.read_bytes())
    data[pq.read_metadata(part).row_group(1).column(1).data_page_offset + 50] ^= 1
    part.write_bytes(data)
    step = 0
    for step in itertools.count():
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "whole", folder)
        was_killed = is_killed_before(step, lambda folder=folder: Store(folder).check())
        Store(folder).check()
        assert len(states(Store(folder))) == 16_384
        Store(folder).compact()
        assert len(states(Store(folder))) == 16_384
        shutil.rmtree(folder)
        if not was_killed:
            break
    assert step > 10


def test_a_compaction_that_is_stopped_between_writing_and_deleting_holds_up_nobody(tmp_path: Path):
    store = store_with_small_parts(tmp_path)
    child = os.fork()
    if child == 0:
        stopped: list[str] = []

        def hook(event: str, _args: object) -> None:
            if event == "os.remove" and not stopped:
                stopped.append(event)
                os.kill(os.getpid(), signal.SIGSTOP)

        sys.addaudithook(hook)
        os._exit(store.compact().merged)
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
    again = Store(tmp_path)
    assert not again.found.is_complete
    assert again.compact().is_busy
    with again.writer() as writer:
        writer.append([node(10), node(11, row_id="given")])
    with again.snapshot() as before:
        assert states(again) == list(range(12))
        os.kill(child, signal.SIGCONT)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8
        assert before.count() == 12
    again.compact()
    assert states(again) == list(range(12))
    assert len(list((tmp_path / "parts").iterdir())) == 2


def test_a_store_that_is_made_may_be_killed_at_any_step(tmp_path: Path):
    step = 0
    for step in itertools.count():
        folder = tmp_path / str(step)
        was_killed = is_killed_before(step, lambda folder=folder: Store(folder).writer().append([node(1)]))
        with Store(folder).writer() as writer:
            writer.append([node(2)])
        assert states(Store(folder)) in ([2], [1, 2])
        if not was_killed:
            break
    assert step > 5


def test_an_import_may_be_killed_at_any_step(tmp_path: Path):
    source = Store(tmp_path / "source")
    with source.writer() as writer:
        writer.append([node(number) for number in range(5)])
    source.compact()
    (part,) = (tmp_path / "source" / "parts").iterdir()
    step = 0
    for step in itertools.count():
        store = Store(tmp_path / str(step))
        was_killed = is_killed_before(step, lambda store=store: store.import_parquet(part))
        assert states(store) in ([], list(range(5)))
        done = Store(store.folder).import_parquet(part)
        assert done.rows + done.known == 5
        assert states(store) == list(range(5))
        if not was_killed:
            break
    assert step > 5


def test_a_writer_may_be_killed_at_any_step_and_what_it_was_told_of_is_there(tmp_path: Path):
    acknowledged: list[int] = []
    for step in itertools.count():
        store = Store(tmp_path / str(step))
        told = tmp_path / f"told {step}"
        told.touch()

        def append(store: Store = store, told: Path = told) -> None:
            acknowledged = os.open(told, os.O_WRONLY | os.O_APPEND)
            with store.writer(segment_bytes=300) as writer:
                for number in range(6):
                    writer.append([node(number, row_id=f"given {number}" if number % 2 else "")], sync=number % 3 == 0)
                    os.write(acknowledged, f"{number}\n".encode())

        was_killed = is_killed_before(step, append)
        acknowledged = [int(line) for line in told.read_text().split()]
        found = states(Store(store.folder))
        assert found[: len(acknowledged)] == acknowledged
        assert found == list(range(len(found)))
        Store(store.folder).compact()
        assert states(store) == found
        if not was_killed:
            break
    assert acknowledged == list(range(6))
