"""pyarrow, which ships no types, under names that the type checker lets pass. Importing it takes 0.2 seconds."""

from typing import Any, cast

import pyarrow  # pyright: ignore[reportMissingTypeStubs]  # pyarrow ships no types
from pyarrow import compute, dataset, json, parquet  # pyright: ignore[reportMissingTypeStubs]  # as above

pa = cast("Any", pyarrow)
pc = cast("Any", compute)
ds = cast("Any", dataset)
pj = cast("Any", json)
pq = cast("Any", parquet)
