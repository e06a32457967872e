"""`ekiden budget`: what is opened, shown, listed, watched and closed, and what is refused in one line."""

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from command_line import Done, ekiden
from ekiden_budget.ledger import BudgetId, CallLabel, Ledger
from ekiden_budget.records import TokenParts
from ekiden_orchestrator.commands.budget_display import BurnDown, burn_table
from ekiden_orchestrator.commands.budget_words import caps, duration, short, short_usd, usd
from ekiden_policies.budget import NANO, Amount, Caps

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter", purpose="normal_0007")
PROGRAM = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()"]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    file = tmp_path / "ledger.sqlite3"
    monkeypatch.setenv("EKIDEN_BUDGET_LEDGER", str(file))
    monkeypatch.delenv("EKIDEN_BUDGET_TOKEN", raising=False)
    with Ledger(file) as ledger:
        yield ledger


def budget(*arguments: object) -> Done:
    return ekiden("budget", *arguments)


def printed(*arguments: object) -> str:
    done = budget(*arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def spend(ledger: Ledger, budget: BudgetId, tokens: int, nanodollars: int | None = 0) -> None:
    call = ledger.reserve(budget, Amount(tokens, nanodollars), LABEL).call
    ledger.settle(call, "answered", Amount(tokens, nanodollars))


def opened_earlier(ledger: Ledger, name: str, caps: Caps) -> BudgetId:
    """Open a budget as of a minute ago: long enough for a rate to be told."""
    with Ledger(ledger.path, now=lambda: time.time() - 60) as earlier:
        return earlier.open_budget(name, caps).budget


def test_a_budget_opened_here_is_spent_with_the_token_that_was_said(ledger: Ledger) -> None:
    out = printed("open", "paper", "--tokens", 100_000, "--usd", "2.50", "--seconds", 3600, "--role", "run")
    found = re.fullmatch(
        r"Opened 'paper' \[(b\w+)\]: 100,000 tokens, \$2\.50, 1:00:00\nIts token, said this once: (\S+)\n", out
    )
    assert found
    assert ledger.authenticate(found[2]) == found[1]
    status = ledger.status(BudgetId(found[1]))
    assert status.role == "run"
    assert status.caps == Caps(100_000, 5 * NANO // 2, 3600, 80_000, 2 * NANO, 2880)


def test_a_child_is_opened_below_a_name(ledger: Ledger) -> None:
    root = ledger.open_budget("paper", Caps(tokens=1_000)).budget
    opened = json.loads(printed("child", "paper", "prover", "--tokens", 600, "--json"))
    child = ledger.status(opened["budget_id"])
    assert (child.parent, child.caps.tokens, child.caps.soft_tokens) == (root, 600, 480)
    assert ledger.authenticate(opened["token"]) == child.budget


def test_status_says_what_is_spent_with_children_below_their_parents(ledger: Ledger) -> None:
    root = opened_earlier(ledger, "paper", Caps(tokens=1_000_000, nanodollars=NANO))
    child = ledger.open_budget("prover", Caps(), parent=root).budget
    spend(ledger, child, 12_345, NANO // 4)
    ledger.reserve(root, Amount(500, NANO // 8), LABEL)
    first, second = printed("status").splitlines()
    assert re.fullmatch(
        rf"paper \[{root}\]: 12,345 / 1,000,000 tokens \(and 500 reserved\), \$0\.25 / \$1\.00, 1:\d\d, "
        r"[\d,]+ tokens/min, 1 in flight, 1 answered; ends in .* by usd",
        first,
    )
    own, end = second.split("; ")
    assert re.fullmatch(rf"  prover \[{child}\]: 12,345 tokens, \$0\.25, \d+ s, 1 answered", own), (
        "too early for a rate"
    )
    assert re.fullmatch(r"ends in .* by usd above", end)
    report = json.loads(printed("status", "prover", "--json"))
    assert [item["budget_id"] for item in report["items"]] == [child]
    assert "calls" not in report


def test_calls_are_listed_newest_first_and_page_by_page(ledger: Ledger) -> None:
    root = ledger.open_budget("paper", Caps()).budget
    for number in range(1, 6):
        spend(ledger, root, 1000 * number, None)
    lines = printed("calls", "paper", "--limit", 2).splitlines()
    shown = [re.fullmatch(r"(\d) 20\S+ \d\d:\d\d:\d\dZ 'paper' answered, (\S+) tokens, .*", line) for line in lines]
    assert [call and call.groups() for call in shown] == [("5", "5,000"), ("4", "4,000")]
    records = [json.loads(line) for line in printed("calls", "--before", 4, "--limit", 9, "--json").splitlines()]
    assert [(record["call"], record["tokens"], record["usd"]) for record in records] == [
        (3, 3000, None),
        (2, 2000, None),
        (1, 1000, None),
    ]
    assert {(record["purpose"], record["budget"]) for record in records} == {("normal_0007", "paper")}


def test_what_the_tokens_of_a_call_were_is_shown_where_it_was_told(ledger: Ledger) -> None:
    root = ledger.open_budget("paper", Caps()).budget
    call = ledger.reserve(root, Amount(9_000), LABEL).call
    ledger.settle(call, "answered", Amount(4_100), parts=TokenParts(4_000, 100, 3_000, 60))
    spend(ledger, root, 5)
    told, not_told = printed("calls", "paper").splitlines()[::-1]
    assert "answered, 4,100 tokens (4,000 in, 100 out), $0" in told
    assert "answered, 5 tokens, $0" in not_told
    kinds = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
    shown = [json.loads(line) for line in printed("calls", "paper", "--json").splitlines()[::-1]]
    assert [[call[kind] for kind in kinds] for call in shown] == [[4_000, 100, 3_000, 60], [None] * 4]


def test_a_closed_budget_refuses_and_the_watch_over_it_ends(ledger: Ledger) -> None:
    root = ledger.open_budget("paper", Caps(tokens=10)).budget
    assert printed("close", "paper").endswith(", closed\n")
    assert ledger.status(root).closed
    assert printed("watch", "paper") == f"paper [{root}]: 0 / 10 tokens, $0.00, 0 s, 0 answered, closed\n"
    [look] = printed("watch", "--json").splitlines()
    assert json.loads(look)["items"][0]["closed"]


def test_a_lost_token_is_renewed_and_the_old_one_stops_working(ledger: Ledger) -> None:
    opened = ledger.open_budget("paper", Caps())
    token = printed("renew", "paper").rstrip("\n")
    assert (ledger.authenticate(token), ledger.authenticate(opened.token)) == (opened.budget, None)
    again = json.loads(printed("renew", opened.budget, "--json"))
    assert (ledger.authenticate(again["token"]), again["budget_id"]) == (opened.budget, opened.budget)
    ledger.close_budget(opened.budget)
    assert "nobody can give it a new token" in budget("renew", "paper").stderr


DIES_WITH_A_CALL_OPEN = """
import sys
from pathlib import Path
from ekiden_budget import CallLabel, Ledger
from ekiden_policies.budget import Amount
Ledger(Path(sys.argv[1])).reserve(sys.argv[2], Amount(500), CallLabel("chat", "m", "u"))
"""


@pytest.mark.parametrize("command", ["status", "watch", "calls"])
def test_a_call_whose_proxy_was_killed_is_shown_as_billed_and_not_as_in_flight(ledger: Ledger, command: str) -> None:
    root = ledger.open_budget("paper", Caps()).budget
    subprocess.run([sys.executable, "-c", DIES_WITH_A_CALL_OPEN, str(ledger.path), root], check=True)
    ledger.close_budget(root)
    assert ledger.status(root).calls.open == 1
    out = printed(command)
    assert "in flight" not in out
    assert "500 tokens" in out
    assert ledger.status(root).calls.abandoned == 1


def test_a_token_makes_every_command_act_for_its_budget(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.open_budget("other", Caps())
    mine = ledger.open_budget("mine", Caps())
    monkeypatch.setenv("EKIDEN_BUDGET_TOKEN", mine.token)
    assert [line.split()[0] for line in printed("status").splitlines()] == ["mine"]
    assert "No budget 'other'" in budget("close", "other").stderr
    assert "open a child of yours" in budget("open", "more").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "papr"], "No budget 'papr'; did you mean 'paper'?"),
        (["child", "paper", "x", "--tokens", "2000"], "A child with 2000 tokens does not fit: 'paper' has 1000 tokens"),
        (["open", "paper", "--tokens", "5"], "A budget 'paper' is open already [b"),
        (["open", "x", "--usd", "a lot"], "--usd is 'a lot'; give an amount of US dollars, such as 2.50."),
        (["open", "x", "--usd=-1"], "--usd is '-1'; give an amount of US dollars"),
        (["open", "x", "--usd", "1e-12"], "--usd is '1e-12'; give 0, or at least 0.000000001 US dollars."),
        (["open", "x", "--usd", "nan"], "--usd is 'nan'; give an amount of US dollars"),
        (["open", "x", "--usd", "1e999999999"], "dollars cannot be"),
        (["open", "x", "--tokens", "many"], "--tokens is 'many'; give a whole number of at least 0."),
        (["open", "x", "--tokens", "1.5"], "--tokens is '1.5'; give a whole number of at least 0."),
        (["open", "x", "--tokens=-5"], "--tokens is '-5'; give a whole number of at least 0."),
        (["open", "x", "--tokens", "1" + "0" * 40], "cannot be: give a whole number in 0..1000000000000000"),
        (["open", "x", "--seconds", "soon"], "--seconds is 'soon'; give a number of at least 0."),
        (["open", "x", "--seconds", "nan"], "--seconds is 'nan'; give a number of at least 0."),
        (["open", "x", "--seconds", "inf"], "seconds cannot be"),
        (["open", "x", "--warn-at", "2"], "--warn-at is '2'; give a number in 0..1."),
        (["calls", "--limit", "0"], "--limit is '0'; give a whole number in 1..10000."),
        (["watch", "--interval", "inf"], "--interval is 'inf'; give a number in 0.1..86400."),
        (["proxy", "--port", "70000"], "--port is '70000'; give a whole number in 0..65535."),
        (["renew", "papr"], "No budget 'papr'; did you mean 'paper'?"),
        (["status", "--ledger", "/"], "'/' is a folder, so it is no ledger. Name a file, such as one in it."),
        (["open", "a\nb"], "give 1 to 200 printable characters."),
        (["status", "--ledger", "/nowhere/ledger"], "There is no ledger at '/nowhere/ledger'."),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(ledger: Ledger, arguments: list[str], message: str) -> None:
    ledger.open_budget("paper", Caps(tokens=1_000))
    done = budget(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_any_budget_the_way_to_open_one_is_told(ledger: Ledger) -> None:
    assert ledger.tree() == []
    assert "ekiden budget open NAME" in printed("status")
    assert printed("watch") == printed("status")
    assert printed("calls") == "There is no call to show.\n"


def test_plain_lines_come_only_when_something_was_spent(ledger: Ledger) -> None:
    root = ledger.open_budget("paper", Caps()).budget
    out = io.StringIO()
    with BurnDown(Console(file=out)) as display:
        display.show(ledger.tree())
        display.show(ledger.tree())
        spend(ledger, root, 10)
        display.show(ledger.tree())
    assert [re.sub(r"0 s, .*", "", line) for line in out.getvalue().splitlines()] == [
        f"paper [{root}]: 0 tokens, $0.00, ",
        f"paper [{root}]: 10 tokens, $0.00, ",
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_the_table_fits_its_terminal_and_cuts_no_figure(ledger: Ledger, width: int) -> None:
    root = opened_earlier(ledger, "paper", Caps(tokens=1_000_000, nanodollars=20 * NANO, seconds=7200))
    below = ledger.open_budget("one that proves " + "and proves " * 12, Caps(), parent=root).budget
    spend(ledger, root, 900_000, 5 * NANO)
    ledger.reserve(below, Amount(50_000, NANO), LABEL)
    out = io.StringIO()
    Console(file=out, width=width).print(burn_table(ledger.tree(), width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    [first] = (line for line in lines if line.startswith("paper"))
    [second] = (line for line in lines if line.startswith("  one that"))
    above, below_it = lines[lines.index(first) + 1], lines[lines.index(second) + 1]
    assert re.search(r"^paper +900k / 1M  \$5\.00 / \$20\.00 ", first)
    assert re.search(r"\+50k +\+\$1\.00 .*by tokens", above)
    assert "…" in second
    assert "…" not in first + above + below_it
    assert ("by tokens above" in below_it, "━" in first) == (True, width == 120)
    assert [root in above, f"  {below}" in below_it] == [width >= 100] * 2


def test_a_terminal_sees_the_budget_burn_down(ledger: Ledger) -> None:
    root = ledger.open_budget("paper", Caps(tokens=1_000)).budget
    outside, inside = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "110"}
    command = [*PROGRAM, "budget", "watch", "--interval", "0.1"]
    process = subprocess.Popen(command, env=environment, stdout=inside, stderr=inside)
    os.close(inside)
    shown = bytearray()

    def see(text: bytes) -> None:
        while text not in shown:
            assert select.select([outside], [], [], 30)[0], bytes(shown)
            shown.extend(os.read(outside, 65536))

    see(b"0 / 1,000")
    spend(ledger, root, 250)
    see(b"250 / 1,000")
    ledger.close_budget(root)
    see(b"closed")
    assert process.wait(30) == 0
    os.close(outside)


def test_figures_in_words() -> None:
    assert [duration(s) for s in (0.4, 59.9, 61, 3600, 90_000, 300_000, 1e12)] == [
        "0 s", "59 s", "1:01", "1:00:00", "25:00:00", "3 days", "years",
    ]  # fmt: skip
    assert [usd(n) for n in (0, NANO, NANO // 100, 1_234_500_000, 1_500, 10**12)] == [
        "$0.00", "$1.00", "$0.01", "$1.2345", "$0.0000015", "$1,000.00",
    ]  # fmt: skip
    assert [short(n) for n in (0, 9_999, 12_345, 999_999, 10**6, 10**9, 10**15)] == [
        "0", "9,999", "12.3k", "999.9k", "1M", "1G", "1,000,000G",
    ]  # fmt: skip
    assert [short_usd(n) for n in (0, 1, 123_456_789, NANO - 1, NANO, 1_459_999_999)] == [
        "$0.00", "<$0.0001", "$0.1234", "$0.9999", "$1.00", "$1.45",
    ]  # fmt: skip
    assert caps(Caps()) == "no caps of its own"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_an_output_that_cannot_be_written_is_one_line_and_status_1(ledger: Ledger) -> None:
    ledger.open_budget("paper", Caps(tokens=1_000))
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*PROGRAM, "budget", "status"], check=False, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (1, "ekiden: cannot write: No space left on device.\n")


def test_whoever_stops_reading_is_told_nothing(ledger: Ledger) -> None:
    ledger.open_budget("paper", Caps(tokens=1_000))
    outside, inside = os.pipe()
    os.close(outside)
    done = subprocess.run(
        [*PROGRAM, "budget", "status"], check=False, stdout=inside, stderr=subprocess.PIPE, timeout=60
    )
    os.close(inside)
    assert (done.returncode, done.stderr) == (1, b"")
