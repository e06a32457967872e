"""The cache of embeddings: what is kept, what is refused, and what a killed run leaves."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import anyio
import numpy as np
import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from ekiden_store.arrow import pa, pq
from ekiden_store.embeddings.cache import EmbeddingCache, text_digest
from ekiden_store.embeddings.encoders import (
    BatchRefusedError,
    EncoderIdentity,
    EncoderStoppedError,
    HashEncoder,
    Vector,
)
from ekiden_store.embeddings.fill import FillReport, TooManyRefusedError, fill_cache
from ekiden_store.embeddings.import_file import import_reference_cache
from ekiden_store.embeddings.index import VectorIndex
from ekiden_store.errors import StoreError
from model_server import Answer, Heard, ModelServer

IDENTITY = EncoderIdentity("deepseek/prover-v2", "abc123", "mean", "float16")
TEXTS = [f"⊢ {number} = {number}" for number in range(100)]
FILLER = """
import anyio, sys
from pathlib import Path
from ekiden_store.embeddings.cache import EmbeddingCache
from ekiden_store.embeddings.fill import fill_cache
from ekiden_store.embeddings.encoders import EncoderIdentity
from ekiden_store.embeddings.encoders_http import HttpEncoder

identity = EncoderIdentity("deepseek/prover-v2", "abc123", "mean", "float16")

async def run():
    async with HttpEncoder(sys.argv[1], identity, batch_size=4, concurrency=1) as encoder:
        texts = [f"⊢ {number} = {number}" for number in range(100)]
        await fill_cache(EmbeddingCache(Path(sys.argv[2]), identity), texts, encoder, checkpoint=8)

