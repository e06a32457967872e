"""`ekiden budget`: open, watch and close budgets for model calls, and serve the proxy that keeps them."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ekiden_orchestrator.commands.budget_figures import money, number, whole

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ekiden_budget.holder import Holder
    from ekiden_budget.ledger import BudgetId
    from ekiden_budget.records import BudgetStatus, Opened
    from ekiden_config import BudgetSettings
    from ekiden_policies.budget import Caps

app = typer.Typer(name="budget", help="Cap what model calls may cost, and see what is left.", no_args_is_help=True)

_DEFAULT = "the settings' budget.ledger"
_LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="The ledger.", show_default=_DEFAULT)
]
_Budget = Annotated[str, typer.Argument(metavar="BUDGET", help="Its id, or its name.", show_default=False)]
_AnyBudget = Annotated[
    str, typer.Argument(metavar="BUDGET", help="Its id or name; without it, all.", show_default=False)
]
_Name = Annotated[str, typer.Argument(help="What people see.", show_default=False)]
_Tokens = Annotated[
    int | None,
    typer.Option("--tokens", parser=whole("--tokens"), metavar="N", help="Cap on tokens read and written."),
]
_Usd = Annotated[
    Decimal | None,
    typer.Option("--usd", parser=money("--usd"), metavar="AMOUNT", help="Cap on US dollars, such as 2.50."),
]
_Seconds = Annotated[
    float | None, typer.Option("--seconds", parser=number("--seconds"), metavar="S", help="Cap on the time from now.")
]
_WarnAt = Annotated[
    float,
    typer.Option(
        "--warn-at",
        parser=number("--warn-at", most=1),
        metavar="SHARE",
        help="Share of each cap past which callers are warned, 0..1.",
    ),
]
_DAY_S = 86_400
_Role = Annotated[str, typer.Option(help="What it is for, such as a run, a role or an agent.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def budget() -> None:
    """Cap what model calls may cost, and see what is left.

    With EKIDEN_BUDGET_TOKEN set, every command acts for that budget and those below it.
    """


@app.command("open")
def open_(
    name: _Name,
    *,
    tokens: _Tokens = None,
    usd: _Usd = None,
    seconds: _Seconds = None,
    warn_at: _WarnAt = 0.8,
    role: _Role = "",
    ledger: _LedgerFile = None,
    as_json: _Json = False,
) -> None:
    """Open a budget and say its token, once. Caps left out are not set; 0 refuses every call."""
    from ekiden_orchestrator.budget_proxy import require_free_name

    with _holder(ledger, create=True) as holder:
        if holder.own is None:
            require_free_name(holder, name, _ledger_option(ledger))
        caps = _caps(tokens, usd, seconds, warn_at)
        _say_opened(name, caps, holder.open_root(name, caps, role=role), as_json=as_json)


@app.command()
def child(
    parent: Annotated[str, typer.Argument(help="The budget above: its id, or its name.", show_default=False)],
    name: _Name,
    *,
    tokens: _Tokens = None,
    usd: _Usd = None,
    seconds: _Seconds = None,
    warn_at: _WarnAt = 0.8,
    role: _Role = "",
    ledger: _LedgerFile = None,
    as_json: _Json = False,
) -> None:
    """Open a budget below another, with no cap above what that one has left; the caps above hold as well."""
    with _holder(ledger) as holder:
        caps = _caps(tokens, usd, seconds, warn_at)
        _say_opened(name, caps, holder.open_child(holder.find(parent), name, caps, role=role), as_json=as_json)


@app.command()
def status(name: _AnyBudget = "", *, ledger: _LedgerFile = None, as_json: _Json = False) -> None:
    """Say what budgets have spent, reserved and left, how fast, and when they end at that rate."""
    from ekiden_budget.models import StatusReport

    with _holder(ledger) as holder:
        statuses = _looked(holder, _chosen(holder, name))
    if as_json:
        typer.echo(StatusReport.of_statuses(statuses, most=None).model_dump_json(exclude={"calls"}))
        return
    _show(statuses)


@app.command()
def calls(
    name: _AnyBudget = "",
    *,
    limit: Annotated[
        int, typer.Option(parser=whole("--limit", 1, 10_000), metavar="N", help="How many calls, 1..10000.")
    ] = 20,
    before: Annotated[
        int | None, typer.Option(parser=whole("--before", 1), metavar="N", help="Calls older than this number.")
    ] = None,
    ledger: _LedgerFile = None,
    as_json: _Json = False,
) -> None:
    """List calls, the newest first: when, of which budget, outcome, bill, model, and what its caller said it is for."""
    from ekiden_budget.ledger import CallId
    from ekiden_budget.models import CallReport, in_a_line, names_of
    from ekiden_orchestrator.visible_text import visible

    with _holder(ledger) as holder:
        chosen = _chosen(holder, name)
        names = names_of(_looked(holder, chosen))
        records = holder.calls(chosen, limit=limit, before=None if before is None else CallId(before))
    if not records and not as_json:
        typer.echo("There is no call to show.")
    for record in records:
        report = CallReport.of_record(record, names).model_dump_json() if as_json else visible(in_a_line(record, names))
        typer.echo(report)


@app.command()
def renew(name: _Budget, *, ledger: _LedgerFile = None, as_json: _Json = False) -> None:
    """Print a new token for a budget whose token was lost; the old one stops working at once."""
    from ekiden_budget.models import OpenedBudget

    with _holder(ledger) as holder:
        budget = holder.find(name)
        token = holder.ledger.renew_token(budget)
    typer.echo(OpenedBudget(budget_id=budget, token=token).model_dump_json() if as_json else token)


@app.command()
def close(name: _Budget, *, ledger: _LedgerFile = None, as_json: _Json = False) -> None:
    """Close a budget and all below it: later calls are refused, calls in flight are still billed."""
    from ekiden_budget.models import ClosedBudget
    from ekiden_orchestrator.commands.budget_words import line

    with _holder(ledger) as holder:
        closed = holder.ledger.close_budget(holder.find(name))
    typer.echo(ClosedBudget.of_status(closed).model_dump_json() if as_json else line(closed))


@app.command()
def watch(
    name: _AnyBudget = "",
    *,
    interval: Annotated[
        float,
        typer.Option(parser=number("--interval", 0.1, _DAY_S), metavar="S", help="Seconds between two looks."),
    ] = 1.0,
    ledger: _LedgerFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON at each look.")] = False,
) -> None:
    """Show budgets burn down, until all of them are closed and no call is in flight; Ctrl-C ends it sooner."""
    from time import sleep

    from rich.console import Console

    from ekiden_budget.models import StatusReport
    from ekiden_orchestrator.commands.budget_display import BurnDown

    with _holder(ledger) as holder, BurnDown(Console(highlight=False)) as display:
        chosen = _chosen(holder, name)
        while True:
            statuses = _looked(holder, chosen)
            if not statuses:
                _show(statuses)
                return
            if as_json:
                typer.echo(StatusReport.of_statuses(statuses, most=None).model_dump_json(exclude={"calls"}))
            else:
                display.show(statuses)
            if all(status.closed and not status.calls.open for status in statuses):
                return
            sleep(interval)


@app.command()
def proxy(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the budget that is opened.", show_default="proxy")
    ] = "",
    *,
    tokens: _Tokens = None,
    usd: _Usd = None,
    seconds: _Seconds = None,
    warn_at: _WarnAt = 0.8,
    port: Annotated[
        int, typer.Option(parser=whole("--port", 0, 65_535), metavar="N", help="Port on loopback; 0 is any.")
    ] = 0,
    drain_s: Annotated[
        float,
        typer.Option(
            parser=number("--drain-s", 0, _DAY_S), metavar="S", help="Seconds that calls in flight may take at the end."
        ),
    ] = 30.0,
    ledger: _LedgerFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the addresses and the token as JSON.")] = False,
) -> None:
    """Serve the proxy for model calls until Ctrl-C, for a new budget, or for the one of EKIDEN_BUDGET_TOKEN.

    Model keys are taken from OPENROUTER_API_KEY, OPENAI_API_KEY, DEEPSEEK_API_KEY, ANTHROPIC_API_KEY, or as
    the settings say under budget.upstreams; callers need none. Every budget of the ledger can be spent here.
    """
    from ekiden_orchestrator.budget_proxy import serve_budget

    serve_budget(
        _settings(ledger),
        name,
        _caps(tokens, usd, seconds, warn_at),
        ledger_option=_ledger_option(ledger),
        port=port,
        drain_s=drain_s,
        as_json=as_json,
    )


def _ledger_option(ledger: Path | None) -> str:
    """Return what leads another command to the same ledger."""
    return "" if ledger is None else f" --ledger {shlex.quote(str(ledger.expanduser().resolve()))}"


def _settings(ledger: Path | None) -> BudgetSettings:
    from ekiden_config import load_settings

    return load_settings({"budget": {"ledger": None if ledger is None else str(ledger)}}).budget


@contextmanager
def _holder(ledger: Path | None, *, create: bool = False) -> Generator[Holder]:
    from ekiden_budget.holder import Holder

    holder = Holder.of_settings(_settings(ledger), create=create)
    with holder.ledger:
        yield holder


def _chosen(holder: Holder, name: str) -> BudgetId | None:
    return holder.find(name) if name else holder.own


def _looked(holder: Holder, chosen: BudgetId | None) -> list[BudgetStatus]:
    _bill_the_dead(holder)
    return holder.tree(chosen)


def _bill_the_dead(holder: Holder) -> None:
    """Have no call shown as in flight whose proxy was killed; a token's holder may not see that proxy's process."""
    if holder.own is None:
        holder.ledger.recover()


def _caps(tokens: int | None, usd: Decimal | None, seconds: float | None, warn_at: float) -> Caps:
    from ekiden_budget.models import caps_within

    return caps_within(tokens, usd, seconds, warn_at=warn_at)


def _say_opened(name: str, caps: Caps, opened: Opened, *, as_json: bool) -> None:
    from ekiden_budget.models import OpenedBudget
    from ekiden_orchestrator.commands.budget_words import caps as caps_in_words

    if as_json:
        typer.echo(OpenedBudget.of_opened(opened).model_dump_json())
        return
    typer.echo(f"Opened {name!r} [{opened.budget}]: {caps_in_words(caps)}")
    typer.echo(f"Its token, said this once: {opened.token}")


def _show(statuses: Sequence[BudgetStatus]) -> None:
    from rich.console import Console

    from ekiden_orchestrator.commands.budget_display import burn_table
    from ekiden_orchestrator.commands.budget_words import lines
    from ekiden_orchestrator.visible_text import visible

    console = Console(highlight=False)
    if not statuses:
        typer.echo("No budget has been opened here yet: ekiden budget open NAME --tokens N")
    elif console.is_terminal:
        console.print(burn_table(statuses, width=console.width))
    else:
        for text in lines(statuses):
            typer.echo(visible(text))
