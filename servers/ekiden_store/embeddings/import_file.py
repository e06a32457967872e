"""Caches of embeddings that expert iteration left: texts and vectors, and no word about the encoder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from ekiden_store.arrow import pa, pc, pq
from ekiden_store.embeddings.cache import EmbeddingCache, flaw_of, text_digest
from ekiden_store.embeddings.encoders import Vector
from ekiden_store.embeddings.fill import FillReport
from ekiden_store.errors import StoreError

_ROWS = 512  # so that no list of floats comes near offsets of 32 bits
_PART_BYTES = 64 << 20
_SHOWN = 10


def import_reference_cache(cache: EmbeddingCache, path: Path) -> FillReport:
    """Take over the vectors of a file with the columns `state_pp` and `embedding`.

    Such a file tells no encoder: whoever opens the cache says by its identity which one made the vectors. What the
    cache has already stays; vectors that are none are counted, and left out.

    Args:
        cache: Where the vectors go.
        path: The file; vectors of 16, 32 or 64 bits.

    Raises:
        StoreError: It is no such file, or cannot be read.
    """
    report = FillReport()
    for texts, vectors in _batches(path):
        report.texts += len(texts)
        cache.settle_dimensions(vectors)
        digests = [text_digest(text) for text in texts]
        new: dict[bytes, Vector] = {}
        for text, digest, vector, is_missing in zip(texts, digests, vectors, cache.missing(digests), strict=True):
            flaw = flaw_of(vector, cache.dimensions)
            if not text.strip():
                report.empty += 1
            elif digest in new or not is_missing:
                report.known += 1
            elif vector is None or flaw:
                report.refused[flaw] += 1
                report.examples += [(digest.hex(), flaw)] if len(report.examples) < _SHOWN else []
            else:
                new[digest] = vector
        cache.add(list(new), list(new.values()))
        report.encoded += len(new)
    return report


def _batches(path: Path) -> Iterator[tuple[list[str], list[Vector | None]]]:
    try:
        with pq.ParquetFile(path) as file:
            _require_columns(path, file.schema_arrow)
            texts: list[str] = []
            vectors: list[Vector | None] = []
            for batch in file.iter_batches(batch_size=_ROWS, columns=["state_pp", "embedding"]):
                texts += [text or "" for text in batch.column("state_pp").to_pylist()]
                vectors += _vectors(batch.column("embedding"))
                if len(texts) * 4 * max((len(one) for one in vectors[-1:] if one is not None), default=1) > _PART_BYTES:
                    yield texts, vectors
                    texts, vectors = [], []
            yield texts, vectors
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"The embeddings of {str(path)!r} cannot be read: {error}.") from error


def _require_columns(path: Path, schema: Any) -> None:
    names = cast("list[str]", schema.names)
    if "state_pp" not in names or "embedding" not in names:
        raise StoreError(f"{str(path)!r} has the columns {names!r}; 'state_pp' and 'embedding' are needed.")
    text, vector = schema.field("state_pp").type, schema.field("embedding").type
    is_list = pa.types.is_list(vector) or pa.types.is_large_list(vector) or pa.types.is_fixed_size_list(vector)
    is_text = pa.types.is_string(text) or pa.types.is_large_string(text)
    if not is_text or not is_list or not pa.types.is_floating(vector.value_type):
        raise StoreError(
            f"In {str(path)!r} 'state_pp' is {text} and 'embedding' {vector}; a text and floats are needed."
        )


def _vectors(column: Any) -> list[Vector | None]:
    lengths = [scalar.as_py() for scalar in pc.list_value_length(column)]
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused as such; a null becomes NaN
        numbers = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    ends = np.cumsum([length or 0 for length in lengths])
    return [None if length is None else numbers[end - length : end] for length, end in zip(lengths, ends, strict=True)]
