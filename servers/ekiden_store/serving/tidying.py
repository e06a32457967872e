"""Compacting a store beside other work, in a thread that ends with its server."""

import sys
import threading
from typing import TYPE_CHECKING

from ekiden_store.errors import StoreError

if TYPE_CHECKING:
    from ekiden_config import StoreSettings
    from ekiden_store.compaction import Compaction
    from ekiden_store.store import Store

PAUSE_S = 10.0
"""How long after a look the next one may come; to look costs a moment for each file that is not compacted."""


class Tidier:
    """Compacts a store when it is told that something was stored, and so much waits that it is worth it.

    Of several processes that do so one works at a time. What it is at when it is closed is left as it was.
    """

    def __init__(self, settings: "StoreSettings") -> None:
        self._settings = settings
        self._starting = threading.Lock()  # guards the thread: one is started
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()
        self._ending = threading.Event()

    def look(self, store: "Store") -> None:
        """Have a look soon; this returns at once."""
        if not self._settings.compact_files:
            return
        with self._starting:
            if self._thread is None and not self._ending.is_set():
                # a daemon: a program that ends without closing this must not wait, and a compaction may be killed
                self._thread = threading.Thread(target=self._work, args=(store,), daemon=True)
                self._thread.start()
        self._wanted.set()

    def close(self) -> None:
        """End, within moments."""
        with self._starting:
            self._ending.set()
            self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self, store: "Store") -> None:
        while not self._ending.is_set():
            self._wanted.wait()
            self._wanted.clear()
            try:
                done = store.compact_if_due(
                    files=self._settings.compact_files,
                    part_rows=self._settings.part_rows,
                    waits=False,
                    is_ending=self._ending.is_set,
                )
                _tell(done)
            except StoreError as error:  # nothing is lost; whoever runs the server can see it
                sys.stderr.write(f"trajectories: {error}\n")
            self._ending.wait(PAUSE_S)


def _tell(done: "Compaction | None") -> None:
    for finding in () if done is None else done.findings:
        sys.stderr.write(f"trajectories: {finding.name}: {finding.detail}\n")
