"""Many processes on one ledger: all at once, killed anywhere, and forked with the ledger open."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ledger_drill
from ekiden_budget import BudgetId, CallLabel, Ledger, RefusedError
from ekiden_policies.budget import Amount, Caps

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter")


def drill(kind: str, path: Path, *figures: int) -> dict[str, int]:
    command = [sys.executable, str(Path(ledger_drill.__file__)), kind, str(path), *map(str, figures)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("spare", [0, 99])
def test_of_64_callers_at_once_the_40_that_fit_are_let_through(tmp_path: Path, spare: int):
    path = tmp_path / "ledger.sqlite"
    assert drill("callers", path, 64, 100, 4000 + spare) == {"settled": 40, "refused": 24}
    with Ledger(path) as ledger:
        status = ledger.status(BudgetId("run"))
    assert (status.settled, status.reserved, status.excess) == (Amount(4000), Amount(), Amount())
    assert (status.calls.answered, status.calls.refused, status.calls.open) == (40, 24, 0)


def check_kills(path: Path, rounds: int, seed: int) -> None:
    found = drill("kills", path, rounds, seed)
    assert found["rounds"] == rounds
    assert found["killed"] > rounds
    assert found["told"] > rounds
    assert found["abandoned"] > rounds // 2
    assert found["refused"] > 0


def test_processes_that_are_killed_anywhere_lose_nothing_and_owe_what_they_reserved(tmp_path: Path):
    check_kills(tmp_path / "ledger.sqlite", 40, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_interleavings_with_kills(tmp_path: Path):
    check_kills(tmp_path / "ledger.sqlite", 1000, seed=2)


def test_processes_that_make_the_same_ledger_at_once_share_one(tmp_path: Path):
    found = drill("creators", tmp_path / "new" / "ledger.sqlite", 12)
    assert (found["done"], found["budgets"]) == (12, 12)


def test_a_process_may_fork_while_its_threads_use_the_ledger(tmp_path: Path):
    found = drill("forks", tmp_path / "ledger.sqlite", 25)
    assert found["done"] == 25
    assert found["billed"] == found["answered"] > 25


def test_threads_of_one_process_share_a_ledger_object(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger, ThreadPoolExecutor(16) as threads:
        run = ledger.open_budget("run", Caps(tokens=4000)).budget

        def call(_: int) -> bool:
            try:
                reserved = ledger.reserve(run, Amount(100), LABEL)
            except RefusedError:
                return False
            return ledger.settle(reserved.call, "answered", Amount(100)).settled.billed == Amount(100)

        assert sum(threads.map(call, range(64))) == 40
        assert ledger.status(run).settled == Amount(4000)


FORKED = """
import os, sys
from pathlib import Path
from ekiden_budget import CallLabel, Ledger
from ekiden_policies.budget import Amount, Caps

label = CallLabel("chat", "m", "u")
with Ledger(Path(sys.argv[1])) as ledger:
    run = ledger.open_budget("run", Caps(tokens=100), budget_id="run").budget
    ledger.reserve(run, Amount(1), label)
    child = os.fork()
    ledger.reserve(run, Amount(10), label)
    if child == 0:
        os._exit(0)  # its reservation stays open
    os.waitpid(child, 0)
    print(ledger.status(run).reserved.tokens, ledger.recover(), ledger.status(run).reserved.tokens)
"""


def test_a_forked_process_goes_on_with_the_ledger_it_was_given_and_answers_for_its_own_calls(tmp_path: Path):
    path = tmp_path / "ledger.sqlite"
    done = subprocess.run([sys.executable, "-c", FORKED, str(path)], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.split()) == ("", ["21", "1", "11"])
    with Ledger(path) as ledger:
        assert ledger.recover() == 2
        assert ledger.status(BudgetId("run")).settled == Amount(21)
