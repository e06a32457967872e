"""The cache of embeddings: Parquet parts, a folder for each identity of an encoder.

A vector is found by the SHA-256 of its text and by all that it depends on beside the text. Parts are written whole and
never changed, so a process that is killed loses what it had not written, and nothing else. A vector that is zero, not
finite or of another length is refused: it never gets into a part.
"""

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ekiden_files import write_whole, writing_whole
from ekiden_store.arrow import pa, pq
from ekiden_store.embeddings.encoders import EncoderIdentity, Vector
from ekiden_store.embeddings.index import DIGEST_BYTES, VectorIndex, part_of, row_of
from ekiden_store.embeddings.merge import group_rows, merge_parts, part_name
from ekiden_store.errors import StoreError

_METADATA = b"ekiden.embeddings"
_ABANDONED_S = 86_400
_READ_ROWS = 65_536


class FoundVectors(NamedTuple):
    """The answer to a look-up.

    Attributes:
        vectors: A row for each text; zeros where there is none.
        found: Whether there is one.
    """

    vectors: NDArray[np.float32]
    found: NDArray[np.bool_]


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def flaw_of(vector: Vector | None, dimensions: int | None) -> str:
    """Return why a vector is no embedding, in a few words; empty if it is one."""
    if vector is None:
        return "no vector"
    if vector.ndim != 1 or not len(vector):
        return f"a vector of the shape {vector.shape}"
    if dimensions is not None and len(vector) != dimensions:
        return f"a vector of length {len(vector)} in place of {dimensions}"
    if not np.isfinite(vector).all():
        return "a vector with a NaN" if np.isnan(vector).any() else "a vector with an infinite number"
    return "" if vector.any() else "a vector of zeros"


