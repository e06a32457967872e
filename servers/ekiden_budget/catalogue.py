"""The list of models that callers may ask for."""

import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

import anyio

from ekiden_budget.forwarding import Forwarder
from ekiden_budget.upstreams import Upstream
from ekiden_budget.wire import CallRules

KEPT_S = 300.0
PATIENCE_S = 10.0


class Catalogue:
    """What the upstreams offer, as far as the rules allow it; asked once in a while."""

    def __init__(self, forwarder: Forwarder, upstreams: Sequence[Upstream], rules: CallRules) -> None:
        self._forwarder = forwarder
        self._upstreams = tuple(upstreams)
        self._rules = rules
        self._found: tuple[dict[str, object], ...] = ()
        self._asked_at: float | None = None
        self._asking = anyio.Lock()  # guards the two above: many callers ask the upstreams once

    async def body(self, *, may_ask: bool) -> dict[str, object]:
        """Return the list in a shape that the clients of both vendors read.

        Args:
            may_ask: Whether upstreams may be asked; a caller without a budget sees what is known already.
        """
        async with self._asking:
            stale = self._asked_at is None or time.monotonic() - self._asked_at > KEPT_S
            if may_ask and stale:
                self._found = await self._ask()
                self._asked_at = time.monotonic()
        found = self._found or tuple(
            _entry(model, "") for model in self._rules.allowed_models if not any(sign in model for sign in "*?[")
        )
        ends = {"first_id": found[0]["id"], "last_id": found[-1]["id"]} if found else {}
        return {"object": "list", "data": list(found), "has_more": False, **ends}

    async def _ask(self) -> tuple[dict[str, object], ...]:
        answers: dict[str, object] = {}

        async def ask(upstream: Upstream) -> None:
            headers = upstream.headers("chat" if "chat" in upstream.dialects else "messages")
            answers[upstream.models_url] = await self._forwarder.get(upstream.models_url, headers, PATIENCE_S)

        async with anyio.create_task_group() as tasks:
            for upstream in {upstream.models_url: upstream for upstream in self._upstreams}.values():
                tasks.start_soon(ask, upstream)
        found: dict[str, dict[str, object]] = {}
        for upstream in self._upstreams:
            for model in _models_in(answers[upstream.models_url]):
                offered = any(fnmatchcase(model, glob) for glob in upstream.models)
                if offered and self._rules.allow_model(model):
                    found.setdefault(model, _entry(model, upstream.name))
        return tuple(found.values())


def _models_in(answer: object) -> list[str]:
    listed = cast("Mapping[str, object]", answer).get("data") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return []
    entries = [cast("Mapping[str, object]", entry) for entry in cast("list[object]", listed) if isinstance(entry, dict)]
    return [model for entry in entries if isinstance(model := entry.get("id"), str)]


def _entry(model: str, owner: str) -> dict[str, object]:
    openai: dict[str, object] = {"id": model, "object": "model", "created": 0, "owned_by": owner or "ekiden"}
    return {**openai, "type": "model", "display_name": model, "created_at": "1970-01-01T00:00:00Z"}
