"""A byte of a store that has changed is noticed: rows are never wrong without a word."""

import random
import shutil
from pathlib import Path

import pytest

from ekiden_store import DamagedPartError, Step, Store, StoreError
from ekiden_store.arrow import pa, pc, pq
from ekiden_store.checksums import is_as_written, with_checksum
from ekiden_store.lines import segment_tables
from ekiden_store.parts import open_part


def written(folder: Path) -> Store:
    store = Store(folder)
    with store.writer() as writer:
        writer.append(
            Step(
                theorem_name=f"t{number % 3}",
                kind="search_node",
                state_id=number,
                state_pp="x : ℕ\n⊢ x = x",
                label="positive" if number % 3 else "negative",
                lean_messages=["a"] * (number % 3),
                ebm_score=number / 7,
            )
            for number in range(6)
        )
    return store


def found(store: Store) -> tuple[object, ...]:
    """Return what queries see, those that trust the statistics of the files included."""
    with store.snapshot() as snapshot:
        table = snapshot.scan().read_all()
        table.validate(full=True)
        filters = (pc.field("label") == "positive", pc.field("state_id") >= 3, pc.field("theorem_name") == "t1")
        ids = [
            sorted(snapshot.scan(columns=["row_id"], filter=one).read_all().column(0).to_pylist()) for one in filters
        ]
        return (table.to_pylist(), ids, snapshot.count(), *snapshot.findings)


def test_a_line_holds_its_checksum_and_is_still_json():
    line = with_checksum('{"a":"ℕ"}\n'.encode())
    assert line == '{"a":"ℕ","crc32":"58bb6957"}\n'.encode()
    assert is_as_written(line[:-1])
    assert not is_as_written(b"")
    assert not is_as_written(b'{"a":"x"}')


def test_whatever_byte_of_a_segment_changes_the_line_is_noticed_and_the_others_are_there(tmp_path: Path):
    written(tmp_path)
    (path,) = (tmp_path / "wal").glob("*/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)[:3]
    data = b"".join(lines)
    for place in range(0, len(data) - 1, 5):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        damaged: list[bytes] = []
        end = changed.rfind(b"\n") + 1
        tables = list(segment_tables([("s", bytes(changed[:end]))], lambda _, line, to=damaged: to.append(line)))
        assert damaged
        wrong = {data[:at].count(b"\n") for at in (place, place + 1)}  # a changed line end makes one line of two
        rows = pa.concat_tables(tables).column("state_id").to_pylist()
        assert rows == [number for number in range(3) if number not in wrong]


def test_whatever_byte_of_a_footer_changes_the_part_is_not_believed(tmp_path: Path):
    written(tmp_path).compact()
    (path,) = (tmp_path / "parts").iterdir()
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    changed = tmp_path / "changed.parquet"
    places = random.Random(1).sample(range(footer, len(data) - 8), 200)
    for place in (*range(footer - 12, footer), *places, *range(len(data) - 8, len(data))):
        changed.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(DamagedPartError):
            open_part(changed)
    open_part(path).close()


def test_the_checksum_of_a_footer_is_in_nobody_s_way(tmp_path: Path):
    written(tmp_path).compact()
    (path,) = (tmp_path / "parts").iterdir()
    assert b"ekiden#1" in path.read_bytes()
    assert pq.read_table(path).num_rows == 6


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_changed_byte_anywhere_in_a_part_changes_nothing_or_is_told_of(tmp_path: Path):
    store = written(tmp_path / "store")
    store.compact()
    (path,) = (tmp_path / "store" / "parts").iterdir()
    data = path.read_bytes()
    wanted = found(store)
    told = 0
    dice = random.Random(1)
    places = dice.sample(range(len(data)), 1500)
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :])
        try:
            seen = found(store)
        except StoreError:
            told += 1
            continue
        if len(seen) > len(wanted):
            told += 1
        else:
            assert seen == wanted, place
    assert told > 1000
    path.write_bytes(data)
    assert found(store) == wanted
    shutil.rmtree(tmp_path / "store")
