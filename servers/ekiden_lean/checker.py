"""Checking untrusted Lean files: elaboration where they can do no harm, then the kernel where they have no say."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from ekiden_lean.elaboration import Elaborated, Prepared, elaborate, prepare
from ekiden_lean.kernel import check_by_kernel
from ekiden_lean.submission import Checked, LeanLimits, Submission
from ekiden_lean.worker import Worker, worker_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ekiden_lean.toolchain import Toolchain

_JOBS_OF_A_PROCESS = 1000
"""Submissions after which a process is replaced, so that its memory does not grow for ever."""


class ProofChecker:
    """Checks submissions in batches; its processes start with the first batch and stay warm until it is closed.

    Plain submissions share one process, each elaborated from a fresh environment; any other one gets a process of its
    own. What ends a process counts against the submission that it was at, once that has been tried alone.
    """

    def __init__(self, toolchain: Toolchain, limits: LeanLimits | None = None) -> None:
        """Prepare a checker; nothing is started yet."""
        self.toolchain = toolchain
        self.limits = limits or LeanLimits()
        self._batch = threading.Lock()  # guards the processes: one batch at a time
        self._shared = Worker(toolchain, "elaborate", self.limits)
        self._kernel = Worker(toolchain, "check", self.limits)
        self._spare: Worker | None = None

    @property
    def identity(self) -> str:
        """All that findings depend on besides the submissions: the toolchain, the driver, the limits."""
        return worker_identity(self.toolchain, self.limits)

    def __enter__(self) -> Self:
        """Return the checker itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End all processes; a later batch starts them again."""
        self._shared.close()
        self._kernel.close()
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def check(
        self, submissions: Sequence[Submission], *, done: Callable[[Checked], None] | None = None
    ) -> list[Checked]:
        """Check submissions; what one of them holds never changes what is said of another.

        Args:
            submissions: What to check.
            done: Told each finding as soon as it is there, in any order, on the thread of the call.

        Returns:
            One finding for each submission, in the order given.

        Raises:
            LeanError: Lean does not start or cannot prepare a trusted module; it says nothing about any submission.
        """
        with self._batch:
            try:
                return _Batch(self, submissions, done).run()
            except BaseException:
                self.close()
                raise

    def elaborate(self, prepared: Prepared, *, more_alone: bool) -> Elaborated | Checked:
        """Elaborate one submission in the process that it is allowed."""
        if not prepared.plain:
            return self._elaborate_alone(prepared, more_alone=more_alone)
        if self._shared.jobs >= _JOBS_OF_A_PROCESS:
            self._shared.close()
        shared_before = self._shared.is_running and self._shared.jobs > 0
        found = elaborate(prepared, self._shared, export_bytes=self.limits.export_bytes)
        if shared_before and isinstance(found, Checked) and found.outcome in ("crashed", "memory"):
            self._shared.close()
            found = elaborate(prepared, self._shared, export_bytes=self.limits.export_bytes)
        return found

    def check_by_kernel(self, prepared: Prepared, elaborated: Elaborated) -> Checked:
        """Have the kernel check one submission."""
        if self._kernel.jobs >= _JOBS_OF_A_PROCESS:
            self._kernel.close()
        shared_before = self._kernel.is_running and self._kernel.jobs > 0
        found = check_by_kernel(prepared, elaborated, self._kernel, self.toolchain)
        if shared_before and found.outcome in ("crashed", "memory"):
            self._kernel.close()
            found = check_by_kernel(prepared, elaborated, self._kernel, self.toolchain)
        return found

    def warm_up(self, *, shared: bool) -> None:
        """Start the processes that a batch will need; returns at once."""
        self._kernel.start()
        if shared:
            self._shared.start()

    def interrupt_kernel(self) -> None:
        """Have the kernel's process killed, so that the thread that waits for it goes on."""
        self._kernel.interrupt()

    def _elaborate_alone(self, prepared: Prepared, *, more_alone: bool) -> Elaborated | Checked:
        worker, self._spare = self._spare or Worker(self.toolchain, "elaborate", self.limits), None
        with worker:
            worker.start()
            if more_alone:
                self._spare = Worker(self.toolchain, "elaborate", self.limits)
                self._spare.start()
            return elaborate(prepared, worker, export_bytes=self.limits.export_bytes)


class _Batch:
    """One batch on its way: elaboration on this thread, the kernel's checks on another."""

    def __init__(
        self, checker: ProofChecker, submissions: Sequence[Submission], done: Callable[[Checked], None] | None
    ) -> None:
        self._checker = checker
        self._submissions = submissions
        self._done = done
        self._found: dict[int, Checked] = {}
        self._waiting: dict[int, Future[Checked]] = {}

    def run(self) -> list[Checked]:
        prepared: dict[int, Prepared] = {}
        for place, submission in enumerate(self._submissions):
            ready = prepare(submission, self._checker.toolchain)
            if isinstance(ready, Checked):
                self._tell(place, ready)
            else:
                prepared[place] = ready
        order = sorted(prepared, key=lambda place: not prepared[place].plain)
        if order:
            self._run(order, prepared)
        return [self._found[place] for place in range(len(self._submissions))]

    def _run(self, order: list[int], prepared: dict[int, Prepared]) -> None:
        self._checker.warm_up(shared=prepared[order[0]].plain)
        with ThreadPoolExecutor(1, "kernel") as kernel:
            try:
                for number, place in enumerate(order):
                    item = prepared[place]
                    found = self._checker.elaborate(item, more_alone=number + 1 < len(order))
                    if isinstance(found, Checked):
                        self._tell(place, found)
                    else:
                        self._waiting[place] = kernel.submit(self._checker.check_by_kernel, item, found)
                    self._collect(wait=False)
                self._collect(wait=True)
            except BaseException:
                kernel.shutdown(wait=False, cancel_futures=True)
                self._checker.interrupt_kernel()
                raise

    def _collect(self, *, wait: bool) -> None:
        for place, future in list(self._waiting.items()):
            if wait or future.done():
                del self._waiting[place]
                self._tell(place, future.result())

    def _tell(self, place: int, found: Checked) -> None:
        self._found[place] = found
        if self._done is not None:
            self._done(found)
