"""Writers and their write-ahead files."""

import fcntl
import os
import resource
import shutil
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ekiden_store import InvalidStepError, NotStoredError, Step, Store, StoreError
from ekiden_store.layout import Layout
from ekiden_store.segments import listed_segments, new_segment, sealed, torn_bytes, whole_lines


def node(number: int = 0, *, row_id: str = "", text: str = "") -> Step:
    return Step(theorem_name="t", kind="search_node", state_id=number, row_id=row_id, state_pp=text)


def ids_in(store: Store) -> list[str]:
    with store.snapshot() as snapshot:
        return snapshot.scan(columns=["row_id"]).read_all().column(0).to_pylist()


def files(folder: Path) -> list[Path]:
    return sorted((folder / "wal").glob("*/*.jsonl"))


@contextmanager
def files_at_most(size: int) -> Generator[None]:
    """Let no file grow beyond a size, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("sync", [False, True])
def test_rows_are_seen_as_soon_as_they_are_acknowledged(tmp_path: Path, sync: bool):
    store = Store(tmp_path)
    with store.writer() as writer:
        told = writer.append([node(1), node(2)], sync=sync)
        assert ids_in(Store(tmp_path, create=False)) == told
        told += writer.append([node(3)], sync=sync)
        assert ids_in(store) == told


def test_ids_are_unique_among_writers(tmp_path: Path):
    store = Store(tmp_path)
    told: list[str] = []
    for _ in range(3):
        with store.writer() as writer, store.writer() as other:
            told += writer.append([node(), node()]) + other.append([node()])
    assert len(set(told)) == 9
    assert sorted(ids_in(store)) == sorted(told)


def test_a_row_that_brings_its_id_is_stored_once(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        assert writer.append([node(1, row_id="a"), node(2, row_id="a"), node(3, row_id="b")]) == ["a", "a", "b"]
        assert writer.append([node(4, row_id="a")]) == ["a"]
    store.compact()
    with Store(tmp_path).writer() as writer:
        assert writer.append([node(5, row_id="b"), node(6, row_id="ü\0")]) == ["b", "ü\0"]
        assert writer.append([node(5, row_id="ü\0")]) == ["ü\0"]
    with store.snapshot() as snapshot:
        rows = snapshot.scan(columns=["row_id", "state_id"]).read_all().to_pylist()
    assert {row["row_id"]: row["state_id"] for row in rows} == {"a": 1, "b": 3, "ü\0": 6}
    assert len(rows) == 3


def test_two_writers_with_the_same_ids_at_once_store_each_row_once(tmp_path: Path):
    store = Store(tmp_path)
    start = threading.Barrier(4)

    def append() -> None:
        with Store(tmp_path).writer() as writer:
            start.wait()
            writer.append([node(row_id=f"row {number}") for number in range(50)])

    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids_in(store)) == sorted(f"row {number}" for number in range(50))


def test_threads_may_share_a_writer(tmp_path: Path):
    store = Store(tmp_path)
    told: list[list[str]] = []
    with store.writer(segment_bytes=2_000) as writer:
        threads = [
            threading.Thread(target=lambda: told.extend(writer.append([node(), node()]) for _ in range(50)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(ids_in(store)) == sorted(row for batch in told for row in batch)
    assert len(files(tmp_path)) > 4


def test_a_fork_writes_a_file_of_its_own(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.append([node()])
        child = os.fork()
        if child == 0:
            writer.append([node()])
            os._exit(0)
        os.waitpid(child, 0)
        writer.append([node()])
        assert len(set(ids_in(store))) == len(ids_in(store)) == 3
        assert len(files(tmp_path)) == 2


def test_on_a_full_disk_nothing_is_acknowledged_and_the_next_row_is_stored(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        told = writer.append([node(text="x" * 1000)])
        size = files(tmp_path)[0].stat().st_size
        with (
            files_at_most(size + 1500),
            pytest.raises(NotStoredError, match="send the same steps again"),
        ):
            writer.append([node(text="y" * 1000), node(text="z" * 1000)])
        assert files(tmp_path)[0].stat().st_size == size
        assert ids_in(store) == told
        told += writer.append([node()])
        assert len(set(told)) == 2
        assert ids_in(store) == told
    assert store.compact().findings == []
    assert ids_in(store) == told


def test_after_a_row_that_was_cut_short_and_could_not_be_taken_back_another_file_is_begun(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        told = writer.append([node()])
        with files(tmp_path)[0].open("ab") as file:
            file.write(b'{"theorem_name":"t"')
        told += writer.append([node()])
        assert ids_in(store) == told
        assert len(files(tmp_path)) == 2
    assert [finding.kind for finding in Store(tmp_path).found.findings] == ["torn_tail"]
    assert ids_in(store) == told


def test_rows_are_not_acknowledged_when_the_store_was_deleted_and_are_stored_when_it_is_there_again(tmp_path: Path):
    with Store(tmp_path / "store").writer() as writer:
        writer.append([node()])
        shutil.rmtree(tmp_path / "store")
        with pytest.raises(NotStoredError, match="cannot be written"):
            writer.append([node()])
        Store(tmp_path / "store")
        told = writer.append([node()])
    assert ids_in(Store(tmp_path / "store")) == told


def test_a_store_stays_where_it_is_when_the_process_goes_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = Store(Path("store"))
    with store.writer(segment_bytes=1) as writer:
        told = writer.append([node()])
        monkeypatch.chdir("/")
        told += writer.append([node()])
    assert ids_in(store) == told


def test_what_makes_rows_is_named_by_a_text(tmp_path: Path):
    with pytest.raises(InvalidStepError, match="named by a text, not 5"):
        Store(tmp_path).writer(producer=5)  # pyright: ignore[reportArgumentType]  # what is tested


def test_a_fork_does_not_wait_for_what_its_parent_s_threads_do(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.append([node(row_id="a")])
        with Layout(tmp_path).giving_ids():
            thread = threading.Thread(target=writer.append, args=([node(row_id="b")],))
            thread.start()
            child = os.fork()
            if child == 0:
                os._exit(len(writer.append([node()])))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        thread.join()
    assert len(ids_in(store)) == 3


def test_a_fork_that_lives_on_does_not_keep_what_its_parent_wrote_from_being_compacted(tmp_path: Path):
    store = Store(tmp_path)
    reading, writing = os.pipe()
    with store.writer() as writer:
        writer.append([node()])
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    assert store.compact().segments == 1
    os.close(writing)
    os.close(reading)
    os.waitpid(child, 0)


def in_a_fork_that_is_audited(work: Callable[[], object], hook: Callable[[str, tuple[object, ...]], None]) -> int:
    """Do some work in a child where a hook sees each event, and return the child's exit status: 0 if all is well."""
    child = os.fork()
    if child == 0:
        try:
            sys.addaudithook(hook)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def path_of(descriptor: object) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()


