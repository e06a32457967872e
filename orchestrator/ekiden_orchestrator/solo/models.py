"""The models of a Solo run: each call goes through the budget's proxy, under a budget of its problem's own."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import anyio

from ekiden_orchestrator.marathon.model_access import caps_of
from ekiden_orchestrator.marathon.spending import Spending, spending_of
from ekiden_policies.budget import Caps

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from ekiden_budget import BudgetId, Ledger
    from ekiden_budget.serving import Proxy
    from ekiden_orchestrator.marathon.model_access import ModelSource
    from ekiden_orchestrator.solo.config import ModelSection

NO_MODELS = (
    "there is no language model: set OPENROUTER_API_KEY, OPENAI_API_KEY, DEEPSEEK_API_KEY or ANTHROPIC_API_KEY, "
    "or name an address under [budget.upstreams], and with --model one that is listed there"
)
OUT_OF_BUDGET = "LLM API error: 402:"
_DRAIN_S = 5.0
_MAX_NAME = 80

Reply = dict[str, object]


@dataclass(slots=True)
class ProblemModels:
    """What one problem may ask of models, and what it has spent; without `address` there are none.

    Attributes:
        llm: How models are asked.
        address: The proxy's address.
        token: The token of the problem's budget.
        routes: Whether the upstream takes a provider and an effort.
        budget: The id of the problem's budget.
        asked: How many calls were made.
        spending: What its calls have cost and how they ended, once it is closed.
    """

    llm: ModelSection
    address: str = ""
    token: str = field(default="", repr=False)
    routes: bool = False
    budget: str = ""
    asked: int = 0
    spending: Spending | None = None

    def ask(self, prompt: str, *, time_limit_s: float) -> Reply:
        """Ask once; an error is a reply as well."""
        if not self.address:
            return {"error": NO_MODELS}
        self.asked += 1
        limit_s = max(1.0, min(self.llm.http_timeout_seconds, time_limit_s))
        return anyio.run(self._ask, prompt, limit_s)

    async def _ask(self, prompt: str, limit_s: float) -> Reply:
        import httpx2

        headers = {"Authorization": f"Bearer {self.token}", "x-ekiden-purpose": purpose_of(self.asked)}
        try:
            with anyio.fail_after(limit_s):
                async with httpx2.AsyncClient(timeout=limit_s, trust_env=False) as client:
                    answer = await client.post(
                        f"{self.address}/v1/chat/completions", json=self.request(prompt), headers=headers
                    )
        except (TimeoutError, httpx2.TimeoutException):
            return {"error": f"LLM request timed out ({limit_s:g}s)"}
        except httpx2.HTTPError as error:
            return {"error": f"LLM API error: {type(error).__name__}: {error}"}
        return _reply(answer)

    def request(self, prompt: str) -> dict[str, object]:
        """Return what is sent for a prompt."""
        llm = self.llm
        request: dict[str, object] = {
            "model": llm.model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": llm.max_output_tokens,
            "temperature": llm.temperature,
        }
        if llm.use_seed:
            request["seed"] = llm.seed
        if self.routes and llm.provider:
            request["provider"] = {"order": [llm.provider]}
        if self.routes and llm.reasoning_effort:
            request["reasoning"] = {"effort": llm.reasoning_effort}
        return request


@dataclass(frozen=True, slots=True)
class RunModels:
    """The models of a whole run; without a ledger there are none.

    Attributes:
        llm: How they are asked.
        routes: Whether the upstream takes a provider and an effort.
        has_keys: Whether there is a key that a solver must not see.
    """

    llm: ModelSection
    routes: bool = False
    has_keys: bool = False
    _ledger: Ledger | None = None
    _proxy: Proxy | None = None
    _run: BudgetId | None = None

    @contextmanager
    def for_problem(self, problem: str) -> Generator[ProblemModels]:
        """Open a problem's budget, under the run's; it is closed, and its spending known, in the end."""
        if self._ledger is None or self._proxy is None:
            yield ProblemModels(self.llm)
            return
        opened = self._ledger.open_budget(_name(problem), Caps(), parent=self._run, role="problem")
        models = ProblemModels(self.llm, self._proxy.url, opened.token, self.routes, opened.budget)
        try:
            yield models
        finally:
            self._ledger.close_budget(opened.budget)
            models.spending = spending_of(self._ledger, opened.budget)


@contextmanager
def open_models(
    source: ModelSource, llm: ModelSection, *, ledger: Path, name: str, tokens: int
) -> Generator[RunModels]:
    """Open a run's models, its ledger and its proxy; the keys stay in this process.

    Args:
        source: The upstreams.
        llm: How they are asked.
        ledger: The file of the ledger.
        name: What the run's budget is called.
        tokens: Its cap; 0 refuses every call, below 0 there is none.

    Raises:
        BudgetError: The ledger cannot be kept, or the proxy not be started.
    """
    if not source.upstreams:
        yield RunModels(llm)
        return
    from ekiden_budget import Ledger
    from ekiden_budget.serving import Proxy
    from ekiden_budget.upstreams import choose_upstream

    chosen = choose_upstream(source.upstreams, "chat", llm.model)
    with ExitStack() as stack:
        opened_ledger = stack.enter_context(Ledger(ledger))
        opened_ledger.recover()
        run = opened_ledger.open_budget(_name(name), caps_of(tokens, None), role="solo").budget
        stack.callback(opened_ledger.close_budget, run)
        proxy = stack.enter_context(Proxy(opened_ledger, source.upstreams, source.settings))
        stack.callback(proxy.close, drain_s=_DRAIN_S)
        routes = chosen is not None and chosen.is_openrouter
        yield RunModels(llm, routes, source.has_keys, opened_ledger, proxy, run)


def purpose_of(call: int) -> str:
    """Return what the ledger notes of a problem's call, 1-based, so that the call and its log entry can be matched."""
    return f"call {call}"


def _reply(answer: object) -> Reply:
    """Turn the proxy's answer into what a solver is told."""
    import httpx2

    assert isinstance(answer, httpx2.Response)
    try:
        body = cast("dict[str, object]", answer.json())
        if not answer.is_success:
            error = cast("dict[str, object]", body["error"])
            return {"error": f"LLM API error: {answer.status_code}: {error['message']}"}
        choice = cast("list[dict[str, object]]", body["choices"])[0]
        message = cast("dict[str, object]", choice["message"])
    except (ValueError, LookupError, TypeError) as error:
        return {"error": f"LLM response parse error: {type(error).__name__}: {error}"}
    texts = [message.get(key) for key in ("content", "reasoning", "reasoning_content")]
    reply: Reply = {"response": next((text for text in texts if isinstance(text, str) and text), "")}
    if not texts[0] and choice.get("finish_reason") == "length":
        reply["truncated"] = True
    return reply


def _name(text: str) -> str:
    return text[:_MAX_NAME] or "problem"
