"""Having Ekiden's Lean elaborate a blueprint."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from platformdirs import user_cache_dir

from ekiden_blueprint.projection import JoinedProjection, Place, joined, prelude, projected
from ekiden_blueprint.rules import Diagnostic
from ekiden_dag.errors import ElaborationError
from ekiden_dag.snapshot import Elaboration
from ekiden_lean.errors import LeanError
from ekiden_warden.errors import WardenError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from threading import Event

    from ekiden_blueprint.project import Project
    from ekiden_config import LeanSettings, Settings
    from ekiden_dag.snapshot import Elaborator
    from ekiden_lean.probe import LeanProbe

    OpenElaborator = Callable[[Settings, int | None], AbstractContextManager[Elaborator]]
    """Opens what elaborates, given the settings and a number of threads that goes before theirs."""

_PRELUDE = "EkidenBlueprint"


@contextmanager
def open_lean(settings: Settings, threads: int | None) -> Generator[Elaborator]:
    """Open the Lean that the settings choose; it is looked for at the first blueprint, and closed in the end."""
    lean = settings.lean if threads is None else settings.lean.model_copy(update={"threads": threads})
    elaborator = LeanElaborator(lean)
    try:
        yield elaborator
    finally:
        elaborator.close()


class LeanElaborator:
    """Elaborates blueprints with a Lean of this machine, with LeanArchitect's part of them taken out.

    What Lean found is kept by content, for the next time and for whoever else asks.

    Args:
        settings: Which Lean, and its limits.
        kept: The folder for what Lean found; by default in the user's cache folder.
    """

    def __init__(self, settings: LeanSettings, kept: Path | None = None) -> None:
        self._settings = settings
        self._kept = kept or Path(user_cache_dir("ekiden")) / "facts"
        self._probe: LeanProbe | None = None
        self._using = Lock()  # guards the probe: who uses it may close it
        self._closed = False

    def elaborate(self, project: Project, stop: Event | None = None) -> Elaboration:
        """Elaborate a blueprint.

        Args:
            project: The blueprint.
            stop: Set by another thread when this is no longer wanted; Lean then ends at once.

        Raises:
            ElaborationError: There is no Lean here, it does not start, or it was stopped.
        """
        from ekiden_lean.submission import TrustedModule

        text = _projection(project)
        try:
            with self._using:
                facts = self._opened().probe(text.text, prelude=(TrustedModule(_PRELUDE, prelude()),), stop=stop)
        except (LeanError, WardenError) as error:
            raise ElaborationError(str(error)) from error
        finally:
            if self._closed:  # whoever closed it could not wait for this
                self.close()
        messages = [
            Diagnostic(
                found.severity, found.message, text.place(found.line).line, found.column, text.place(found.line).path
            )
            for found in facts.diagnostics
        ]
        return Elaboration(facts, messages)

    def close(self) -> None:
        """End Lean's processes; one that is at work ends when it is done or stopped, or with this program."""
        self._closed = True
        if self._using.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._using.release()

    def _close(self) -> None:
        if self._probe is not None:
            self._probe.close()
            self._probe = None

    def _opened(self) -> LeanProbe:
        if self._probe is None:
            from ekiden_lean.facts_store import FactsStore
            from ekiden_lean.probe import LeanProbe
            from ekiden_lean.submission import LeanLimits
            from ekiden_lean.toolchain import find_toolchain

            wanted = self._settings
            limits = LeanLimits(cpu_s=wanted.cpu_s, wall_factor=wanted.wall_factor, memory_bytes=wanted.memory_mb << 20)
            self._probe = LeanProbe(find_toolchain(wanted), limits, store=FactsStore(self._kept))
        return self._probe


def _projection(project: Project) -> JoinedProjection:
    if len(project.files) == 1:
        [file] = project.files
        return JoinedProjection(projected(file), (Place(file.source.path, 1),))
    return joined(project.files)
