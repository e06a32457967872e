"""Compaction: from segments to parts, and from small parts to larger ones."""

import shutil
import threading
from pathlib import Path

import pytest

from ekiden_store import DamagedPartError, Step, Store, StoreError, StoreVersionError
from ekiden_store.arrow import pq
from ekiden_store.checksums import seal_footer
from ekiden_store.layout import Layout


def append(store: Store, *numbers: int, segment_bytes: int = 1 << 20) -> None:
    with store.writer(segment_bytes=segment_bytes) as writer:
        for number in numbers:
            writer.append([Step(theorem_name="t", kind="search_node", state_id=number)])


def states(store: Store) -> list[int]:
    with store.snapshot() as snapshot:
        return sorted(snapshot.scan(columns=["state_id"]).read_all().column(0).to_pylist())


def parts(folder: Path) -> list[Path]:
    return sorted((folder / "parts").glob("*.parquet"))


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "wal").glob("*/*"))


def test_sealed_segments_become_a_part_and_the_writer_s_own_stays(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1, 2)
    with store.writer() as writer:
        writer.append([Step(theorem_name="t", kind="tactic", state_id=3)])
        done = store.compact()
        assert (done.segments, done.rows, done.parts, done.is_busy, done.findings) == (1, 2, 1, False, [])
        assert len(segments(tmp_path)) == 1
        writer.append([Step(theorem_name="t", kind="tactic", state_id=4)])
        assert states(store) == [1, 2, 3, 4]
    assert store.compact().rows == 2
    assert states(store) == [1, 2, 3, 4]
    assert list((tmp_path / "wal").iterdir()) == []
    assert store.compact().parts == 0


def test_a_writer_goes_on_after_its_full_segments_were_compacted(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer(segment_bytes=1) as writer:
        for number in range(5):
            writer.append([Step(theorem_name="t", kind="tactic", state_id=number)])
            store.compact()
    assert states(store) == list(range(5))


def test_a_part_is_about_as_large_as_asked_for(tmp_path: Path):
    store = Store(tmp_path)
    append(store, *range(20), segment_bytes=1)
    done = store.compact(part_rows=6)
    assert (done.segments, done.rows, done.parts) == (20, 20, 4)
    assert [pq.read_metadata(path).num_rows for path in parts(tmp_path)] == [6, 6, 6, 2]
    assert states(store) == list(range(20))


def test_eight_small_parts_become_one(tmp_path: Path):
    store = Store(tmp_path)
    for number in range(64):
        append(store, number)
        store.compact()
        assert states(store) == list(range(number + 1))
    assert len(parts(tmp_path)) == 1
    found = pq.read_metadata(parts(tmp_path)[0]).metadata
    assert found[b"ekiden.schema_version"] == b"1"
    assert found[b"ekiden.segments"].count(b"/000001") == 64
    assert found[b"ekiden.replaces"].count(b".parquet") == 72


def test_parts_are_merged_only_if_what_they_become_is_no_larger_than_asked_for(tmp_path: Path):
    store = Store(tmp_path)
    for first in range(0, 80, 10):
        append(store, *range(first, first + 10))
        store.compact(part_rows=79)
    assert len(parts(tmp_path)) == 8
    assert store.compact(part_rows=80).merged == 8
    assert states(store) == list(range(80))


def test_a_damaged_part_is_told_of_and_does_not_keep_segments_from_being_compacted(tmp_path: Path):
    store = Store(tmp_path)
    for first in range(0, 700, 100):
        append(store, *range(first, first + 100))
        store.compact()
    damaged = parts(tmp_path)[3]
    data = bytearray(damaged.read_bytes())
    for place in range(len(data) // 20, len(data) // 20 + 100):
        data[place] ^= 0xFF
    damaged.write_bytes(data)
    append(store, *range(700, 800))
    with pytest.raises(DamagedPartError, match=f"{damaged.name}.*Check the store"):
        store.compact()
    assert segments(tmp_path) == []
    assert [finding.name for finding in store.check().findings] == [damaged.name]
    assert states(store) == [*range(300), *range(400, 800)]


def test_what_a_crash_between_writing_and_deleting_leaves_is_not_read_twice(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1, 2)
    (segment,) = segments(tmp_path)
    kept = tmp_path / "kept"
    shutil.copy(segment, kept)
    store.compact()
    segment.parent.mkdir()
    shutil.move(kept, segment)
    assert states(store) == [1, 2]
    assert Store(tmp_path).compact().rows == 0
    assert segments(tmp_path) == []
    assert states(store) == [1, 2]


def test_what_a_crash_in_a_merge_leaves_is_not_read_twice(tmp_path: Path):
    store = Store(tmp_path)
    for number in range(7):
        append(store, number)
        store.compact()
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "parts", kept)
    append(store, 7)
    assert store.compact().merged == 8
    for path in kept.iterdir():
        shutil.move(path, tmp_path / "parts" / path.name)
    assert len(parts(tmp_path)) == 8
    assert states(store) == list(range(8))
    assert states(Store(tmp_path)) == list(range(8))
    store.compact()
    assert len(parts(tmp_path)) == 1
    assert states(store) == list(range(8))


def test_of_two_compactions_one_works_and_one_leaves(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1)
    with Layout(tmp_path).compacting():
        assert store.compact().is_busy
        assert parts(tmp_path) == []
        assert states(store) == [1]
    assert store.compact().parts == 1


def test_a_compaction_waits_for_a_store_that_is_being_opened(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1)
    done = threading.Event()

    def compact() -> None:
        store.compact()
        done.set()

    with Layout(tmp_path).changing_parts(wait=True):
        assert not Store(tmp_path).found.is_complete
        compaction = threading.Thread(target=compact)
        compaction.start()
        assert not done.wait(0.2)
    assert done.wait(20)
    compaction.join()
    assert states(store) == [1]


def test_rows_with_long_texts_are_compacted_and_merged(tmp_path: Path):
    store = Store(tmp_path)
    text = "⊢ 𝔸" * 400_000
    for number in range(8):
        with store.writer() as writer:
            writer.append([Step(theorem_name="t", kind="tactic", state_id=number, state_pp=text)])
        store.compact()
    assert len(parts(tmp_path)) == 1
    with store.snapshot() as snapshot:
        for batch in snapshot.scan(columns=["state_pp"], batch_rows=1):
            assert batch.column(0).to_pylist() == [text]


def test_many_short_lived_writers_are_compacted(tmp_path: Path):
    store = Store(tmp_path)
    for number in range(270):
        append(store, number)
    assert store.compact().segments == 270
    assert states(store) == list(range(270))


def test_a_part_of_a_newer_version_stops_all_with_a_clear_word(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1)
    store.compact()
    (path,) = parts(tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"ekiden.schema_version": "2"}), path)
    with path.open("r+b") as file:
        seal_footer(file)
    for use in (store.snapshot, store.compact, store.check):
        with pytest.raises(StoreVersionError, match=r"has schema version 2; this Ekiden knows 1\. Upgrade it\."):
            use()


def test_a_compaction_that_cannot_write_loses_nothing(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1)
    shutil.rmtree(tmp_path / "parts")
    (tmp_path / "parts").write_text("in the way")
    with pytest.raises(StoreError, match="Nothing is lost"):
        store.compact()
    (tmp_path / "parts").unlink()
    (tmp_path / "parts").mkdir()
    store.compact()
    assert states(store) == [1]


def test_open_files_are_let_go_of(tmp_path: Path):
    store = Store(tmp_path)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(10):
        append(store, number)
        store.compact()
        assert len(states(store)) == number + 1
        assert store.check().findings == []
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
