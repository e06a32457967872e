"""A Solo run: the problems one after the other, each by a process of its own."""

import hashlib
import os
import secrets
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ekiden_config import JudgeName, Settings
from ekiden_judge import Problem
from ekiden_judge.choice import ChooseJudge, Judge, choose_judge
from ekiden_orchestrator.marathon.environment import CHECKOUT, built_in_environment
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.key_safety import require_unreadable_keys
from ekiden_orchestrator.marathon.manifest import PROBLEM_SETS, Manifest, read_manifest
from ekiden_orchestrator.marathon.model_access import ModelSource, find_models
from ekiden_orchestrator.marathon.plan import KEEP_KEYS, isolations_for
from ekiden_orchestrator.marathon.served_model import require_served
from ekiden_orchestrator.marathon.submission import SOLVER_FILE, Submission, read_submission
from ekiden_orchestrator.solo.config import SoloConfig, judged_by, with_model, with_route
from ekiden_orchestrator.solo.display import Display, Undertaking
from ekiden_orchestrator.solo.errors import SoloError
from ekiden_orchestrator.solo.models import RunModels, open_models
from ekiden_orchestrator.solo.process import MARK, Bounds, SolverProcess
from ekiden_orchestrator.solo.prompt import read_prompt
from ekiden_orchestrator.solo.results import Results, SoloRecord, read_results
from ekiden_orchestrator.solo.session import Session
from ekiden_orchestrator.solo.storing import SoloStory
from ekiden_orchestrator.storing import RunStore
from ekiden_warden import python_folders
from ekiden_warden.places import system_view

TOKENS_PER_PROBLEM = 262_144
"""The default budget: some four calls at the default limit of their output."""

_PASSED_THROUGH = ("PATH", "USER", "LANG", "TERM", "PYTHONPATH")


@dataclass(frozen=True, slots=True)
class SoloRequest:
    """What a Solo run is asked to do; None leaves a choice to the settings.

    Attributes:
        solver: A folder with `solver.py`, or a built-in solver.
        problems: A problem file, or a packaged set.
        ids: The problems to run; empty: all.
        output: The results file.
        judge: Who judges.
        budget_tokens: Tokens of the whole run; 0 refuses every call, below 0 there is no cap.
        model: The model to ask.
    """

    solver: str
    problems: str
    ids: tuple[str, ...] = ()
    output: Path | None = None
    judge: JudgeName | None = None
    budget_tokens: int | None = None
    model: str | None = None


def run_solo(
    request: SoloRequest,
    settings: Settings,
    config: SoloConfig,
    display: Display,
    *,
    choose: ChooseJudge = choose_judge,
) -> bool:
    """Run a solver on each problem that it has not solved yet, and tell whether all are solved now.

    Raises:
        CommandError: Something about the request is wrong; no solver was started.
        MarathonError: The solver or the problems cannot be read, or a solver could read the models' keys.
        BudgetError: The ledger cannot be kept.
    """
    settings = judged_by(settings, config.judge)
    submission = read_submission(request.solver, limit_bytes=config.judge.max_solver_bytes)
    manifest = read_manifest(request.problems, limit_bytes=settings.marathon.manifest_limit_bytes)
    chosen = _chosen(manifest, request.ids)
    judge_name = request.judge or settings.judge.default
    config = with_model(config, request.model, settings)
    budget = with_route(settings.budget, config.llm)
    models = find_models(budget)
    require_unreadable_keys(submission, models, settings.marathon)
    output = request.output or _default_output(settings, submission, manifest)
    with _held(output), choose(judge_name, settings) as judge:
        results = read_results(output, submission.name)
        open_problems = [problem for problem in chosen if not _is_settled(results, problem, judge_name)]
        tokens = _tokens_for(open_problems, request)
        models, told = _models_of(submission, config, models, tokens)
        undertaking = Undertaking(
            submission=submission,
            problems=manifest.name,
            chosen=len(chosen),
            still_open=len(open_problems),
            judge=judge_name,
            asks=bool(models.upstreams) and not submission.takes_share,
            tokens=tokens,
            models=told,
            output=output,
        )
        display.heading(undertaking)
        name, ledger = f"solo {submission.name} {manifest.name}", _ledger_of(output)
        with open_models(models, config.llm, ledger=ledger, name=name, tokens=tokens) as run_models:
            solo = _Solo(
                submission, manifest, settings=settings, config=config, judge=judge, models=run_models, display=display
            )
            story = SoloStory(results, manifest.name, output, ledger)
            store = RunStore(settings.store, producer="ekiden solo") if settings.store.solo else None
            try:
                _keep(store, story, display)
                for problem in open_problems:
                    results.keep(output, problem, solo.run(problem))
                    _keep(store, story, display, problem.id)
            finally:
                if store is not None:
                    store.close()
        display.table(chosen, results, output)
        if store is not None:
            store.tidy()
        return all(_is_settled(results, problem, judge_name) for problem in chosen)