anyio.run(run)
"""


class Scripted:
    """An encoder that answers some texts with what a test says, and refuses batches that hold others."""

    def __init__(
        self, *, odd: dict[str, object] | None = None, refused: Sequence[str] = (), batch_size: int = 4
    ) -> None:
        self.identity = IDENTITY
        self.batch_size = batch_size
        self.concurrency = 2
        self.asked: list[str] = []
        self._odd = odd or {}
        self._refused = refused

    async def encode(self, texts: Sequence[str]) -> list[Vector | None]:
        for text in texts:
            if text in self._refused:
                raise BatchRefusedError(f"too long: {text}")
        self.asked += texts
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector | None:
        odd = self._odd.get(text, [float(len(text)), 1.0, -2.5])
        return None if odd is None else np.asarray(odd, np.float32)


def fill(cache: EmbeddingCache, texts: Sequence[str], encoder: Scripted | HashEncoder, **options: float) -> FillReport:
    async def run() -> FillReport:
        return await fill_cache(cache, texts, encoder, **options)  # pyright: ignore[reportArgumentType]  # any number

    return anyio.run(run)


def test_vectors_are_found_again_in_any_order_and_by_another_process(tmp_path: Path) -> None:
    encoder = HashEncoder(dimensions=5, batch_size=7)
    cache = EmbeddingCache(tmp_path, encoder.identity)
    report = fill(cache, [*TEXTS, *TEXTS[:10], "", " \n"], encoder, checkpoint=30)
    assert (report.texts, report.empty, report.known, report.encoded) == (112, 2, 10, 100)
    mixed = random.Random(3).sample(TEXTS, 60)
    vectors = anyio.run(encoder.encode, mixed)
    for opened in (cache, EmbeddingCache(tmp_path, encoder.identity)):
        found = opened.look_up([*mixed, "not there", ""])
        assert found.found.tolist() == [True] * 60 + [False] * 2
        assert np.array_equal(found.vectors[:60], np.stack([vector for vector in vectors if vector is not None]))
        assert len(opened) == 100
    scanned = {digest for digests, _ in cache.scan(rows=9) for digest in digests}
    assert scanned == {text_digest(text) for text in TEXTS}


def test_a_second_run_encodes_only_what_is_missing(tmp_path: Path) -> None:
    fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS[:50], Scripted())
    encoder = Scripted()
    report = fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS, encoder)
    assert sorted(encoder.asked) == sorted(TEXTS[50:])
    assert (report.known, report.encoded) == (50, 50)


@pytest.mark.parametrize("other", ["model", "revision", "pooling", "dtype", "template"])
def test_vectors_of_another_encoder_are_never_found(tmp_path: Path, other: str) -> None:
    fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS[:3], Scripted())
    fields = {name: getattr(IDENTITY, name) for name in ("model", "revision", "pooling", "dtype", "template")}
    identity = EncoderIdentity(**fields | {other: "else {text}"})
    cache = EmbeddingCache(tmp_path, identity)
    assert not cache.look_up(TEXTS[:3]).found.any()
    with pytest.raises(StoreError, match="Open the cache of this encoder"):
        fill(cache, TEXTS, Scripted())


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([0.0, 0.0, 0.0], "a vector of zeros"),
        ([1.0, float("nan"), 0.0], "a vector with a NaN"),
        ([1.0, float("-inf"), 0.0], "a vector with an infinite number"),
        ([1.0, 2.0], "a vector of length 2 in place of 3"),
        ([1.0, 2.0, 3.0, 4.0], "a vector of length 4 in place of 3"),
        ([], "a vector of the shape (0,)"),
        (None, "no vector"),
    ],
)
def test_a_vector_that_is_none_is_refused_told_and_never_cached(tmp_path: Path, vector: object, reason: str) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    report = fill(cache, TEXTS, Scripted(odd={TEXTS[0]: vector}), max_refused_share=0.01)
    assert dict(report.refused) == {reason: 1}
    assert report.examples == [(text_digest(TEXTS[0]).hex(), reason)]
    found = EmbeddingCache(tmp_path, IDENTITY).look_up(TEXTS)
    assert found.found.tolist() == [False] + [True] * 99
    assert found.vectors.shape == (100, 3)


def test_a_bad_text_is_found_by_halving_its_batch_and_the_rest_is_kept(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    report = fill(cache, TEXTS, Scripted(refused=[TEXTS[5]], batch_size=32), max_refused_share=0.01)
    assert dict(report.refused) == {f"too long: {TEXTS[5]}": 1}
    assert report.encoded == 99


def test_too_many_errors_end_the_run_with_a_message_and_what_was_encoded_is_kept(tmp_path: Path) -> None:
    with pytest.raises(
        TooManyRefusedError, match=r"2 of 100 texts got no vector, which is more than 1\.00%: 2 x a vector"
    ):
        fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS, Scripted(odd={text: [0.0] * 3 for text in TEXTS[:2]}))
    assert len(EmbeddingCache(tmp_path, IDENTITY)) == 98


def test_an_encoder_that_only_fails_is_given_up_early(tmp_path: Path) -> None:
    texts = [f"⊢ {number}" for number in range(5000)]
    encoder = Scripted(odd={text: [0.0] * 3 for text in texts})
    with pytest.raises(TooManyRefusedError):
        fill(EmbeddingCache(tmp_path, IDENTITY), texts, encoder)
    assert len(encoder.asked) < 40


def test_an_encoder_that_stops_ends_the_run_and_what_was_encoded_is_kept(tmp_path: Path) -> None:
    class Stopping(Scripted):
        async def encode(self, texts: Sequence[str]) -> list[Vector | None]:
            if len(self.asked) >= 40:
                raise EncoderStoppedError("gone")
            return await super().encode(texts)

    with pytest.raises(EncoderStoppedError, match="gone"):
        fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS, Stopping())
    encoder = Scripted()
    fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS, encoder)
    assert len(encoder.asked) == 60


def test_a_text_that_comes_while_it_is_encoded_is_encoded_once(tmp_path: Path) -> None:
    encoder = Scripted()
    report = fill(EmbeddingCache(tmp_path, IDENTITY), [text for text in TEXTS for _ in range(3)], encoder, checkpoint=1)
    assert sorted(encoder.asked) == sorted(TEXTS)
    assert (report.encoded, report.known) == (100, 200)


def test_checkpoints_are_told(tmp_path: Path) -> None:
    seen: list[int] = []

    async def run() -> None:
        cache = EmbeddingCache(tmp_path, IDENTITY)
        encoder = Scripted()
        await fill_cache(cache, TEXTS, encoder, checkpoint=40, on_checkpoint=lambda report: seen.append(len(cache)))

    anyio.run(run)
    assert seen[-1] == 100
    assert len(seen) in {2, 3}


@pytest.mark.parametrize("held", [1, 4, 6])
def test_a_killed_run_goes_on_where_its_last_checkpoint_was(tmp_path: Path, held: int) -> None:
    first: list[str] = []
    later: list[str] = []

    def respond(heard: Heard, into: list[str], hold_at: int) -> Answer:
        texts = cast("list[str]", heard.json["text"])
        into += texts
        body = json.dumps({"embeddings": [[float(len(text)), 1.0] for text in texts]}).encode()
        return Answer(body=body, pause_after=0 if len(into) == 4 * hold_at else None)

    with ModelServer(responder=lambda heard: respond(heard, first, held)) as server:
        process = subprocess.Popen([sys.executable, "-c", FILLER, server.address, str(tmp_path)])
        server.wait_for(held)
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    kept = EmbeddingCache(tmp_path, IDENTITY)
    done = kept.look_up(TEXTS).found
    assert kept.notes == []
    assert done.sum() == (held - 1) // 2 * 8
    with ModelServer(responder=lambda heard: respond(heard, later, 0)) as server:
        subprocess.run([sys.executable, "-c", FILLER, server.address, str(tmp_path)], check=True, timeout=50)
    assert sorted(later) == sorted(text for text, is_done in zip(TEXTS, done, strict=True) if not is_done)
    assert EmbeddingCache(tmp_path, IDENTITY).look_up(TEXTS).found.all()


def test_a_damaged_part_is_set_aside_and_told_and_encoded_again(tmp_path: Path) -> None:
    fill(EmbeddingCache(tmp_path, IDENTITY), TEXTS, Scripted(), checkpoint=40)
    parts = sorted(tmp_path.rglob("*.parquet"))
    parts[0].write_bytes(parts[0].read_bytes()[:-20])
    other = HashEncoder(dimensions=3)
    fill(EmbeddingCache(tmp_path, other.identity), ["x"], other)
    foreign = next(path for path in tmp_path.rglob("*.parquet") if path.parent != parts[0].parent)
    foreign.rename(parts[0].parent / "foreign.parquet")
    cache = EmbeddingCache(tmp_path, IDENTITY)
    assert [note.partition(" is set aside")[0] for note in cache.notes] == [parts[0].name, "foreign.parquet"]
    assert EmbeddingCache(tmp_path, IDENTITY).notes == []
    missing = 100 - len(cache)
    assert fill(cache, TEXTS, Scripted()).encoded == missing > 0


def test_two_caches_see_each_others_vectors_after_a_refresh(tmp_path: Path) -> None:
    one, two = EmbeddingCache(tmp_path, IDENTITY), EmbeddingCache(tmp_path, IDENTITY)
    fill(one, TEXTS[:10], Scripted())
    assert len(two) == 0
    two.refresh()
    assert two.look_up(TEXTS[:10]).found.all()
    assert two.dimensions == 3


def test_of_two_that_fill_at_once_one_waits_and_nothing_is_encoded_twice(tmp_path: Path) -> None:
    encoders = [Scripted(), Scripted()]
    reports: list[FillReport] = []

    async def fill_one(encoder: Scripted, texts: Sequence[str]) -> None:
        reports.append(await fill_cache(EmbeddingCache(tmp_path, IDENTITY), texts, encoder))

    async def fill_both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fill_one, encoders[0], TEXTS[:60])
            tasks.start_soon(fill_one, encoders[1], TEXTS[40:])

    anyio.run(fill_both)
    assert sorted(encoders[0].asked + encoders[1].asked) == sorted(TEXTS)
    assert sorted((report.encoded, report.known) for report in reports) == [(40, 20), (60, 0)]


def test_all_vectors_are_scanned_though_their_parts_are_merged_meanwhile(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    for text in TEXTS[:8]:
        cache.add([text_digest(text)], [np.ones(3, np.float32)])
    scan = EmbeddingCache(tmp_path, IDENTITY).scan()
    first, _ = next(scan)
    assert cache.merge() == 8
    found = {*first, *(digest for digests, _ in scan for digest in digests)}
    assert found == {text_digest(text) for text in TEXTS[:8]}


def test_small_parts_are_merged_and_every_vector_is_found_as_it_was(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    vectors = [np.asarray([number + 1, 1, 2], np.float32) for number in range(70)]
    for start in range(0, 70, 7):
        cache.add([text_digest(text) for text in TEXTS[start : start + 7]], vectors[start : start + 7])
    opened_before = EmbeddingCache(tmp_path, IDENTITY)
    assert cache.merge() == 8
    assert cache.merge() == 0
    [folder] = tmp_path.iterdir()
    assert len([*folder.glob("*.parquet")]) == 3
    for known in (cache, opened_before, EmbeddingCache(tmp_path, IDENTITY)):
        found = known.look_up(TEXTS)
        assert found.found.tolist() == [True] * 70 + [False] * 30
        assert found.vectors[:70, 0].tolist() == [number + 1 for number in range(70)]
        assert len(known) == 70


def test_a_merge_that_was_killed_before_it_removed_the_old_parts_doubles_nothing(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    for start in range(0, 64, 8):
        cache.add([text_digest(text) for text in TEXTS[start : start + 8]], [np.ones(3, np.float32) for _ in range(8)])
    [folder] = tmp_path.iterdir()
    old = {path: path.read_bytes() for path in folder.glob("*.parquet")}
    assert cache.merge() == 8
    for path, data in old.items():
        path.write_bytes(data)
    again = EmbeddingCache(tmp_path, IDENTITY)
    assert len(again) == 64
    assert again.look_up(TEXTS).found.sum() == 64


def test_of_two_that_merge_one_leaves_and_other_vectors_stay_apart(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    for text in TEXTS[:8]:
        cache.add([text_digest(text)], [np.ones(3, np.float32)])
    [folder] = tmp_path.iterdir()
    with FileLock(folder / ".merge.lock"):
        assert cache.merge() == 0
    (folder / "0-odd.parquet").write_bytes(b"PAR1 nothing PAR1")
    assert cache.merge() == 8
    assert cache.look_up(TEXTS[:8]).found.all()


def test_adding_something_that_is_no_embedding_adds_nothing(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, IDENTITY)
    vectors = [np.ones(2, np.float32), np.zeros(2, np.float32)]
    with pytest.raises(StoreError, match="A vector of zeros is no embedding"):
        cache.add([text_digest("a"), text_digest("b")], vectors)
    assert not cache.look_up(["a", "b"]).found.any()


@pytest.mark.parametrize("numbers", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("kind", ["list", "large_list", "fixed"])
def test_a_file_of_expert_iteration_is_taken_over(tmp_path: Path, numbers: object, kind: str) -> None:
    lists = {"list": pa.list_(numbers), "large_list": pa.large_list(numbers), "fixed": pa.list_(numbers, 3)}
    vectors = [None if at == 3 else [0.0] * 3 if at == 4 else [at + 1.0, 0.5, -1.0] for at in range(20)]
    columns = [
        pa.array(TEXTS[:20]),
        pa.array(
            [v and [np.float16(x) for x in v] for v in vectors] if numbers == pa.float16() else vectors, lists[kind]
        ),
    ]
    file = tmp_path / "old.parquet"
    pq.write_table(pa.table(columns, names=["state_pp", "embedding"]), file)
    cache = EmbeddingCache(tmp_path / "cache", IDENTITY)
    report = import_reference_cache(cache, file)
    assert (report.texts, report.encoded, dict(report.refused)) == (20, 18, {"no vector": 1, "a vector of zeros": 1})
    assert import_reference_cache(cache, file).known == 18
    assert cache.look_up([TEXTS[7]]).vectors.tolist() == [[8.0, 0.5, -1.0]]


@pytest.mark.parametrize(
    "columns", [{"state_pp": ["a"]}, {"state_pp": ["a"], "embedding": ["b"]}, {"embedding": [[1.0]], "state_pp": [1]}]
)
def test_a_file_that_holds_no_embeddings_is_refused(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    file = tmp_path / "old.parquet"
    pq.write_table(pa.table(columns), file)
    with pytest.raises(StoreError, match="state_pp"):
        import_reference_cache(EmbeddingCache(tmp_path, IDENTITY), file)
    file.write_bytes(b"junk")
    with pytest.raises(StoreError, match="cannot be read"):
        import_reference_cache(EmbeddingCache(tmp_path, IDENTITY), file)


@given(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=6))
def test_the_index_finds_the_first_place_of_every_digest(parts: list[list[int]]) -> None:
    index = VectorIndex()
    places: dict[bytes, int] = {}
    digests = [(number % 5).to_bytes(8) + (number // 5).to_bytes(24) for number in range(41)]  # first halves collide
    digests = [digest[:8] + digest[24:] + digest[8:24] for digest in digests]
    for part, numbers in enumerate(parts):
        chosen = list(dict.fromkeys(digests[number] for number in numbers))
        index.add(chosen, part)
        for row, digest in enumerate(chosen):
            places.setdefault(digest, (part << 32) + row)
    assert index.find(digests).tolist() == [places.get(digest, -1) for digest in digests]
    assert len(index) == len(places)


def test_texts_are_read_as_they_are_needed(tmp_path: Path) -> None:
    encoder = Scripted()
    furthest: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(20_000):
            furthest.append(number - len(encoder.asked))
            yield f"⊢ {number}"

    async def run() -> None:
        await fill_cache(EmbeddingCache(tmp_path, IDENTITY), texts(), encoder)

    encoder.batch_size = 500
    anyio.run(run)
    assert max(furthest) < 8192
