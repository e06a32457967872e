"""Language models for a solver: the run's budget in a ledger of its own, and the proxy that spends from it.

The keys of the upstreams stay in this process. A solver gets a loopback address and a token that is good for its
attempt alone.
"""

import contextlib
import os
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_config import BudgetSettings, MarathonSettings
from ekiden_files import write_whole
from ekiden_orchestrator.client_variables import anthropic_variables, openai_variables
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.spending import Spending, spending_of
from ekiden_policies.budget import NANO, Caps

if TYPE_CHECKING:
    from ekiden_budget.ledger import Ledger
    from ekiden_budget.records import BudgetStatus
    from ekiden_budget.serving import Proxy
    from ekiden_budget.upstreams import Upstream

RUN = "run"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where the models of a run are asked; without upstreams there are none.

    Attributes:
        upstreams: The addresses, with their keys.
        settings: How the proxy treats calls.
    """

    upstreams: "tuple[Upstream, ...]"
    settings: BudgetSettings

    @property
    def names(self) -> tuple[str, ...]:
        """The upstreams' names."""
        return tuple(dict.fromkeys(upstream.name for upstream in self.upstreams))

    @property
    def has_keys(self) -> bool:
        """Whether there is a key that a solver must not see."""
        return any(upstream.key for upstream in self.upstreams)


def find_models(settings: BudgetSettings, environ: Mapping[str, str] = os.environ) -> ModelSource:
    """Return the upstreams that settings and environment name.

    Raises:
        MarathonError: An upstream is named but cannot be used, such as one whose key is missing.
    """
    from ekiden_budget.errors import BudgetError
    from ekiden_budget.upstreams import find_upstreams

    try:
        return ModelSource(find_upstreams(settings, environ), settings)
    except BudgetError as error:
        raise MarathonError(f"{error}") from error


def caps_of(tokens: int, usd: Decimal | None) -> Caps:
    """Return the caps of a run: below 0 tokens means no cap on them.

    Raises:
        MarathonError: No ledger can keep a cap that high.
    """
    from ekiden_budget.errors import BudgetError
    from ekiden_budget.figures import checked_caps

    try:
        return checked_caps(Caps(None if tokens < 0 else tokens, None if usd is None else int(usd * NANO)))
    except BudgetError as error:
        raise MarathonError(f"The budget for language models cannot be kept: {error}") from error


@dataclass(slots=True)
class ModelAccess:
    """What one attempt has of language models while it runs.

    Attributes:
        environment: The variables that tell a solver where they are.
        spent_before: Tokens that earlier attempts have settled.
    """

    environment: Mapping[str, str]
    spent_before: int
    _ledger: "Ledger"
    _proxy: "Proxy"
    _telemetry: Path
    _poll_s: float
    _settled: int = 0
    _next_look: float = field(default=0.0)

    def settled_tokens(self) -> int:
        """Return the tokens that the run has settled so far; the ledger is asked once in each polling interval."""
        if time.monotonic() >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + self._poll_s
        return self._settled

    def calls_in_flight(self) -> int:
        """Return how many calls are not settled yet."""
        return _run_status(self._ledger).calls.open

    def end(self, drain_s: float) -> Spending:
        """Let calls in flight finish, bill the rest of them, and return what the run has spent.

        The solver has ended: nobody can make another call.
        """
        self._proxy.close(drain_s=drain_s)
        self._look()
        return _run_spending(self._ledger)

    def _look(self) -> None:
        settled = _run_status(self._ledger).settled.tokens
        if settled != self._settled or not self._telemetry.exists():
            self._telemetry.parent.mkdir(exist_ok=True)
            write_whole(self._telemetry, f"{settled}\n".encode())
        self._settled = settled


@contextlib.contextmanager
def open_models(
    folder: RunFolder, source: ModelSource, settings: MarathonSettings, *, name: str, caps: Caps
) -> Generator[ModelAccess | None]:
    """Open a run's models to its next attempt; None where no upstream is known.

    What an earlier attempt spent stays spent, and calls that were in flight when its runner was killed are billed.

    Args:
        folder: The run's folder.
        source: Where the models are.
        settings: How runs are kept.
        name: What the budget is called where it is shown.
        caps: The limits of the run.

    Raises:
        MarathonError: The ledger cannot be kept, or the proxy cannot be started.
    """
    if not source.upstreams:
        yield None
        return
    from ekiden_budget.errors import BudgetError
    from ekiden_budget.ledger import Ledger
    from ekiden_budget.serving import Proxy

    with contextlib.ExitStack() as stack:
        try:
            ledger = stack.enter_context(Ledger(folder.ledger))
            token = _open_run(ledger, name, caps)
            proxy = stack.enter_context(Proxy(ledger, source.upstreams, source.settings, unsent_is_free=False))
        except BudgetError as error:
            raise MarathonError(f"The run's budget for language models cannot be kept: {error}") from error
        access = ModelAccess(
            environment=openai_variables(proxy.url, token) | anthropic_variables(proxy.url, token),
            spent_before=_run_status(ledger).settled.tokens,
            _ledger=ledger,
            _proxy=proxy,
            _telemetry=folder.telemetry,
            _poll_s=settings.poll_s,
        )
        yield access


def settle_abandoned(folder: RunFolder) -> Spending | None:
    """Bill what was in flight when a runner was killed, and return what the run has spent; None if it has no ledger."""
    if not folder.ledger.is_file():
        return None
    from ekiden_budget.errors import BudgetError, UnknownBudgetError
    from ekiden_budget.ledger import Ledger

    try:
        with Ledger(folder.ledger) as ledger:
            ledger.recover()
            return _run_spending(ledger)
    except UnknownBudgetError:  # killed between making the file and opening the budget
        return None
    except BudgetError as error:
        raise MarathonError(f"The ledger of the run, {str(folder.ledger)!r}, cannot be read: {error}") from error


def _open_run(ledger: "Ledger", name: str, caps: Caps) -> str:
    """Return a token for the run's budget; the one of an earlier attempt is no longer good."""
    from ekiden_budget.errors import UnknownBudgetError
    from ekiden_budget.records import BudgetId

    ledger.recover()
    with contextlib.suppress(UnknownBudgetError):
        return ledger.renew_token(BudgetId(RUN))
    return ledger.open_budget(name, caps, role="run", budget_id=RUN).token


def _run_status(ledger: "Ledger") -> "BudgetStatus":
    from ekiden_budget.records import BudgetId

    return ledger.status(BudgetId(RUN))


def _run_spending(ledger: "Ledger") -> Spending:
    from ekiden_budget.records import BudgetId

    return spending_of(ledger, BudgetId(RUN))
