"""The trajectory store: a folder of rows that many processes append to and read at once."""

import json
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ekiden_files import sync_folder, write_new
from ekiden_store.columns import SCHEMA_VERSION, Origin, StatePpIs
from ekiden_store.errors import NotStoredError, StoreError, StoreVersionError
from ekiden_store.layout import Layout
from ekiden_store.repair import Report, is_read_only, repair
from ekiden_store.segments import sealed_size
from ekiden_store.writer import SEGMENT_BYTES, Writer

if TYPE_CHECKING:  # they import pyarrow, which a program that only appends need not wait for
    from ekiden_store.compaction import Compaction
    from ekiden_store.legacy import Import
    from ekiden_store.snapshot import Snapshot


DUE_BYTES = 64 << 20
"""So much that is not compacted makes readers slow, in however few files."""


class Store:
    """A trajectory store.

    Attributes:
        folder: Where it lies.
        found: What a crash had left behind when it was opened, and was put right.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        """Open a store.

        Args:
            folder: Where it lies.
            create: Whether to make it if it is not there.

        Raises:
            StoreVersionError: A newer Ekiden made it.
            StoreError: It is not there, cannot be made, or is something else.
        """
        self.folder = folder
        self._layout = Layout(folder.absolute())  # wherever this process goes
        self._require_utf8()
        if create and not self._layout.about.exists():
            self._create()
        self._require_known_version()
        self.found = repair(self._layout, deep=False)

    def writer(self, *, producer: str = "", segment_bytes: int = SEGMENT_BYTES) -> Writer:
        """Return a writer of its own for the caller. Nothing is written before its first `append`.

        Args:
            producer: What makes the rows, for those that do not say.
            segment_bytes: About how large a write-ahead file gets before the next is begun.
        """
        return Writer(self._layout.wal, producer=producer, segment_bytes=segment_bytes, known=self._known)

    def snapshot(self) -> "Snapshot":
        """Return what the store holds now, the rows that were appended last included.

        Raises:
            StoreError: It cannot be read.
        """
        from ekiden_store.snapshot import take_snapshot

        return take_snapshot(self._layout)

    def compact(self, *, part_rows: int | None = None) -> "Compaction":
        """Make parts of the segments that nobody writes any more, and larger parts of small ones.

        Args:
            part_rows: About how many rows a part is to hold.

        Raises:
            StoreError: The store cannot be written; nothing is lost.
        """
        from ekiden_store.compaction import PART_ROWS, compact

        return compact(self._layout, part_rows=part_rows or PART_ROWS)

    def compact_if_due(
        self,
        *,
        files: int,
        part_rows: int,
        waits: bool = True,
        seconds: float = math.inf,
        is_ending: Callable[[], bool] = lambda: False,
    ) -> "Compaction | None":
        """Compact if that is worth it: so many files wait, or fewer that are large. To look costs next to nothing.

        Args:
            files: How many files that nobody writes any more are worth it; 0: never.
            part_rows: About how many rows a part is to hold.
            waits: Whether to wait for an import or a check that changes the store's files now.
            seconds: After how long no further part is begun.
            is_ending: Whether to end at once; what is not finished is left as it was.

        Returns:
            What was done; None: it was not worth it, or nothing can be written.

        Raises:
            StoreError: The store cannot be read or written; nothing is lost.
        """
        if not files or is_read_only(self.folder):
            return None
        try:
            waiting, size = sealed_size(self._layout.wal)
        except OSError as error:
            raise StoreError(f"The store {str(self.folder)!r} cannot be read: {error.strerror}.") from error
        if waiting < files and size < DUE_BYTES:
            return None
        from ekiden_store.compaction import Pace, compact

        return compact(self._layout, part_rows=part_rows, pace=Pace(waits, seconds, is_ending))

    def import_parquet(
        self,
        path: Path,
        *,
        state_pp_is: StatePpIs = "after",
        origin: Origin = "import",
        run_id: str | None = None,
    ) -> "Import":
        """Add the rows of a trajectory file, of expert iteration or of another store. A file is not added twice.

        Args:
            path: The file.
            state_pp_is: Whether `state_pp` is the state after the tactic, as the search writes it, or before it, as
                known proofs are written, or mixed, as negatives for known proofs are written: before it in the known
                proofs and in tactics that close one, else after it, and the numbers of parents are made up. The file
                does not tell.
            origin: Where the rows come from, if they do not say.
            run_id: The run that they belong to, if they do not say; None: the name of the file.

        Raises:
            StoreVersionError: A newer Ekiden wrote the file.
            StoreError: It is not a trajectory file, or the store cannot be written.
        """
        from ekiden_store.legacy import import_parquet

        return import_parquet(self._layout, path, state_pp_is=state_pp_is, origin=origin, run_id=run_id)

    def check(self) -> Report:
        """Read all parts, put right what a crash left behind, move damaged parts aside, and tell of it.

        It waits for a compaction to end, and takes about as long as one.

        Raises:
            StoreVersionError: A newer Ekiden wrote a part.
            StoreError: The store cannot be read.
        """
        return repair(self._layout, deep=True)

    def _create(self) -> None:
        about = {"kind": "ekiden trajectory store", "version": SCHEMA_VERSION, "made_ms": time.time_ns() // 1_000_000}
        try:
            self._layout.wal.mkdir(parents=True, exist_ok=True)
            self._layout.parts.mkdir(exist_ok=True)
            write_new(self._layout.about, json.dumps(about) + "\n", sync=True)
            with suppress(PermissionError):  # it need not be ours
                sync_folder(self._layout.folder.parent)
        except FileExistsError:
            if not self._layout.about.exists():
                raise StoreError(
                    f"The store {str(self.folder)!r} cannot be made: there is a file in its way."
                ) from None
        except OSError as error:
            raise StoreError(f"The store {str(self.folder)!r} cannot be made: {error.strerror}.") from error

    def _require_utf8(self) -> None:
        try:
            str(self._layout.folder).encode()
        except UnicodeEncodeError:  # pyarrow opens no such file
            raise StoreError(f"The path {str(self.folder)!r} is no UTF-8. Give the folder another name.") from None

    def _require_known_version(self) -> None:
        try:
            about: object = json.loads(self._layout.about.read_bytes())
        except FileNotFoundError:
            raise StoreError(f"There is no trajectory store in {str(self.folder)!r}.") from None
        except OSError as error:
            raise StoreError(f"{str(self._layout.about)!r} cannot be read: {error.strerror}.") from error
        except ValueError:
            about = None
        version = cast("dict[str, object]", about).get("version") if isinstance(about, dict) else None
        if not isinstance(version, int):
            raise StoreError(
                f"{str(self._layout.about)!r} does not tell of a trajectory store. If the folder is one, delete this "
                "file: the rows are in others, and it is made again."
            )
        if version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"The store {str(self.folder)!r} has version {version}; this Ekiden knows {SCHEMA_VERSION}. Upgrade it."
            )

    @contextmanager
    def _known(self, ids: Sequence[str]) -> Generator[set[str]]:
        """Yield those of some ids that the store has, and keep others from adding such rows meanwhile."""
        from ekiden_store.row_ids import known_ids

        try:
            with self._layout.giving_ids(), self.snapshot() as snapshot:
                found = known_ids(snapshot, ids)
                snapshot.close()
                yield found
        except OSError as error:
            raise NotStoredError(f"Nothing was stored: {str(self.folder)!r} cannot be written: {error}.") from error
