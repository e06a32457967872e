"""A run as a whole: started, resumed, or judged once more; one runner at a time in a run folder."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from ekiden_config import JudgeName, MarathonSettings, Settings
from ekiden_files import write_whole
from ekiden_judge import read_answers
from ekiden_judge.choice import ChooseJudge, choose_judge
from ekiden_orchestrator.marathon.answers import read_sealed
from ekiden_orchestrator.marathon.display import Display
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import EventLog
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.key_safety import require_unreadable_keys
from ekiden_orchestrator.marathon.manifest import Manifest, read_manifest
from ekiden_orchestrator.marathon.model_access import ModelSource, find_models
from ekiden_orchestrator.marathon.request import Request, decide
from ekiden_orchestrator.marathon.run_log import RunLog
from ekiden_orchestrator.marathon.scoring import Bench, judge_answers
from ekiden_orchestrator.marathon.served_model import require_model_of
from ekiden_orchestrator.marathon.stages import Run
from ekiden_orchestrator.marathon.state import fold
from ekiden_orchestrator.marathon.submission import SOLVER_FILE, Submission, read_submission
from ekiden_orchestrator.marathon.summary import Judging, Summary, summarise
from ekiden_orchestrator.storing import RunStore


class RunInterrupted(Exception):  # noqa: N818 - no error: the user asked for it
    """The user interrupted the run, which can be resumed.

    Attributes:
        root: The run folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        super().__init__(f"Interrupted; {_way_on(root)}")


class RunStopped(Exception):  # noqa: N818 - the run was right, and can be resumed
    """The system stopped the run: a disk is full, or the output is closed.

    Attributes:
        root: The run folder.
    """

    def __init__(self, root: Path, cause: OSError) -> None:
        self.root = root
        super().__init__(f"The run stopped: {cause}. Nothing that is on the disk is lost; {_way_on(root)}")


def _way_on(root: Path) -> str:
    events = RunFolder(root).events
    if events.is_file() and events.stat().st_size:
        return f"go on with: ekiden marathon run --resume {root}"
    return "nothing was run yet: give the same command again"


def start_run(
    request: Request, settings: Settings, display: Display, *, score: bool = True, choose: ChooseJudge = choose_judge
) -> Summary:
    """Set up a new run and carry it through.

    A judge that cannot be had is found before anything is made or started.

    Raises:
        MarathonError: Anything about the request is wrong; nothing was started.
        RunInterrupted: The user interrupted.
        RunStopped: The disk is full, or nobody reads the output.
    """
    marathon = settings.marathon
    submission = read_submission(request.solver, limit_bytes=marathon.solver_limit_bytes)
    manifest = read_manifest(request.manifest, limit_bytes=marathon.manifest_limit_bytes)
    name = request.judge or settings.judge.default
    models = find_models(settings.budget)
    started = decide(request, marathon, submission=submission, manifest=manifest, models=models, judge=name)
    require_unreadable_keys(submission, models, marathon)
    require_model_of(submission, started.model or "", started.budget_tokens, models, usd=started.budget_usd)
    with ExitStack() as stack:
        judge = stack.enter_context(choose(name, settings)) if score else None
        root = _new_root(request, marathon, submission, manifest)
        folder = stack.enter_context(_locked(root))
        stack.enter_context(_resumable(folder))
        log = stack.enter_context(RunLog(folder.log))
        _require_unused(folder)
        folder.keep_inputs(submission, manifest)
        events = stack.enter_context(EventLog.open(folder.events, create=True))
        events.append(started)
        return Run(
            folder,
            submission=submission,
            manifest=manifest,
            models=models,
            settings=marathon,
            store=_store_of(settings),
            display=display,
            events=events,
            log=log,
        ).carry_through(judge)


def resume_run(
    root: Path, settings: Settings, display: Display, *, score: bool = True, choose: ChooseJudge = choose_judge
) -> Summary:
    """Go on with a run that was killed or interrupted, with what is left of its budget and with its judge.

    A run that is finished is not run again; its result is shown once more.

    Raises:
        MarathonError: The folder holds no run, or another runner is at work there.
        RunInterrupted: The user interrupted.
    """
    models = find_models(settings.budget)
    with _opened(root, settings, display, models) as run:
        if (shown := run.show_again()) is not None:
            return shown
        if not score:
            return run.carry_through(None)
        with choose(run.state.judge, settings) as judge:
            return run.carry_through(judge)


def score_run(
    root: Path,
    settings: Settings,
    display: Display,
    *,
    judge: JudgeName | None = None,
    choose: ChooseJudge = choose_judge,
) -> Summary:
    """Judge the answers that a run of ours has so far, by its own judge unless another one is named.

    Raises:
        MarathonError: The folder holds no run, or another runner is at work there.
        RunInterrupted: The user interrupted.
    """
    with (
        _opened(root, settings, display, ModelSource((), settings.budget)) as run,
        choose(judge or run.state.judge, settings) as chosen,
    ):
        return run.score_only(chosen)


