"""The facts of untrusted texts: elaboration where they can do no harm, the kernel's account where they have no say."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from ekiden_lean.account import Account, read_report
from ekiden_lean.elaboration import (
    Imports,
    ended_badly,
    is_compiler_gap,
    part_result,
    read_contents,
    sort_imports,
)
from ekiden_lean.errors import LeanStoppedError
from ekiden_lean.export import ExportError, read_export
from ekiden_lean.facts import LeanFacts
from ekiden_lean.plain import is_plain
from ekiden_lean.submission import LeanLimits, TrustedModule
from ekiden_lean.worker import Job, Worker, worker_identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_lean.export import Export
    from ekiden_lean.facts_store import FactsStore
    from ekiden_lean.toolchain import Toolchain
    from ekiden_lean.worker import Finished

FORMAT = 2
"""Counts up when facts of the past would be read wrongly, or would not be those of today."""

_JOBS_OF_A_PROCESS = 300
_MOST_DIAGNOSTICS = 2000
_NOTHING = TrustedModule("Nothing", "")


class LeanProbe:
    """Finds the facts of texts; its processes start when they are needed and stay warm until it is closed.

    Plain texts share one process, each elaborated from a fresh environment, and what they import is read once. Any
    other text gets a process of its own.

    Args:
        toolchain: The Lean to use.
        limits: What one text may use.
        store: Where facts are kept for the next time.
    """

    def __init__(
        self,
        toolchain: Toolchain,
        limits: LeanLimits | None = None,
        *,
        store: FactsStore | None = None,
    ) -> None:
        self._toolchain = toolchain
        self._limits = limits or LeanLimits()
        self._store = store
        self._one = threading.Lock()  # guards the processes: one probe at a time
        self._shared = Worker(toolchain, "elaborate", self._limits)
        self._kernel = Worker(toolchain, "check", self._limits)
        self._unused: Worker | None = None
        """Was started for a text of its own that was then no longer wanted."""

    @property
    def identity(self) -> str:
        """All that facts depend on besides the texts: the toolchain, the driver, the limits, how they are read."""
        return f"{worker_identity(self._toolchain, self._limits)} facts={FORMAT}"

    def __enter__(self) -> Self:
        """Return the probe itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End all processes; a later probe starts them again."""
        self._shared.close()
        self._kernel.close()
        if self._unused is not None:
            self._unused.close()
            self._unused = None

    def probe(
        self, code: str, *, prelude: Sequence[TrustedModule] = (), stop: threading.Event | None = None
    ) -> LeanFacts:
        """Find the facts of a text.

        Args:
            code: The whole text, with its header.
            prelude: Trusted modules that it sees without an import, each after those it needs.
            stop: Set by another thread when the facts are no longer wanted. The process that works on the text is then
                killed at once; those that do not are kept.

        Raises:
            LeanStoppedError: It was stopped.
            LeanError: Lean does not start or cannot prepare the prelude; it says nothing about the text.
        """
        key = self._key(code, prelude)
        if self._store is not None and (kept := self._store.get(key)) is not None:
            return kept
        with self._one:
            try:
                found = replace(self._probe(code, tuple(prelude), stop), identity=self.identity)
            except LeanStoppedError:
                raise
            except BaseException:
                self.close()
                raise
        if self._store is not None and found.outcome in ("complete", "refused"):
            self._store.put(key, replace(found, seconds=0.0))
        return found

    def _key(self, code: str, prelude: Sequence[TrustedModule]) -> str:
        depends = [self.identity, code, [[module.name, module.text] for module in prelude]]
        return hashlib.sha256(json.dumps(depends).encode()).hexdigest()

    def _probe(self, code: str, prelude: tuple[TrustedModule, ...], stop: threading.Event | None) -> LeanFacts:
        plain = is_plain(code, notations=True)
        imports = sort_imports(code, (), self._toolchain)
        if not isinstance(imports, Imports):
            return LeanFacts(imports.outcome, imports.message, plain)
        if not _is_unicode(code):
            return LeanFacts("refused", "It holds characters that UTF-8 does not have.", plain)
        # the driver remembers all modules but the last
        modules = (*prelude, _NOTHING) if prelude else ()
        job = Job(imports.library, modules, imports.body, "", "", token_hex(16), scope="all")
        self._kernel.start()
        if not plain:
            return self._probe_alone(job, stop)
        others = self._refresh(self._shared)
        finished = self._shared.work(job, stop)
        if others and finished.ending in ("crashed", "memory"):  # it may be for what others left
            finished = self._shared.work(job, stop)
        return self._settle(job, self._shared, finished, stop, plain=plain)

    def _probe_alone(self, job: Job, stop: threading.Event | None) -> LeanFacts:
        worker, self._unused = self._unused or Worker(self._toolchain, "elaborate", self._limits), None
        try:
            return self._settle(job, worker, worker.work(job, stop), stop, plain=False)
        finally:
            if worker.is_running and worker.jobs == 0:
                self._unused = worker
            else:
                worker.close()

    def _refresh(self, worker: Worker) -> bool:
        """Replace a process that has done much; tell whether it has done anything."""
        if worker.jobs >= _JOBS_OF_A_PROCESS:
            worker.close()
        return worker.is_running and worker.jobs > 0

    def _settle(
        self, job: Job, worker: Worker, finished: Finished, stop: threading.Event | None, *, plain: bool
    ) -> LeanFacts:
        if finished.ending != "done":
            return _not_done(finished, "Lean's elaboration of it", plain=plain)
        text = read_contents(worker.result_file(), self._limits.export_bytes)
        if text is None:
            most = f"{self._limits.export_bytes >> 20} MiB"
            return LeanFacts("refused", f"Its declarations are not there, or take more than {most}.", plain)
        diagnostics, _, lines = part_result(text, most=_MOST_DIAGNOSTICS)
        if self._toolchain.kind == "wasm":
            diagnostics = tuple(message for message in diagnostics if not is_compiler_gap(message))
        found = replace(self.by_kernel(job, lines, stop), plain=plain, diagnostics=diagnostics)
        return replace(found, seconds=found.seconds + finished.seconds)

    def by_kernel(self, job: Job, lines: str, stop: threading.Event | None = None) -> LeanFacts:
        """Find the facts of what a job of elaboration exported, or somebody in its place; nothing of it is believed.

        Raises:
            LeanStoppedError: It was stopped.
            LeanError: The kernel's process cannot work.
        """
        try:
            return self._by_kernel(job, read_export(lines), stop)
        except ExportError as error:
            return LeanFacts("refused", str(error), plain=False)

    def _by_kernel(self, job: Job, export: Export, stop: threading.Event | None) -> LeanFacts:
        others = self._refresh(self._kernel)
        job = replace(job, text=export.kernel_text)
        finished = self._kernel.work(job, stop)
        if others and finished.ending in ("crashed", "memory"):
            finished = self._kernel.work(job, stop)
        if finished.ending != "done":
            return _not_done(finished, "The kernel's check of it", plain=False)
        opening = f"report {job.nonce} "
        report = read_report([line.removeprefix(opening) for line in finished.lines if line.startswith(opening)])
        declarations = Account(export, report, has_proofs=self._toolchain.has_proofs).facts()
        refused = sum(1 for declaration in declarations if declaration.refusal)
        message = f"It makes {len(declarations)} declarations; the kernel refuses {refused or 'none'} of them."
        return LeanFacts("complete", message, False, declarations, seconds=finished.seconds)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_done(finished: Finished, what: str, *, plain: bool) -> LeanFacts:
    if finished.ending == "failed":
        message = f"Lean gave up and said: {finished.detail[:500]!r}"
        return LeanFacts("crashed", message, plain, seconds=finished.seconds)
    ended = ended_badly("", finished, what)
    assert ended.outcome != "proved"
    return LeanFacts(ended.outcome, ended.message, plain, seconds=ended.seconds)
