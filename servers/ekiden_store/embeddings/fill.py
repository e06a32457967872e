"""Filling the cache of embeddings: only what is missing is encoded, and what is encoded is kept."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import anyio
from filelock import FileLock, Timeout

from ekiden_store.embeddings.cache import EmbeddingCache, flaw_of, text_digest
from ekiden_store.embeddings.encoders import BatchRefusedError, Encoder, EncoderStoppedError, Vector
from ekiden_store.errors import StoreError

_CHECKPOINT_BYTES = 128 << 20
_LOOKED_AT = 4096  # texts that are looked up at a time
_FEW = 1000  # a share of fewer texts tells nothing yet
_SHOWN = 10
_TURN_S = 0.5  # how often to look whether another process is done
_MAX_REASON = 200

_Batch = list[tuple[bytes, str]]


@dataclass(slots=True)
class FillReport:
    """What became of the texts.

    Attributes:
        texts: How many there were, each counted once for every time it came.
        empty: How many of them were empty, as finished proofs are; they have no vector.
        known: How many had a vector, or came again.
        encoded: How many vectors were made and kept.
        refused: Why texts got no vector, and how many.
        examples: The hashes of some of those texts, and why.
    """

    texts: int = 0
    empty: int = 0
    known: int = 0
    encoded: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    examples: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class TooManyRefusedError(StoreError):
    """More texts got no vector than the run may miss; `report` tells why."""

    def __init__(self, report: FillReport, share: float) -> None:
        refused = report.refused.total()
        reasons = "; ".join(f"{times} x {reason}" for reason, times in report.refused.most_common(3))
        super().__init__(
            f"{refused} of {refused + report.encoded} texts got no vector, which is more than {share:.2%}: {reasons}. "
            "What was encoded is kept; mend the encoder and run this again."
        )
        self.report = report


async def fill_cache(
    cache: EmbeddingCache,
    texts: Iterable[str],
    encoder: Encoder,
    *,
    checkpoint: int = 10_000,
    max_refused_share: float = 0.01,
    on_checkpoint: Callable[[FillReport], None] | None = None,
) -> FillReport:
    """Encode the texts whose vectors are missing. Whatever ends the run, what was encoded is kept.

    One process fills a cache at a time; others wait for it, so that nothing is encoded by both.

    Args:
        cache: Where the vectors go.
        texts: The texts; they may come again, and are read as they are needed.
        encoder: What encodes them.
        checkpoint: After how many vectors they are written; earlier if they take much memory.
        max_refused_share: The share of texts that may get no vector.
        on_checkpoint: Called after every checkpoint.

    Raises:
        StoreError: The encoder is another than the cache's, or the vectors cannot be written.
        EncoderStoppedError: The encoder answers nothing any more.
        TooManyRefusedError: Too many texts got no vector.
    """
    if encoder.identity != cache.identity:
        raise StoreError(
            f"The encoder is {encoder.identity.json}, but the cache holds vectors of {cache.identity.json}. "
            "Open the cache of this encoder."
        )
    run = _Run(
        cache, texts, encoder, checkpoint=max(1, checkpoint), share=max_refused_share, on_checkpoint=on_checkpoint
    )
    async with _alone(cache.folder):
        cache.refresh()
        return await run.run()


@asynccontextmanager
async def _alone(folder: Path) -> AsyncGenerator[None]:
    """Wait until no other process fills the cache; a process that is killed keeps nobody waiting."""
    lock = FileLock(folder / ".fill.lock")
    while not lock.is_locked:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            await anyio.sleep(_TURN_S)
        except OSError as error:
            raise StoreError(f"The embeddings in {str(folder)!r} cannot be written: {error.strerror}.") from error
    try:
        yield
    finally:
        lock.release()


class _Run:
    """One run; its workers share what is below."""

    def __init__(
        self,
        cache: EmbeddingCache,
        texts: Iterable[str],
        encoder: Encoder,
        *,
        checkpoint: int,
        share: float,
        on_checkpoint: Callable[[FillReport], None] | None,
    ) -> None:
        self._cache = cache
        self._encoder = encoder
        self._checkpoint = checkpoint
        self._share = share
        self._on_checkpoint = on_checkpoint
        self._report = FillReport()
        self._under_way: set[bytes] = set()  # asked for, and not in a part yet
        self._lost: set[bytes] = set()
        self._digests: list[bytes] = []
        self._vectors: list[Vector] = []
        self._batches = self._missing(texts)
        self._taking = anyio.Lock()  # guards the batches: a generator runs once at a time
        self._writing = anyio.Lock()  # guards the order of parts
        self._error: StoreError | None = None

    async def run(self) -> FillReport:
        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(max(1, self._encoder.concurrency)):
                    tasks.start_soon(self._work, tasks.cancel_scope)
        finally:
            with anyio.CancelScope(shield=True):
                await self._keep()
        if self._error is not None:
            raise self._error
        self._require_few(0)
        return self._report

    async def _work(self, all_workers: anyio.CancelScope) -> None:
        try:
            while batch := await self._next():
                await self._encode(batch)
                size = 4 * len(self._vectors) * (self._cache.dimensions or 0)
                if len(self._vectors) >= self._checkpoint or size >= _CHECKPOINT_BYTES:
                    await self._keep()
        except StoreError as error:
            self._error = self._error or error
            all_workers.cancel()

    async def _next(self) -> _Batch:
        async with self._taking:
            return await anyio.to_thread.run_sync(self._next_batch)

    def _next_batch(self) -> _Batch:
        no_more: _Batch = []
        return next(self._batches, no_more)

    def _missing(self, texts: Iterable[str]) -> Iterator[_Batch]:
        """Yield the texts whose vectors are missing, in batches."""
        rest: _Batch = []
        source = iter(texts)
        while several := list(islice(source, _LOOKED_AT)):
            rest += self._new(several)
            while len(rest) >= self._encoder.batch_size:
                yield rest[: self._encoder.batch_size]
                rest = rest[self._encoder.batch_size :]
        if rest:
            yield rest

    def _new(self, texts: Sequence[str]) -> _Batch:
        self._report.texts += len(texts)
        there = [text for text in texts if text.strip()]
        self._report.empty += len(texts) - len(there)
        fresh: dict[bytes, str] = {}
        for text in there:
            digest = text_digest(text)
            if digest not in self._under_way and digest not in self._lost:
                fresh.setdefault(digest, text)
        are_missing = self._cache.missing(list(fresh))  # asked last: what left `_under_way` is there by now
        batch = [one for one, is_missing in zip(fresh.items(), are_missing, strict=True) if is_missing]
        self._report.known += len(there) - len(batch)
        self._under_way.update(digest for digest, _ in batch)
        return batch

    async def _encode(self, batch: _Batch) -> None:
        try:
            vectors = await self._encoder.encode([text for _, text in batch])
            if len(vectors) != len(batch):
                raise EncoderStoppedError(f"The encoder gave {len(vectors)} vectors for {len(batch)} texts.")
        except BatchRefusedError as error:
            if len(batch) == 1:
                self._refuse(batch[0][0], str(error)[:_MAX_REASON])
                return
            middle = len(batch) // 2  # out of memory, or one bad text: a smaller batch may go
            await self._encode(batch[:middle])
            await self._encode(batch[middle:])
            return
        self._cache.settle_dimensions(vectors)
        for (digest, _), vector in zip(batch, vectors, strict=True):
            flaw = flaw_of(vector, self._cache.dimensions)
            if vector is None or flaw:
                self._refuse(digest, flaw)
            else:
                self._digests.append(digest)
                self._vectors.append(vector)
                self._report.encoded += 1

    def _refuse(self, digest: bytes, reason: str) -> None:
        self._under_way.discard(digest)
        self._lost.add(digest)
        self._report.refused[reason] += 1
        if len(self._report.examples) < _SHOWN:
            self._report.examples.append((digest.hex(), reason))
        self._require_few(_FEW)

    def _require_few(self, at_least: int) -> None:
        refused = self._report.refused.total()
        if refused > self._share * max(at_least, refused + self._report.encoded):
            raise TooManyRefusedError(self._report, self._share)

    async def _keep(self) -> None:
        async with self._writing:
            digests, self._digests = self._digests, []
            vectors, self._vectors = self._vectors, []
            if not digests:
                return
            await anyio.to_thread.run_sync(self._cache.add, digests, vectors)
            self._under_way.difference_update(digests)
        if self._on_checkpoint is not None:
            self._on_checkpoint(self._report)
