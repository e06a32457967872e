"""Writing the files of a scan: whole, and piece by piece."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np

from ekiden_cayley.separation import Words, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


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
def write_whole(path: Path) -> Generator[BinaryIO]:
    """Open a file that takes its name only when all of it is written; after an error nothing of it stays."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False) as file:
        temporary = Path(file.name)
        try:
            yield cast("BinaryIO", file)
        except BaseException:
            temporary.unlink()
            raise
    temporary.chmod(0o666 & ~_umask())
    temporary.replace(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
    with write_whole(path) as file, cast("Any", parquet).ParquetWriter(file, schema, compression="zstd") as writer:

        def write(part: Refutations) -> None:
            law1, law2 = np.nonzero(unpacked(part.rows, part.laws))
            columns = [(law1 + part.start + 1).astype(np.int32), (law2 + 1).astype(np.int32)]
            writer.write_table(arrow.table(columns, schema=schema))

        yield write
