"""Opening a store, reading it, and putting it right."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ekiden_store import DamagedPartError, Finding, Step, Store, StoreError, StoreVersionError
from ekiden_store import snapshot as snapshots
from ekiden_store.arrow import pa, pc, pq


def node(number: int, *, label: str = "unknown", text: str = "") -> Step:
    return Step(theorem_name="t", kind="search_node", state_id=number, label=label, state_pp=text)  # pyright: ignore[reportArgumentType]  # checked when it is appended


def append(store: Store, *numbers: int) -> list[str]:
    with store.writer() as writer:
        return writer.append([node(number) for number in numbers])


def states(store: Store) -> list[int]:
    with store.snapshot() as snapshot:
        return sorted(snapshot.scan(columns=["state_id"]).read_all().column(0).to_pylist())


def segment(folder: Path) -> Path:
    (path,) = (folder / "wal").glob("*/*.jsonl")
    return path


def part(folder: Path) -> Path:
    (path,) = (folder / "parts").glob("*.parquet")
    return path


def test_an_empty_store_has_no_rows(tmp_path: Path):
    with Store(tmp_path / "a" / "store").snapshot() as snapshot:
        assert snapshot.count() == 0
        assert snapshot.scan().read_all().num_rows == 0
        assert snapshot.findings == []


def test_a_store_that_is_not_there_is_refused_unless_it_is_to_be_made(tmp_path: Path):
    with pytest.raises(StoreError, match="There is no trajectory store in"):
        Store(tmp_path / "store", create=False)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": "1"}', "\0"])
def test_something_else_is_refused(tmp_path: Path, content: str):
    (tmp_path / "store.json").write_text(content)
    with pytest.raises(StoreError, match=r"store\.json"):
        Store(tmp_path)


def test_a_file_in_the_way_is_told_of(tmp_path: Path):
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        Store(tmp_path / "store")


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path):
    Store(tmp_path)
    about = json.loads((tmp_path / "store.json").read_text())
    (tmp_path / "store.json").write_text(json.dumps(about | {"version": 2}))
    with pytest.raises(StoreVersionError, match=r"has version 2; this Ekiden knows 1\. Upgrade it\."):
        Store(tmp_path)


def test_rows_are_filtered_counted_and_projected_in_parts_and_segments_alike(tmp_path: Path):
    store = Store(tmp_path)
    for first in (0, 10):
        with store.writer() as writer:
            writer.append([node(n, label="positive" if n % 2 else "negative") for n in range(first, first + 5)])
        if first == 0:
            store.compact()
    positive = pc.field("label") == "positive"
    with store.snapshot() as snapshot:
        assert (snapshot.count(), snapshot.count(positive)) == (10, 4)
        batches = list(snapshot.scan(columns=["state_id"], filter=positive, batch_rows=2))
        assert all(batch.num_rows <= 2 for batch in batches)
        assert sorted(n for batch in batches for n in batch.column(0).to_pylist()) == [1, 3, 11, 13]
        assert snapshot.dataset().count_rows() == 10


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path):
    with Store(tmp_path).snapshot() as snapshot:
        with pytest.raises(StoreError, match=r"'label_'\. The columns are theorem_name, state_id"):
            snapshot.scan(columns=["label_"])
        with pytest.raises(StoreError, match=r"label_\)\. The columns are theorem_name, state_id"):
            snapshot.count(pc.field("label_") == "positive")


def test_a_snapshot_stays_as_it_was_while_rows_are_appended_and_compacted(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1, 2)
    store.compact()
    append(store, 3)
    with store.snapshot() as snapshot:
        for number in range(4, 20):
            append(store, number)
            store.compact()
        shutil.rmtree(tmp_path / "parts")
        assert snapshot.count() == 3
        assert sorted(snapshot.scan(columns=["state_id"]).read_all().column(0).to_pylist()) == [1, 2, 3]
        assert snapshot.count() == 3


def test_many_recent_rows_are_read_through_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = Store(tmp_path / "store")
    text = "x" * (6 << 20)
    with store.writer() as writer:
        for number in range(15):
            writer.append([node(number, text=text)])
    assert 15 * len(text) > snapshots.IN_MEMORY_BYTES
    with store.snapshot() as snapshot:
        table = snapshot.scan(columns=["state_id", "state_pp"]).read_all()
        assert table.column(0).to_pylist() == list(range(15))
        assert pc.unique(table.column(1)).to_pylist() == [text]
        assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_half_a_line_of_a_writer_that_lives_is_not_seen(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.append([node(1)])
        with segment(tmp_path).open("ab") as file:
            file.write(b'{"theorem_name":"t","st')
        assert Store(tmp_path).found.findings == []
        assert states(store) == [1]


@pytest.mark.parametrize("tail", [b"{", b'{"theorem_name":"t","kind":"tactic","row_id":"r"}', b"\0" * 100_000])
def test_half_a_line_of_a_dead_writer_is_cut_and_reported(tmp_path: Path, tail: bytes):
    append(Store(tmp_path), 1, 2)
    size = segment(tmp_path).stat().st_size
    with segment(tmp_path).open("ab") as file:
        file.write(tail)
    store = Store(tmp_path)
    name = f"{segment(tmp_path).parent.name}/000001"
    assert store.found.findings == [
        Finding("torn_tail", name, f"{len(tail)} bytes of a line that was never finished were cut")
    ]
    assert segment(tmp_path).stat().st_size == size
    assert states(store) == [1, 2]
    assert Store(tmp_path).found.findings == []


@pytest.mark.parametrize(
    "damage", [b"\0" * 50, b"[]", b"{}", b'{"state_id":"x"}', b"{{", b'"', b'{"row_id":"a"}{"row_id":"b"}']
)
def test_a_damaged_line_is_kept_aside_and_reported_and_the_others_are_there(tmp_path: Path, damage: bytes):
    store = Store(tmp_path)
    append(store, 1, 2)
    lines = segment(tmp_path).read_bytes().splitlines()
    segment(tmp_path).write_bytes(b"\n".join([lines[0], damage, b"\xff", lines[1], b""]))
    with store.snapshot() as snapshot:
        assert snapshot.count() == 2
        assert [finding.kind for finding in snapshot.findings] == ["damaged_line", "damaged_line"]
    assert [finding.kind for finding in store.compact().findings] == ["damaged_line", "damaged_line"]
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.read_bytes() == damage + b"\n\xff\n"
    assert states(store) == [1, 2]


def test_a_half_written_part_is_removed_and_reported(tmp_path: Path):
    append(Store(tmp_path), 1)
    (tmp_path / "parts" / ".1-a.parquet.0123.part").write_bytes(b"PAR1")
    store = Store(tmp_path)
    assert [finding.kind for finding in store.found.findings] == ["half_written_part"]
    assert list((tmp_path / "parts").iterdir()) == []
    assert states(store) == [1]


def test_a_foreign_file_among_the_parts_is_told_of(tmp_path: Path):
    store = Store(tmp_path)
    append(store, 1)
    pq.write_table(pa.table({"theorem_name": ["t"]}), tmp_path / "parts" / "foreign.parquet")
    with store.snapshot() as snapshot:
        assert snapshot.count() == 1
        assert "import it instead" in snapshot.findings[0].detail
    assert [finding.name for finding in store.compact().findings] == ["foreign.parquet"]
    assert (tmp_path / "aside" / "foreign.parquet").exists()
    assert states(store) == [1]


def test_a_store_that_was_deleted_is_told_of_and_not_made_again(tmp_path: Path):
    store = Store(tmp_path / "store")
    shutil.rmtree(tmp_path / "store")
    for use in (store.snapshot, store.compact, store.check, lambda: append(store, 1)):
        with pytest.raises(StoreError, match=r"(cannot be|There is no)"):
            use()
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("keep", [0, 3, 100])
def test_a_cut_part_is_set_aside_and_reported(tmp_path: Path, keep: int):
    store = Store(tmp_path)
    append(store, 1)
    store.compact()
    append(store, 2)
    damaged = part(tmp_path)
    damaged.write_bytes(damaged.read_bytes()[:keep])
    with store.snapshot() as snapshot:
        assert snapshot.count() == 1
        assert [finding.kind for finding in snapshot.findings] == ["damaged_part"]
    found = Store(tmp_path).found.findings
    assert [(finding.kind, finding.name) for finding in found] == [("damaged_part", damaged.name)]
    assert (tmp_path / "aside" / damaged.name).stat().st_size == keep
    assert states(store) == [2]


def test_a_part_with_a_changed_byte_is_found_when_all_is_read(tmp_path: Path):
    store = Store(tmp_path)
    append(store, *range(1000))
    store.compact()
    data = bytearray(part(tmp_path).read_bytes())
    data[len(data) // 20] ^= 1
    part(tmp_path).write_bytes(data)
    assert Store(tmp_path).found.findings == []
    with store.snapshot() as snapshot, pytest.raises(DamagedPartError, match="Check the store"):
        snapshot.scan().read_all()
    (finding,) = store.check().findings
    assert finding.kind == "damaged_part"
    assert "moved to the folder 'aside'" in finding.detail
    assert states(store) == []


def test_what_a_damaged_part_still_holds_is_saved(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.append(node(number) for number in range(40_000))
    store.compact()
    damaged = part(tmp_path)
    before = damaged.read_bytes()
    groups = pq.read_metadata(damaged)
    assert groups.num_row_groups == 3
    data = bytearray(before)
    data[groups.row_group(1).column(1).data_page_offset + 100] ^= 1
    damaged.write_bytes(data)
    (finding,) = store.check().findings
    assert (finding.kind, finding.name) == ("damaged_part", damaged.name)
    assert "23616 of its 40000 rows can be read, and are in another part now." in finding.detail
    assert (tmp_path / "aside" / damaged.name).read_bytes() == data
    assert states(store) == [*range(16_384), *range(32_768, 40_000)]
    assert store.check().findings == store.compact().findings == []
    assert states(store) == [*range(16_384), *range(32_768, 40_000)]
    assert pq.read_metadata(part(tmp_path)).metadata[b"ekiden.segments"] == groups.metadata[b"ekiden.segments"]

    damaged.write_bytes(data)  # as if killed before it was moved
    (finding,) = store.check().findings
    assert "Another part holds its rows." in finding.detail
    assert states(store) == [*range(16_384), *range(32_768, 40_000)]


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """Yield a folder; what is then done is done as somebody who may write only what all may."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    if os.getuid() == 0:
        os.seteuid(0)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def test_a_store_that_may_only_be_read_is_read(unprivileged: Path):
    append(Store(unprivileged), 1)
    Store(unprivileged).compact()
    append(Store(unprivileged), 2)
    for path in (unprivileged, *unprivileged.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.getuid() == 0:
        os.seteuid(65_534)
    store = Store(unprivileged)
    assert not store.found.is_complete
    assert states(store) == [1, 2]
    with pytest.raises(StoreError, match="cannot be compacted"):
        store.compact()
    with store.writer() as writer, pytest.raises(StoreError, match="Nothing was stored"):
        writer.append([node(3)])
    with store.writer() as writer, pytest.raises(StoreError, match="Nothing was stored"):
        writer.append([Step(theorem_name="t", kind="message", row_id="mine")])
    assert states(store) == [1, 2]


def test_segments_of_another_user_are_read_and_left_to_that_user_to_compact(unprivileged: Path):
    if os.getuid() != 0:
        pytest.skip("only root can be two users")
    append(Store(unprivileged), 1)
    for path in (unprivileged, *unprivileged.iterdir()):
        path.chmod(0o777 if path.is_dir() else 0o666)
    os.seteuid(65_534)
    store = Store(unprivileged)
    append(store, 2)
    assert (store.compact().segments, states(store)) == (1, [1, 2])
    os.seteuid(0)
    assert (store.compact().segments, states(store)) == (1, [1, 2])


def test_a_store_without_room_for_its_locks_is_read(unprivileged: Path):
    append(Store(unprivileged), 1)
    for path in unprivileged.glob("*.lock"):
        path.unlink()
    unprivileged.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65_534)
    store = Store(unprivileged)
    assert (store.found.is_complete, store.found.findings, states(store)) == (False, [], [1])


