"""Whether a solver could read the keys of the models, and what is done about it."""

from ekiden_config import MarathonSettings
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import SolverStarted
from ekiden_orchestrator.marathon.model_access import ModelSource
from ekiden_orchestrator.marathon.plan import KEEP_KEYS, isolations_for
from ekiden_orchestrator.marathon.submission import Submission
from ekiden_orchestrator.marathon.trial import try_isolation

_WAYS_OUT = (
    "Take the keys out of the environment (and of [budget.upstreams]), run on Linux 5.12 or newer with user "
    "namespaces, or, if you trust the solver, set marathon.allow_readable_keys = true."
)


def require_unreadable_keys(submission: Submission, models: ModelSource, settings: MarathonSettings) -> None:
    """Refuse a solver that could read the upstreams' keys from the processes of their owner.

    Built-in solvers are Ekiden itself. Processes of its owner are out of a solver's sight in namespaces of its own.

    Raises:
        MarathonError: It could; the message names the ways out.
    """
    if submission.built_in or not models.has_keys or settings.allow_readable_keys:
        return
    kinds = isolations_for(settings.isolation)
    if not KEEP_KEYS.intersection(kinds):
        raise MarathonError(
            f"With the isolation {settings.isolation!r} the solver {submission.name!r} could read the keys of the "
            f"language models ({', '.join(models.names)}). Set marathon.isolation = 'auto'. Or: {_WAYS_OUT}"
        )
    trial = try_isolation()
    if not keeps_keys(trial):
        raised = "; ".join(f"{kind}: {why}" for kind, why in (trial.refused if trial else {}).items())
        why = f"it has no namespaces for it ({raised})"
        if trial is not None and trial.isolation in KEEP_KEYS:
            why = "it cannot make the file system read-only for it"
        raise MarathonError(
            f"This system cannot keep the solver {submission.name!r} from reading the keys of the language models "
            f"({', '.join(models.names)}): {why}. {_WAYS_OUT}"
        )


def keeps_keys(trial: SolverStarted | None) -> bool:
    """Tell whether keys are safe from a solver that is not ours, as a trial went.

    Where the rest of the file system is not read-only, a solver could write into a program that its owner runs next.
    """
    return trial is not None and trial.isolation in KEEP_KEYS and trial.read_only
