"""A trial attempt: which isolation a marathon's solver gets on this machine."""

import tempfile
from pathlib import Path

from ekiden_config import default_settings
from ekiden_orchestrator.marathon.attempt import Observer, run_attempt
from ekiden_orchestrator.marathon.events import SolverStarted
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.plan import Plan
from ekiden_orchestrator.marathon.run_log import RunLog
from ekiden_orchestrator.marathon.submission import Submission

_PATIENCE_S = 10.0


def try_isolation() -> SolverStarted | None:
    """Run an empty solver as a marathon would, and return under what it started; None when it did not.

    Raises:
        MarathonError: If Python could not be started for it.
    """
    settings = default_settings().marathon
    heard: list[SolverStarted] = []
    with tempfile.TemporaryDirectory(prefix="ekiden-") as folder:
        root = Path(folder)
        plan = Plan(
            number=1,
            run=RunFolder(root),
            manifest_origin=root / "manifest.jsonl",
            wall_s=_PATIENCE_S,
            tokens=0,
            output_bytes=settings.output_limit_bytes,
        )
        plan.folder.create(Submission(name="empty", source=b"", built_in=False), b"")
        observer = Observer(started=heard.append, heartbeat=lambda _: None, glance=lambda _: None, log=RunLog(None))
        run_attempt(plan, settings, observer)
    return heard[0] if heard else None