def _keep(store: RunStore | None, story: SoloStory, display: Display, *problems: str) -> None:
    """Write problems, or all, to the trajectory store; that it fails harms nothing, and is told once."""
    if store is None or store.trouble or not story.results.results:
        return
    if not store.keep(lambda: story.steps(*problems)):
        display.note(f"The run is not in the trajectory store: {store.trouble}")


class _Solo:
    """What all problems of a run have in common."""

    def __init__(
        self,
        submission: Submission,
        manifest: Manifest,
        *,
        settings: Settings,
        config: SoloConfig,
        judge: Judge,
        models: RunModels,
        display: Display,
    ) -> None:
        self._submission = submission
        self._manifest = manifest
        self._settings = settings
        self._config = config
        self._judge = judge
        self._models = models
        self._display = display
        self._prompt = read_prompt(submission.source)
        told = f"{submission.sha256} {judge.identity} {config.model_dump_json()}"
        self._settings_sha256 = hashlib.sha256(told.encode()).hexdigest()

    def run(self, problem: Problem) -> SoloRecord:
        """Run the solver on one problem."""
        with ExitStack() as stack:
            self._display.begin(problem)
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ekiden-", ignore_cleanup_errors=True)))
            models = stack.enter_context(self._models.for_problem(problem.id))
            process = stack.enter_context(self._start(root.resolve()))
            session = Session(
                problem,
                process,
                prompt=self._prompt,
                judge=self._judge,
                models=models,
                tell=lambda call: self._display.call(problem, call),
            )
            ending = session.serve(self._first_line(problem))
            process.end(kill=ending in ("out of time", "line too long"))
            record = session.record(ending, self._judge.name)
            run = {"budget": models.budget, "settings_sha256": self._settings_sha256}
            record = record.model_copy(update=run)
        if (spending := models.spending) is not None:
            told = {"tokens": spending.tokens, "llm_endings": spending.calls, "llm_failures": spending.failures}
            record = record.model_copy(update=told)
        self._display.done(problem, record)
        return record

    def _first_line(self, problem: Problem) -> dict[str, object]:
        limits = self._judge.limits
        return {
            "problem": problem.unlabelled(),
            "budget": {
                "timeout_seconds": self._config.solver.timeout_seconds,
                "max_code_length": limits.max_code_bytes,
                "max_false_cert_bytes": limits.max_false_certificate_bytes,
            },
        }

    def _start(self, root: Path) -> SolverProcess:
        folders = {name: root / name for name in ("solver", "home", "tmp")}
        for folder in folders.values():
            folder.mkdir()
        program = folders["solver"] / SOLVER_FILE
        program.write_bytes(self._submission.source)
        environment = {name: os.environ[name] for name in _PASSED_THROUGH if name in os.environ} | {
            "HOME": str(folders["home"]),
            "TMPDIR": str(folders["tmp"]),
            "PYTHONIOENCODING": "utf-8",
            "PYTHONUNBUFFERED": "1",
            MARK: secrets.token_hex(16),
        }
        if self._submission.built_in:
            environment |= built_in_environment(pool_s=None)
        bounds = self._bounds(list(folders.values()))
        return SolverProcess(
            (sys.executable, str(program)), environment=environment, directory=folders["solver"], bounds=bounds
        )

    def _bounds(self, writes: Sequence[Path]) -> Bounds:
        marathon = self._settings.marathon
        isolations = isolations_for(marathon.isolation)
        if self._submission.built_in:  # Ekiden itself: it may see its own packages
            isolations = tuple(kind for kind in isolations if kind != "confined")
        elif self._models.has_keys and not marathon.allow_readable_keys:
            isolations = tuple(kind for kind in isolations if kind in KEEP_KEYS)
        return Bounds(
            time_limit_s=self._config.solver.timeout_seconds,
            file_bytes=marathon.file_limit_bytes,
            processes=self._config.sandbox.pids_limit or marathon.process_limit,
            isolations=isolations,
            view=system_view(writes=writes, shows=_modules(), hides=self._labelled()),
        )

    def _labelled(self) -> list[Path]:
        """Return where labels lie, or answers of other runs."""
        checkout = [CHECKOUT] if (CHECKOUT / "pyproject.toml").is_file() else []
        return [*checkout, PROBLEM_SETS, self._manifest.origin]


