"""The ledger's file: opening it, one transaction at a time, and what its errors mean.

SQLite in WAL mode: what was committed outlives the death of any process at any point. With `synchronous = NORMAL` a
commit does not wait for the disk: the death of the whole machine may lose the last moments, not the file.
"""

import os
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ekiden_budget.errors import LedgerBusyError, LedgerError
from ekiden_budget.schema import APPLICATION_ID, check_kind, is_current, upgrade

_PATIENCE_S = 30.0
"""How long a transaction waits for those of other processes."""
_PAGES_BEFORE_CHECKPOINT = 4000
_OLDEST_SQLITE = (3, 37, 0)

_FAULTS = {
    sqlite3.SQLITE_NOTADB: "is no ledger of Ekiden's, nor any database. Name another file.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Move it away (keep it: it says what was spent), and a new one will be made.",
    sqlite3.SQLITE_READONLY: "cannot be written. Give this user the right to write the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Give this user the right to read and write the file and its folder.",
    sqlite3.SQLITE_PERM: "cannot be opened. Give this user the right to read and write the file and its folder.",
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full. Make room, then try again.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk fails.",
    sqlite3.SQLITE_CONSTRAINT: "contradicts itself: an entry would break its rules. Nothing was entered.",
}


class LedgerFile:
    """A ledger's file, open for many threads.

    Processes that are forked may go on using it: the connection is closed before each fork and opened again on both
    sides, since SQLite's own state must not be in two processes.

    Args:
        path: The file.
        create: Whether a file that is missing is made, with its folder.

    Raises:
        LedgerError: The file cannot be used as a ledger.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self._waits = True
        self._lock = threading.Lock()  # guards the connection: one transaction of this process at a time
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._closed = False
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise LedgerError(f"Ledgers need SQLite 3.37 or newer, and this Python has {sqlite3.sqlite_version}.")
        if not _is_there(path):
            if not create:
                raise LedgerError(f"There is no ledger at {str(path)!r}. Open a budget first, or name another file.")
            _create(path)
        with self.writing() as connection:
            connection.execute(
                "DELETE FROM owners WHERE FALSE"
            )  # whoever may not write learns it now, not when it counts
        with _FORKING:
            _FILES.add(self)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Hold a transaction in which all reads see one state of the ledger.

        Raises:
            LedgerError: The file cannot be read.
        """
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Hold a transaction that no other one runs beside; it is undone if its block raises.

        Raises:
            LedgerError: The file cannot be written.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def wait_for_nobody(self) -> None:
        """Raise `LedgerBusyError` at once from now on where another transaction is under way, and tidy up no more."""
        with self._lock:
            self._waits = False
            self._drop_connection()

    def checkpoint(self) -> None:
        """Move what was written lately from the log beside the file into it, and begin the log anew.

        Raises:
            LedgerError: The file cannot be written.
        """
        with self._lock, _explained(self.path):
            # most of it beside the writers; what they add meanwhile while they wait, or the log would never begin anew
            self._connect().execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._connect().execute("PRAGMA wal_checkpoint(RESTART)")

    def close(self) -> None:
        """Close the file; nothing can be done with it afterwards."""
        with self._lock:
            self._closed = True
            self._drop_connection()
        with _FORKING:
            _FILES.discard(self)

    @contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        with self._lock, _explained(self.path):
            connection = self._connect()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(f"The ledger {str(self.path)!r} has been closed. Open it again.")
        if self._connection is not None:
            if self._pid != os.getpid():  # forked without Python's knowledge
                raise LedgerError(f"The ledger {str(self.path)!r} was opened by another process. Open it in this one.")
            return self._connection
        connection = _open(self.path, waits=self._waits)
        try:
            check_kind(connection, str(self.path))
            if not is_current(connection):
                connection.execute("BEGIN IMMEDIATE")
                upgrade(connection)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._pid = os.getpid()
        return connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def before_fork(self) -> None:
        """Wait for the transaction under way, and close the connection; `after_fork` must follow on both sides."""
        self._lock.acquire()
        self._drop_connection()

    def after_fork(self) -> None:
        """Let transactions begin again."""
        self._lock.release()


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise LedgerError(f"Whether {str(path)!r} is a ledger cannot be seen: {error.strerror}.") from error
    return True


def _create(path: Path) -> None:
    """Make a new ledger: whole, in place only when it is done, and never over another's."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".ledger-", suffix=".tmp")
    except OSError as error:
        raise LedgerError(
            f"A ledger cannot be made at {str(path)!r}: {error.strerror}. Name a file in a folder that can be written."
        ) from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        with _explained(path):
            connection = sqlite3.connect(temporary, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                upgrade(connection)
                connection.execute("COMMIT")
            finally:
                connection.close()
        with suppress(FileExistsError):  # another process was faster, and its ledger is as good
            path.hardlink_to(temporary)
    except OSError as error:
        raise LedgerError(f"A ledger cannot be made at {str(path)!r}: {error.strerror}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _may_write(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _open(path: Path, *, waits: bool) -> sqlite3.Connection:
    size = None
    with suppress(OSError):  # what cannot even be looked at is explained when it is opened
        size = path.stat().st_size
    if size == 0:
        raise LedgerError(f"{str(path)!r} is empty, so it is no ledger. Remove it, and a new one will be made.")
    if not (_may_write(path) and _may_write(path.parent)):
        # SQLite would open it to read, and leave files beside it that nobody can write either.
        raise LedgerError(f"The ledger {str(path)!r} {_FAULTS[sqlite3.SQLITE_READONLY]}")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_PATIENCE_S if waits else 0,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_BEFORE_CHECKPOINT if waits else 0}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn SQLite's errors into ours; those that only a defect of ours can cause stay as they are."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except UnicodeDecodeError as error:  # SQLite quotes what is damaged
        raise LedgerError(f"The ledger {str(path)!r} {_FAULTS[sqlite3.SQLITE_CORRUPT]}") from error
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        place = str(path)
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise LedgerBusyError(
                f"Another process holds the ledger {place!r}, longer than can be waited for. Try again."
            ) from error
        fault = _FAULTS.get(code, "cannot be used.")
        raise LedgerError(f"The ledger {place!r} {fault} (SQLite: {error})") from error


_FILES: weakref.WeakSet[LedgerFile] = weakref.WeakSet()
_FORKING = threading.Lock()  # guards the two below, and lets one thread fork at a time: two would wait for each other
_held: list[LedgerFile] = []


def _before_fork() -> None:
    _FORKING.acquire()
    _held.extend(_FILES)
    for file in _held:
        file.before_fork()


def _after_fork() -> None:
    while _held:
        _held.pop().after_fork()
    _FORKING.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