def test_a_writer_does_not_wait_for_one_who_was_stopped_while_looking_at_its_new_file(tmp_path: Path):
    store = Store(tmp_path)
    looking: list[int] = []

    def look(event: str, args: tuple[object, ...]) -> None:
        if event == "fcntl.flock" and not looking and path_of(args[0]).name == "000001.jsonl":
            looking.append(-1)
            looking.append(os.open(path_of(args[0]), os.O_RDWR))
            fcntl.flock(looking[1], fcntl.LOCK_EX)

    assert in_a_fork_that_is_audited(lambda: store.writer().append([node()]), look) == 0
    assert [path.name for path in files(tmp_path)] == ["000001.jsonl", "000002.jsonl"]
    assert len(ids_in(store)) == 1
    assert store.compact().rows == 1


def test_a_file_system_whose_locks_do_not_work_is_noticed_and_nothing_is_lost(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer(segment_bytes=1) as writer:
        told = [*writer.append([node()]), *writer.append([node()])]
    first, _ = files(tmp_path)
    line = first.read_bytes()

    def write_on(event: str, args: tuple[object, ...]) -> None:
        if event == "fcntl.flock" and path_of(args[0]).name == "000002.jsonl":
            with first.open("ab") as file:
                file.write(line)

    def compact() -> None:
        with pytest.raises(StoreError, match="does not carry locks"):
            store.compact()

    store.snapshot().close()
    assert in_a_fork_that_is_audited(compact, write_on) == 0
    assert len(files(tmp_path)) == 2
    assert set(ids_in(store)) == set(told)


def test_more_segments_are_read_than_a_process_may_open_files(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer(segment_bytes=1) as writer:
        told = [row_id for number in range(300) for row_id in writer.append([node(number)])]
        with files(tmp_path)[280].open("ab") as file:
            file.write(b"no row\n")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 270, hard))  # noqa: PTH208
        try:
            with store.snapshot() as snapshot:
                assert snapshot.scan(columns=["row_id"]).read_all().column(0).to_pylist() == told
                assert [finding.name[-6:] for finding in snapshot.findings] == ["000281"]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_wherever_a_segment_is_cut_its_whole_lines_are_there_and_the_rest_is_reported(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        told = [*writer.append([node()]), *writer.append([node(text="x : ℕ\n⊢ x = x")]), *writer.append([node()])]
    (path,) = files(tmp_path)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        found = Store(tmp_path).found.findings
        whole = data[:size].count(b"\n")
        assert ids_in(store) == told[:whole]
        assert [finding.kind for finding in found] == ([] if data[:size].endswith(b"\n") or not size else ["torn_tail"])


def test_nothing_is_written_for_no_steps(tmp_path: Path):
    with Store(tmp_path).writer() as writer:
        assert writer.append([]) == []
    assert files(tmp_path) == []


def test_a_store_that_is_gone_is_told_of(tmp_path: Path):
    store = Store(tmp_path / "store")
    (tmp_path / "store" / "wal").rmdir()
    (tmp_path / "store" / "wal").write_text("in the way")
    with store.writer() as writer, pytest.raises(NotStoredError, match="cannot be written"):
        writer.append([node()])


def test_a_segment_is_sealed_when_its_writer_lets_go_of_it(tmp_path: Path):
    file, number = new_segment(tmp_path / "writer", 1)
    assert number == 1
    (segment,) = listed_segments(tmp_path)
    assert segment.name == "writer/000001"
    with sealed(segment) as held:
        assert held is None
    file.close()
    with sealed(segment) as held:
        assert held is not None
        other, number = new_segment(tmp_path / "writer", 1)
        other.close()
        assert number == 2
        segment.path.unlink()
    with sealed(segment) as held:
        assert held is None


@pytest.mark.parametrize("block", [1, 3, 8, 1000])
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", b""),
        (b"a", b""),
        (b"a\n", b"a\n"),
        (b"a\nbb\nccccccc", b"a\nbb\n"),
        (b"\n\nabcdefghij\n", b"\n\nabcdefghij\n"),
    ],
)
def test_pieces_end_with_a_line(tmp_path: Path, block: int, data: bytes, lines: bytes):
    (tmp_path / "file").write_bytes(data + b"later\n")
    with (tmp_path / "file").open("rb", buffering=0) as file:
        pieces = list(whole_lines(file, len(data), block=block))
    assert b"".join(pieces) == lines
    assert all(piece.endswith(b"\n") for piece in pieces)


@pytest.mark.parametrize("data", [b"", b"a\n", b"a", b"a\nb", b"a\n" + b"b" * 70_000, b"x" * 200_000])
def test_a_torn_tail_is_what_comes_after_the_last_line_end(tmp_path: Path, data: bytes):
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb", buffering=0) as file:
        assert torn_bytes(file) == len(data.split(b"\n")[-1])