def test_a_path_that_is_no_utf_8_is_refused(tmp_path: Path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    with pytest.raises(StoreError, match="is no UTF-8"):
        Store(odd)
    append(Store(tmp_path / "store"), 1)
    Store(tmp_path / "store").compact()
    shutil.copy(part(tmp_path / "store"), odd)
    with pytest.raises(StoreError, match="cannot be imported"):
        Store(tmp_path / "other").import_parquet(odd)


@pytest.mark.parametrize("name", ["with space", "ünï ✓", "new\nline", "%41 '\"$x", "x" * 200])
def test_a_store_lies_anywhere(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / name)
    store = Store(tmp_path / "link" / name)
    append(store, 1)
    store.compact()
    append(store, 2)
    assert store.check().findings == []
    assert states(Store(tmp_path / name / name)) == [1, 2]


def test_a_store_whose_description_is_lost_or_damaged_is_there_again_when_it_is_deleted(tmp_path: Path):
    append(Store(tmp_path), 1)
    (tmp_path / "store.json").write_text('{"kind": "ekid')
    with pytest.raises(StoreError, match="delete this file: the rows are in others"):
        Store(tmp_path)
    (tmp_path / "store.json").unlink()
    assert states(Store(tmp_path)) == [1]


def test_a_store_is_made_by_many_at_once(tmp_path: Path):
    start = threading.Barrier(8)

    def make() -> list[str]:
        start.wait()
        return append(Store(tmp_path / "deep" / "store"), 1)

    with ThreadPoolExecutor(8) as pool:
        told = [making.result() for making in [pool.submit(make) for _ in range(8)]]
    assert len({row_id for ids in told for row_id in ids}) == 8
    assert states(Store(tmp_path / "deep" / "store")) == [1] * 8


def test_a_program_that_only_appends_does_not_wait_for_pyarrow(tmp_path: Path):
    program = (
        "import sys; from pathlib import Path; from ekiden_store import Step, Store\n"
        "with Store(Path(sys.argv[1])).writer() as writer: writer.append([Step(theorem_name='t', kind='tactic')])\n"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    assert states(Store(tmp_path)) == [0]


def test_a_snapshot_is_narrowed_to_few_rows_that_hold_all_that_is_looked_for(tmp_path: Path):
    store = Store(tmp_path)
    with store.writer(segment_bytes=1) as writer:
        for number in range(40_000 // 400):
            names = [f"t{place * 7 % 1000:03}" for place in range(number * 400, number * 400 + 400)]
            writer.append([Step(theorem_name=name, kind="tactic", state_pp=name) for name in names])
    store.compact()
    with store.writer() as writer:
        writer.append([Step(theorem_name=name, kind="message") for name in ("t001", "t002")])
        with store.snapshot() as snapshot:
            for where in (pc.field("theorem_name") == "t001", pc.field("state_pp") == "t999"):
                narrow = snapshot.narrowed(where)
                assert narrow.scan(filter=where).read_all() == snapshot.scan(filter=where).read_all()
                assert narrow.count(where) == snapshot.count(where) >= 40
                assert narrow.count() < 20_000
            assert snapshot.narrowed(pc.field("theorem_name") == "nobody").count() == 2
            with pytest.raises(StoreError, match=r"The filter cannot be used: No match.*The columns are theorem_name"):
                snapshot.narrowed(pc.field("nothing") == 1)
