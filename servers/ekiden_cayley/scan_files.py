"""Writing the pairs of a scan, piece by piece."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ekiden_cayley.separation import Words, unpacked
from ekiden_files import writing_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path


class Refutations(NamedTuple):
    """Some rows of the matrix of refutations.

    Attributes:
        start: The number of the first law, from 0.
        laws: The number of laws in all.
        rows: For each of these laws the laws that it does not imply, packed.
    """

    start: int
    laws: int
    rows: Words


@contextmanager
def optional_pairs(path: Path | None) -> Generator[Callable[[Refutations], None]]:
    """Yield a function that writes refuted pairs as rows (law1, law2), counted from 1, to a Parquet file.

    Without a path the function does nothing.
    """
    if path is None:
        yield lambda _: None
        return
    import pyarrow  # pyright: ignore[reportMissingTypeStubs]  # pyarrow ships no types
    from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]  # as above

    arrow = cast("Any", pyarrow)
    schema = arrow.schema([("law1", arrow.int32()), ("law2", arrow.int32())])
    with writing_whole(path) as file, cast("Any", parquet).ParquetWriter(file, schema, compression="zstd") as writer:

        def write(part: Refutations) -> None:
            law1, law2 = np.nonzero(unpacked(part.rows, part.laws))
            columns = [(law1 + part.start + 1).astype(np.int32), (law2 + 1).astype(np.int32)]
            writer.write_table(arrow.table(columns, schema=schema))

        yield write