def score_foreign(
    root: Path,
    manifest_name: str,
    settings: Settings,
    display: Display,
    *,
    judge: JudgeName | None = None,
    choose: ChooseJudge = choose_judge,
) -> Summary:
    """Judge the `answers.jsonl` of a folder that is no run of ours.

    Raises:
        MarathonError: The folder has no answers, or the manifest cannot be read.
    """
    folder = RunFolder(root.resolve())
    if not folder.answers.exists():
        raise MarathonError(f"The folder {str(root)!r} holds no answers.jsonl to judge.")
    manifest = read_manifest(manifest_name, limit_bytes=settings.marathon.manifest_limit_bytes)
    sealed = read_sealed(folder.answers, settings.marathon.output_limit_bytes)
    read = read_answers(sealed.data, manifest.ids)
    with choose(judge or settings.judge.default, settings) as chosen, RunLog(folder.log) as log:
        bench = Bench({}, lambda _key, _verdict: None, display.judging, log)
        with display.phase("judging"):
            scored, seconds = judge_answers(manifest.problems, read, chosen, bench)
        judging = Judging(chosen.name, chosen.identity, scored, seconds)
    summary = summarise(
        manifest=manifest.name,
        manifest_sha256=manifest.sha256,
        problems=len(manifest.problems),
        state=None,
        judging=judging,
        read=read,
        sealed=sealed,
    )
    write_whole(folder.summary, summary.model_dump_json(indent=2).encode() + b"\n", sync=True)
    display.result(summary, folder)
    return summary


def is_run(root: Path) -> bool:
    """Tell whether a folder holds a run of ours."""
    return RunFolder(root).events.is_file()


def _store_of(settings: Settings) -> RunStore | None:
    """Return the trajectory store, if runs are written to it."""
    return RunStore(settings.store, producer="ekiden marathon") if settings.store.marathon else None


@contextmanager
def _opened(root: Path, settings: Settings, display: Display, models: ModelSource) -> Generator[Run]:
    """Open a run of ours from its own snapshots of solver and manifest."""
    if not is_run(root):
        raise MarathonError(f"The folder {str(root)!r} holds no run (there is no events.jsonl in it).")
    with ExitStack() as stack:
        folder = stack.enter_context(_locked(root))
        stack.enter_context(_resumable(folder))
        events = stack.enter_context(EventLog.open(folder.events, create=False))
        started = fold(events.events).started
        log = stack.enter_context(RunLog(folder.log))
        # The snapshot's sizes were checked when the run began; settings may have changed since.
        limit_bytes = _size_of_snapshots(folder)
        submission = read_submission(str(folder.solver), limit_bytes=limit_bytes)
        submission = Submission(started.solver, submission.source, started.built_in)
        snapshot = read_manifest(str(folder.manifest), limit_bytes=limit_bytes)
        manifest = Manifest(started.manifest, snapshot.origin, snapshot.data, snapshot.problems)
        if (submission.sha256, manifest.sha256) != (started.solver_sha256, started.manifest_sha256):
            raise MarathonError(f"The snapshot of solver or manifest in {str(root)!r} was changed since the run began.")
        yield Run(
            folder,
            submission=submission,
            manifest=manifest,
            models=models,
            settings=settings.marathon,
            store=_store_of(settings),
            display=display,
            events=events,
            log=log,
        )


def _size_of_snapshots(folder: RunFolder) -> int:
    """Return a bound that the folder's own snapshots keep."""
    return max(path.stat().st_size for path in (folder.manifest, folder.solver / SOLVER_FILE))


@contextmanager
def _resumable(folder: RunFolder) -> Generator[None]:
    """Say how to go on with a run that is stopped from outside."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(folder.root) from None
    except OSError as error:
        raise RunStopped(folder.root, error) from error


@contextmanager
def _locked(root: Path) -> Generator[RunFolder]:
    """Hold the lock that keeps a second runner out of a run folder."""
    folder = RunFolder(root.resolve())
    lock = FileLock(folder.lock, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise MarathonError(f"Another runner is at work in {str(root)!r}; wait for it or end it.") from error
    try:
        yield folder
    finally:
        lock.release()


def _new_root(request: Request, settings: MarathonSettings, submission: Submission, manifest: Manifest) -> Path:
    """Make the run folder, or check the one that the user names."""
    root = request.output_dir
    if root is None:
        stamp = datetime.now().astimezone().strftime("%Y%m%d_%H%M%S")
        base = Path(settings.runs_dir) / f"{submission.name}__{manifest.name}__{stamp}"
        return _make_folder(base)
    if root.exists() and not root.is_dir():
        raise MarathonError(f"The output {str(root)!r} is no folder.")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MarathonError(f"Cannot make the folder {str(root)!r}: {error.strerror}.") from error
    _require_unused(RunFolder(root.resolve()))
    return root


def _make_folder(base: Path) -> Path:
    for number in range(1, 100):
        root = base if number == 1 else base.with_name(f"{base.name}_{number}")
        try:
            root.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise MarathonError(f"Cannot make the folder {str(root)!r}: {error.strerror}.") from error
        return root
    raise MarathonError(f"There are too many runs named {str(base)!r}; name one with --output-dir.")


def _require_unused(folder: RunFolder) -> None:
    """Refuse a folder that holds anything but what a run leaves that was killed before its first event."""
    if folder.events.exists() and folder.events.stat().st_size:
        raise MarathonError(
            f"The folder {str(folder.root)!r} holds a run already; continue it with --resume, or name another folder."
        )
    ours = {path.name for path in (folder.lock, folder.log, folder.manifest, folder.solver, folder.events)}
    others = sorted(entry.name for entry in folder.root.iterdir() if entry.name not in ours)
    if others:
        raise MarathonError(
            f"The folder {str(folder.root)!r} is not empty (it holds {others[0]!r}); name a new one, or an empty one."
        )
