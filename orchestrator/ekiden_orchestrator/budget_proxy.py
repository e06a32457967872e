"""The budget proxy in the foreground: opened, announced, served until it is asked to end."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from ekiden_orchestrator.commands.budget_clients import TOKEN_VARIABLE, Access
from ekiden_orchestrator.commands.budget_words import caps as caps_in_words
from ekiden_orchestrator.commands.budget_words import line
from ekiden_orchestrator.errors import CommandError
from ekiden_orchestrator.pricing import price_warning

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ekiden_budget.holder import Holder
    from ekiden_budget.ledger import BudgetId
    from ekiden_budget.upstreams import Upstream
    from ekiden_config import BudgetSettings
    from ekiden_policies.budget import Caps

DEFAULT_NAME = "proxy"


def serve_budget(
    settings: BudgetSettings,
    name: str,
    caps: Caps,
    *,
    ledger_option: str = "",
    port: int,
    drain_s: float,
    as_json: bool,
) -> None:
    """Serve the proxy until SIGINT or SIGTERM.

    Args:
        settings: Where the ledger is, and how the proxy treats calls.
        name: The budget that is opened.
        caps: Its limits.
        ledger_option: What other commands need to find the same ledger, with a space before it.
        port: The port; 0 is any.
        drain_s: How long calls in flight may take at the end.
        as_json: Whether programs read what is said.

    Raises:
        CommandError: There is no model to call, caps are given for a budget that has its own, or the name is taken.
        BudgetError: The ledger or the port cannot be had.
    """
    from ekiden_budget.holder import Holder
    from ekiden_budget.serving import Proxy

    upstreams = _upstreams(settings)
    holder = Holder.of_settings(settings)
    try:
        _check_wish(holder, name, caps, ledger_option)
    except CommandError:
        holder.ledger.close()
        raise
    with holder.ledger as ledger, _asked_to_end() as end, Proxy(ledger, upstreams, settings, port=port) as proxy:
        abandoned = ledger.recover()
        opened = None if holder.own is not None else holder.open_root(name or DEFAULT_NAME, caps)
        budget = holder.own if opened is None else opened.budget
        assert budget is not None
        access = Access(proxy.url, None if opened is None else opened.token)
        if as_json:
            typer.echo(json.dumps(_facts(access, budget)))
        else:
            _announce(access, holder, budget, upstreams, abandoned=abandoned, ledger_option=ledger_option)
            if warning := price_warning(settings, ledger.status(budget).caps):
                typer.echo(warning, err=True)
        end.wait()
        if not as_json:
            typer.echo("Ending; calls in flight may settle. Again to end at once.")
        proxy.close(drain_s=drain_s)
        if not as_json:
            status = ledger.status(budget)
            typer.echo(line(status))
            if opened is not None and not status.closed:
                typer.echo(f"Still open; close it with: ekiden budget close {budget}{ledger_option}")


def _check_wish(holder: Holder, name: str, caps: Caps, ledger_option: str) -> None:
    """Make sure that it is clear which budget is meant: the one of the token, or a new one."""
    from ekiden_policies.budget import Caps

    if holder.own is None:
        require_free_name(holder, name or DEFAULT_NAME, ledger_option)
        return
    if caps != Caps():
        raise CommandError(f"The budget of {TOKEN_VARIABLE} has its caps; give none, or unset it to open a new one.")
    own = holder.ledger.status(holder.own)
    if name not in {"", own.name, own.budget}:
        raise CommandError(f"{TOKEN_VARIABLE} is for the budget {own.name!r}, not {name!r}; unset it, or name none.")


def require_free_name(holder: Holder, name: str, ledger_option: str) -> None:
    """Make sure that no budget of its own is open under a name.

    Raises:
        CommandError: One is; the message says how to go on with it.
    """
    taken = [one.budget for one in holder.tree() if one.name == name and one.parent is None and not one.closed]
    if taken:
        raise CommandError(
            f"A budget {name!r} is open already [{taken[-1]}]. To go on with it, set {TOKEN_VARIABLE} to its token "
            f"(lost: ekiden budget renew {taken[-1]}{ledger_option}) and name none; for a new one, choose another name."
        )


def _upstreams(settings: BudgetSettings) -> Sequence[Upstream]:
    from ekiden_budget.ledger import TOKEN_PREFIX
    from ekiden_budget.upstreams import KEY_VARIABLES, find_upstreams

    for variable in KEY_VARIABLES.values():
        if os.environ.get(variable, "").startswith(TOKEN_PREFIX):
            raise CommandError(
                f"{variable} holds the token of a budget, not the key of a model provider: start the proxy in a shell "
                "without the lines that are meant for its callers."
            )
    upstreams = find_upstreams(settings, os.environ)
    if not upstreams:
        raise CommandError(
            f"There is no model to call: set one of {', '.join(KEY_VARIABLES.values())}, or name a base URL in the "
            "settings under [budget.upstreams.NAME]."
        )
    return upstreams


def _facts(access: Access, budget: BudgetId) -> dict[str, str | None]:
    return {
        "url": access.url,
        "openai_base_url": access.openai_base_url,
        "anthropic_base_url": access.anthropic_base_url,
        "token": access.token,
        "budget_id": budget,
    }


def _announce(
    access: Access,
    holder: Holder,
    budget: BudgetId,
    upstreams: Sequence[Upstream],
    *,
    abandoned: int,
    ledger_option: str,
) -> None:
    status = holder.ledger.status(budget)
    typer.echo(f"Proxy for models at {access.url}, until Ctrl-C")
    typer.echo(f"  Budget:    {status.name} [{budget}], {caps_in_words(status.caps)}")
    served = dict.fromkeys(f"{upstream.name} ({upstream.base_url})" for upstream in upstreams)
    typer.echo(f"  Upstreams: {', '.join(served)}")
    typer.echo(f"  Ledger:    {holder.ledger.path}")
    if abandoned:
        typer.echo(
            f"  Note:      {abandoned} call{'s' if abandoned > 1 else ''} of a process that died, billed as reserved"
        )
    typer.echo(f"  Watch:     ekiden budget watch {budget}{ledger_option}")
    typer.echo(f"\n{access.paste()}", nl=False)


@contextmanager
def _asked_to_end() -> Generator[threading.Event]:
    """Give an event that Ctrl-C and SIGTERM set; a second one ends at once."""
    end = threading.Event()

    def ask(number: int, frame: object) -> None:
        del frame
        if end.is_set():
            signal.default_int_handler(number, None)
        end.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
