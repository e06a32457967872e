"""Keeping a snapshot fresh: at each call, when the files change, and when Lean has more to say."""

from __future__ import annotations

import logging
import socket
from collections import OrderedDict
from threading import Event, Thread
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ekiden_blueprint.errors import BlueprintError
from ekiden_blueprint.rules import CONTRACT
from ekiden_dag.errors import DagError, ElaborationError
from ekiden_dag.snapshot import NO_LEAN, RUNNING, LeanPart, Snapshot, read_contents

if TYPE_CHECKING:
    from collections.abc import Callable

    from ekiden_blueprint.rules import Allowances
    from ekiden_dag.snapshot import Elaborator
    from ekiden_dag.target import Target

_LOGGER = logging.getLogger(__name__)
_KEPT = 16
"""Elaborations that are kept, so that an edit that is undone needs no Lean."""
_DEBOUNCE_MS = 100


class Tracker:
    """Gives fresh snapshots of one blueprint.

    The files are read and compared byte for byte at each call, which is quicker than it is to be misled by their times;
    watching them only makes that work be done before it is asked for. Lean works in the background and is never waited
    for unless a call says so.

    Args:
        find_target: Says which blueprint; asked again until it knows.
        elaborator: Asks Lean; without one the text alone speaks.
        allowances: What the rules allow.
    """

    def __init__(
        self, find_target: Callable[[], Target], elaborator: Elaborator | None, allowances: Allowances = CONTRACT
    ) -> None:
        self._allowances = allowances
        self._find_target = find_target
        self._elaborator = elaborator
        self._target: Target | None = None
        self._targeted = anyio.Event()
        self._snapshot: Snapshot | None = None
        self._reading = anyio.Lock()  # guards the snapshot: one reading at a time, the latest one last
        self._found: OrderedDict[str, LeanPart] = OrderedDict()
        self._wanted: Snapshot | None = None
        self._changed = anyio.Event()
        self._stop = anyio.Event()

    def stop(self) -> None:
        """End the watching, whose thread no cancellation reaches."""
        self._stop.set()

    async def snapshot(self) -> Snapshot:
        """Return the blueprint as it is now, with what Lean has found by now.

        Raises:
            DagError: It is not known which blueprint, or it cannot be read.
        """
        async with self._reading:
            if self._target is None:
                self._target = self._find_target()
                self._targeted.set()
            self._snapshot = await anyio.to_thread.run_sync(_read, self._target, self._snapshot, self._allowances)
            snapshot = self._snapshot = self._snapshot.with_lean(self._lean_part(self._snapshot.code_key))
            if snapshot.lean is RUNNING and (self._wanted is None or self._wanted.code_key != snapshot.code_key):
                self._wanted = snapshot
                self._tell()
            return snapshot

    async def settled(self, wait_s: float) -> Snapshot:
        """Return the blueprint as it is when Lean is done with it, or when the time is over.

        Lean is asked again where it came to no end before.

        Raises:
            DagError: It is not known which blueprint, or it cannot be read.
        """
        snapshot = await self.snapshot()
        if snapshot.lean.state in ("failed", "absent") and self._found.pop(snapshot.code_key, None) is not None:
            self._wanted = None
            snapshot = await self.snapshot()
        with anyio.move_on_after(wait_s):
            while snapshot.lean is RUNNING:
                changed = self._changed
                if self._lean_part(snapshot.code_key) is RUNNING:
                    await changed.wait()
                snapshot = await self.snapshot()
        return snapshot

    async def watch(self) -> None:
        """Watch the files for as long as the server lives, and take in what changes."""
        await self._targeted.wait()
        assert self._target is not None
        import watchfiles

        paths = frozenset(map(str, self._target.paths))
        folders = {path.parent for path in self._target.paths}
        try:
            changes = watchfiles.awatch(  # pyright: ignore[reportUnknownMemberType]  # one parameter may be trio's
                *folders,
                watch_filter=lambda _, path: path in paths,
                debounce=_DEBOUNCE_MS,
                stop_event=self._stop,
                recursive=False,
            )
            async for _ in changes:
                await self.refresh()
        except (OSError, RuntimeError) as error:
            # a folder that cannot be watched costs nothing but the head start
            _LOGGER.warning("The blueprint is not watched, only read at each call: %s", error)

    async def refresh(self) -> None:
        """Take in what the files say now; what is wrong with them is told at the next call."""
        try:
            await self.snapshot()
        except (DagError, BlueprintError) as error:
            _LOGGER.info("The blueprint cannot be read now: %s", error)

    async def elaborate(self) -> None:
        """Have Lean elaborate what is wanted, the latest first, for as long as the server lives."""
        if self._elaborator is None:
            return
        while True:
            wanted, changed = self._wanted, self._changed
            if wanted is None or wanted.code_key in self._found:
                await changed.wait()
                continue
            part = await self._asked(self._elaborator, wanted)
            if part is None:
                continue
            self._found[wanted.code_key] = part
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
            self._tell()

    async def _asked(self, elaborator: Elaborator, wanted: Snapshot) -> LeanPart | None:
        """Ask Lean, and stop it once something else is wanted, or nothing any more; None when it was stopped."""
        stop = Event()

        async def stop_when_stale() -> None:
            try:
                while self._wanted is wanted:
                    await self._changed.wait()
            finally:
                stop.set()

        part: LeanPart | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_when_stale)
            part = await _asked(elaborator, wanted, stop)
            tasks.cancel_scope.cancel()
        return part

    def _lean_part(self, key: str) -> LeanPart:
        if self._elaborator is None:
            return NO_LEAN
        if key in self._found:
            self._found.move_to_end(key)
        return self._found.get(key, RUNNING)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _read(target: Target, previous: Snapshot | None, allowances: Allowances) -> Snapshot:
    contents = read_contents(target)
    if previous is not None and previous.contents == contents:
        return previous
    return Snapshot.of_contents(target, contents, previous, allowances)


async def _asked(elaborator: Elaborator, wanted: Snapshot, stop: Event) -> LeanPart | None:
    """Ask Lean on a thread that this program need not wait for when it ends, unlike those of anyio."""
    parts: list[LeanPart | None] = []
    done, working = socket.socketpair()

    def work() -> None:
        with working:  # closing it makes the other end readable
            parts.append(_ask(elaborator, wanted, stop))

    with done:
        Thread(target=work, name="elaboration", daemon=True).start()
        await anyio.wait_readable(done)
    return parts[0]


def _ask(elaborator: Elaborator, wanted: Snapshot, stop: Event) -> LeanPart | None:
    try:
        return LeanPart.of_elaboration(elaborator.elaborate(wanted.project, stop))
    except ElaborationError as error:
        if stop.is_set():
            return None
        return LeanPart("absent", f"Lean cannot be asked: {error} Edges and states are what the text declares.")
    except Exception:
        # the outermost loop of this task: the server goes on without Lean
        _LOGGER.exception("elaborating a blueprint")
        return LeanPart("failed", "Lean was asked and the asking failed; the server's log says more.")