class EmbeddingCache:
    """The vectors of one encoder. Several processes may add to it at once; each sees the others' after `refresh`.

    Attributes:
        notes: What was wrong in the folder and is set aside.
    """

    def __init__(self, folder: Path, identity: EncoderIdentity, *, dimensions: int | None = None) -> None:
        """Open a cache; it is made if it is not there.

        Args:
            folder: The folder of all caches.
            identity: What the vectors depend on.
            dimensions: How long they are; None: as long as those that are there, or as the first to come.

        Raises:
            StoreError: The folder cannot be used, or its vectors have another length.
        """
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", identity.model)[:40].strip(".-") or "model"
        self.identity = identity
        self.notes: list[str] = []
        self._folder = folder / f"{slug}-{identity.sha256[:16]}"
        self._dimensions = dimensions
        self._index = VectorIndex()
        self._parts: list[Path] = []
        self._seen: set[str] = set()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not (self._folder / "identity.json").exists():
                write_whole(self._folder / "identity.json", identity.json + "\n")
            self._clear_abandoned()
            self.refresh()
        except OSError as error:
            raise StoreError(f"The embeddings in {str(folder)!r} cannot be used: {error.strerror}.") from error

    def __len__(self) -> int:
        return len(self._index)

    @property
    def folder(self) -> Path:
        """The folder of this encoder's vectors."""
        return self._folder

    @property
    def dimensions(self) -> int | None:
        """How long the vectors are; None: that is not known yet."""
        return self._dimensions

    def settle_dimensions(self, vectors: Sequence[Vector | None]) -> None:
        """Take for the length of all vectors the one that most of these have, if it is not known yet."""
        lengths = [len(vector) for vector in vectors if vector is not None and not flaw_of(vector, None)]
        if self._dimensions is None and lengths:
            self._dimensions = max(set(lengths), key=lambda length: (lengths.count(length), length))

    def refresh(self) -> None:
        """Look for parts that others have written."""
        for path in sorted(self._folder.glob("[!.]*.parquet")):
            if path.name not in self._seen:
                self._seen.add(path.name)
                self._open(path)

    def missing(self, digests: Sequence[bytes]) -> NDArray[np.bool_]:
        """Tell for each text, by its digest, whether its vector is missing."""
        return self._index.find(digests) < 0

    def look_up(self, texts: Sequence[str]) -> FoundVectors:
        """Return the vectors of texts; memory grows with the texts asked for, not with the cache.

        Raises:
            StoreError: A part cannot be read any more.
        """
        try:
            return self._look_up(texts)
        except StoreError:  # another process has merged parts since they were opened
            if all(path.exists() for path in self._parts):
                raise
        self._reopen()
        return self._look_up(texts)

    def merge(self) -> int:
        """Merge small parts into larger ones where there are many, and return how many were merged.

        Raises:
            StoreError: The folder cannot be written; nothing is lost.
        """
        merged = merge_parts(self._folder)
        if merged:
            self._reopen()
        return merged

    def _reopen(self) -> None:
        self._index = VectorIndex()
        self._parts = []
        self._seen = set()
        self.refresh()

    def _look_up(self, texts: Sequence[str]) -> FoundVectors:
        digests = [text_digest(text) for text in texts]
        places = self._index.find(digests)
        vectors = np.zeros((len(texts), self._dimensions or 0), np.float32)
        wanted = sorted((int(place), at) for at, place in enumerate(places) if place >= 0)
        for part, group in groupby(wanted, key=lambda one: part_of(one[0])):
            self._read(self._parts[part], [(row_of(place), at) for place, at in group], digests, vectors)
        return FoundVectors(vectors, places >= 0)

    def scan(self, *, rows: int = 1024) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
        """Yield all digests and vectors, some rows at a time; a vector that is in two parts comes twice."""
        for path in self._parts:  # it grows when parts are merged meanwhile
            try:
                file = pq.ParquetFile(path)
            except FileNotFoundError:
                self.refresh()
                continue
            with file:
                for batch in file.iter_batches(batch_size=rows):
                    yield batch.column(0).to_pylist(), _matrix(batch.column(1))

    def add(self, digests: Sequence[bytes], vectors: Sequence[Vector]) -> None:
        """Write vectors, as one part, whole and for good.

        Raises:
            StoreError: One of them is no embedding, or they cannot be written; none of them is kept.
        """
        self.settle_dimensions(vectors)
        for vector in vectors:
            if flaw := flaw_of(vector, self._dimensions):
                raise StoreError(f"{flaw.capitalize()} is no embedding; nothing was written.")
        if not vectors:
            return
        path = self._folder / part_name()
        try:
            self._write(path, digests, np.stack(vectors).astype(np.float32, copy=False))
        except OSError as error:
            raise StoreError(f"Embeddings cannot be written to {str(self._folder)!r}: {error.strerror}.") from error
        self._seen.add(path.name)
        self._parts.append(path)
        self._index.add(digests, len(self._parts) - 1)

    def _write(self, path: Path, digests: Sequence[bytes], matrix: NDArray[np.float32]) -> None:
        width = matrix.shape[1]
        keys = pa.Array.from_buffers(pa.binary(DIGEST_BYTES), len(digests), [None, pa.py_buffer(b"".join(digests))])
        rows = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), width)  # no offsets that could overflow
        schema = pa.schema(
            [pa.field("text_sha256", keys.type, nullable=False), pa.field("embedding", rows.type, nullable=False)],
            metadata={_METADATA: self.identity.json.encode("utf-8", "surrogatepass")},
        )
        table = pa.table([keys, rows], schema=schema)
        with writing_whole(path, sync=True) as file:
            pq.write_table(table, file, row_group_size=group_rows(width), compression="none", use_dictionary=False)

    def _open(self, path: Path) -> None:
        try:
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
                flaw = self._flaw(schema)
                if not flaw:
                    batches = file.iter_batches(batch_size=_READ_ROWS, columns=["text_sha256"])
                    digests = [
                        digest for batch in batches for digest in cast("list[bytes]", batch.column(0).to_pylist())
                    ]
                    self._parts.append(path)
                    self._index.add(digests, len(self._parts) - 1)
        except FileNotFoundError:
            return
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            flaw = str(error).partition("\n")[0]
        if flaw:
            path.replace(path.with_name(f"{path.name}.damaged"))
            self.notes.append(f"{path.name} is set aside as {path.name}.damaged: {flaw}")

    def _flaw(self, schema: Any) -> str:
        metadata = cast("dict[bytes, bytes] | None", schema.metadata) or {}
        if metadata.get(_METADATA) != self.identity.json.encode("utf-8", "surrogatepass"):
            return "its vectors are of another encoder"
        width = cast("int", schema.field("embedding").type.list_size)
        if self._dimensions is None:
            self._dimensions = width
        if width != self._dimensions:
            return f"its vectors are {width} long in place of {self._dimensions}"
        return ""

    def _read(
        self, path: Path, wanted: list[tuple[int, int]], digests: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        """Read rows of a part into rows of `vectors`, one row group after the other."""
        try:
            with pq.ParquetFile(path) as file:
                sizes = [file.metadata.row_group(at).num_rows for at in range(file.metadata.num_row_groups)]
                ends = np.cumsum(sizes)
                for group, rows in groupby(wanted, key=lambda one: int(np.searchsorted(ends, one[0], "right"))):
                    table = file.read_row_group(group)
                    matrix = _matrix(table.column(1).combine_chunks())
                    keys = table.column(0)
                    for row, at in rows:
                        inside = row - int(ends[group]) + sizes[group]
                        if keys[inside].as_py() != digests[at]:
                            raise StoreError(f"{path.name} holds another vector than it did; open the cache again.")
                        vectors[at] = matrix[inside]
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{str(path)!r} cannot be read any more: {error}. Open the cache again.") from error

    def _clear_abandoned(self) -> None:
        """Remove what writers left that were killed long ago."""
        for path in self._folder.glob(".*.part"):
            try:
                if time.time() - path.stat().st_mtime > _ABANDONED_S:
                    path.unlink()
            except FileNotFoundError:
                continue


def _matrix(column: Any) -> NDArray[np.float32]:
    """Return an array of lists of one length as a matrix."""
    width = column.type.list_size
    return cast("NDArray[np.float32]", column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width))
