"""Whether anybody serves the model that a run is about to ask, at a known price; looked at before the run starts."""

import json
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, cast

from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.model_access import ModelSource
from ekiden_orchestrator.marathon.submission import Submission

if TYPE_CHECKING:
    from ekiden_budget.upstreams import Upstream
    from ekiden_config import BudgetSettings

CONTEST_MODEL = "openai/gpt-oss-120b"
"""What the built-in solvers ask where nobody names a model: the contest's, under the name that OpenRouter gives it."""

_MOST_EXAMPLES = 3
_HOW_TO_PRICE = """\
Add it to ekiden.toml or to your own settings, with the vendor's figures, or leave --budget-usd out:

[budget.prices.{model}]
input_usd_per_million = 1.25
output_usd_per_million = 10.00"""


def require_model_of(
    submission: Submission, model: str, tokens: int, source: ModelSource, *, usd: Decimal | None
) -> None:
    """Refuse a marathon that would ask a model that nobody serves, or one without a price under a cap in dollars.

    Args:
        submission: The solver; one that is not ours is looked at only if a model is named.
        model: The model that it is told to use; empty: its own choice.
        tokens: The tokens of the run; with 0 nobody is asked.
        source: Where models are asked.
        usd: The dollars of the run; None is no cap, and with 0 nobody is asked.

    Raises:
        MarathonError: No upstream serves the model, or its price is not known; the message names the ways out.
    """
    if submission.asks_models:
        model = model or CONTEST_MODEL
    if model and tokens and source.upstreams and (submission.asks_models or not submission.built_in):
        require_served(model, source)
        if usd:
            _require_price(model, source)


def require_served(model: str, source: ModelSource) -> None:
    """Make sure that an upstream serves a model, as far as its list of models tells; one without a list is believed.

    A model that the settings name as an upstream's is believed, too, be it by a glob that leaves some models out.

    Raises:
        MarathonError: None does; the message names the upstreams and the ways out.
    """
    from ekiden_budget.upstreams import choose_upstream
    from ekiden_budget.wire import CallRules

    model = _pinned(model, source)
    chosen = choose_upstream(source.upstreams, "chat", model)
    if not CallRules.from_settings(source.settings).allow_model(model):
        raise _unserved(model, source, "the setting budget.allowed_models does not let it through", ())
    if chosen is None:
        raise _unserved(model, source, "none takes it in Chat Completions", ())
    named = source.settings.upstreams.get(chosen.name)
    if named is not None and any(glob != "*" and fnmatchcase(model, glob) for glob in named.models):
        return
    listed = _listed(chosen, source.settings)
    if listed and _plain(model) not in map(_plain, listed):
        raise _unserved(model, source, f"{chosen.name!r}, where it would be asked, does not list it", listed)


def _require_price(model: str, source: ModelSource) -> None:
    model = _pinned(model, source)
    if not any(fnmatchcase(model, glob) for glob in source.settings.prices):
        raise MarathonError(
            f"The model {model!r} has no price, so the cap in dollars would refuse every call of it. "
            + _HOW_TO_PRICE.format(model=json.dumps(model))
        )


def _pinned(model: str, source: ModelSource) -> str:
    """Return the model that is asked in place of one, where the settings say so."""
    pinned = source.settings.pinned.get("model")
    return pinned if isinstance(pinned, str) else model


def _unserved(model: str, source: ModelSource, why: str, listed: tuple[str, ...]) -> MarathonError:
    found = ", ".join(dict.fromkeys(f"{upstream.name} ({upstream.base_url})" for upstream in source.upstreams))
    examples = ", ".join(map(repr, listed[:_MOST_EXAMPLES]))
    such = f", such as {examples}" if examples else ""
    return MarathonError(
        f"No upstream serves the model {model!r}: there is {found or 'none'}, and {why}. Name another model with "
        f"--model or the setting marathon.model{such}; or set the key of a provider that has it; or, if an upstream "
        "has it all the same, name it in the models of [budget.upstreams.NAME], by its own name or a narrower glob "
        "than '*'."
    )


def _listed(upstream: "Upstream", settings: "BudgetSettings") -> tuple[str, ...]:
    """Return the models that an upstream lists; nothing if it does not tell."""
    import anyio

    from ekiden_budget.catalogue import Catalogue
    from ekiden_budget.forwarding import Forwarder
    from ekiden_budget.wire import CallRules

    async def ask() -> dict[str, object]:
        forwarder = Forwarder(settings)
        try:
            return await Catalogue(forwarder, (upstream,), CallRules()).body(may_ask=True)
        finally:
            await forwarder.aclose()

    entries = cast("list[dict[str, object]]", anyio.run(ask)["data"])
    return tuple(str(entry["id"]) for entry in entries)


def _plain(model: str) -> str:
    """Return a name without its tag: servers take `llama3` for `llama3:latest`, and tags that they do not list."""
    return model.partition(":")[0]