def _tokens_for(problems: Sequence[Problem], request: SoloRequest) -> int:
    return TOKENS_PER_PROBLEM * len(problems) if request.budget_tokens is None else request.budget_tokens


def _models_of(submission: Submission, config: SoloConfig, models: ModelSource, tokens: int) -> tuple[ModelSource, str]:
    """Return where models are asked, and that in words; a solver that is not ours may ask none, unless one was named.

    A built-in solver for which a model is only the last resort does without one that nobody named and nobody serves.

    Raises:
        MarathonError: No upstream serves the model.
    """
    named = "model" in config.llm.model_fields_set
    if submission.takes_share:
        return models, f"none: {submission.name!r} asks none"
    if not models.upstreams:
        return models, "none: there is no key"
    try:
        if tokens and (submission.built_in or named):
            require_served(config.llm.model, models)
    except MarathonError:
        if named or submission.asks_models or not submission.built_in:
            raise
        return ModelSource((), models.settings), f"none: nobody lists {config.llm.model!r} (name another with --model)"
    return models, f"{config.llm.model} ({', '.join(models.names)})"


def _modules() -> list[Path]:
    """Return the folders of this Python and of its modules."""
    return [path for path in (*python_folders(), *map(Path, filter(None, sys.path))) if path.is_dir()]


def _chosen(manifest: Manifest, ids: Sequence[str]) -> list[Problem]:
    by_id = {problem.id: problem for problem in manifest.problems}
    if unknown := [name for name in ids if name not in by_id]:
        raise SoloError(
            f"There is no problem {unknown[0]!r} in {manifest.name!r}; its ids begin with {next(iter(by_id))!r}."
        )
    return [by_id[name] for name in dict.fromkeys(ids)] if ids else list(manifest.problems)


def _is_settled(results: Results, problem: Problem, judge: JudgeName) -> bool:
    record = results.results.get(problem.id)
    return record is not None and record.settles(problem, judge)


def _default_output(settings: Settings, submission: Submission, manifest: Manifest) -> Path:
    return Path(settings.marathon.runs_dir).parent / "solo" / f"{submission.name}__{manifest.name}.json"


def _ledger_of(output: Path) -> Path:
    """Return the ledger's file, beside the results."""
    from ekiden_budget.holder import LEDGER_FILE

    return output.with_name(f"{output.stem}.{LEDGER_FILE}")


@contextmanager
def _held(output: Path) -> Generator[None]:
    """Make the results file's folder, and keep a second run out of the file."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(output.with_name(f".{output.name}.lock"), timeout=0):
            yield
    except Timeout as error:
        raise SoloError(f"Another run is writing {str(output)!r}; wait for it, or name another --output.") from error
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise SoloError(f"Cannot write in {str(output.parent)!r}: {error.strerror}.") from error
