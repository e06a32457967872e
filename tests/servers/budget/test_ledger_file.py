"""The ledger's file: where it can be, what else it may be, and what becomes of old ones."""

import os
import random
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ekiden_budget import BudgetError, CallLabel, Ledger, LedgerBusyError, LedgerError, RefusedError
from ekiden_budget.records import TokenParts
from ekiden_budget.schema import APPLICATION_ID, MIGRATIONS, VERSION, upgrade
from ekiden_policies.budget import Amount, Caps

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter")
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder, and the rights of a user whom permissions bind, also where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            folder.chmod(0o700)
            return
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(0)


def filled(path: Path) -> None:
    with Ledger(path, now=lambda: 1e9) as ledger:
        run = ledger.open_budget("run", Caps(tokens=10**6), budget_id="run").budget
        for _ in range(300):
            ledger.settle(ledger.reserve(run, Amount(5), LABEL).call, "failed")


def test_a_ledger_is_made_with_its_folder_for_its_user_alone_and_whole(tmp_path: Path):
    path = tmp_path / "a" / "b" / "ledger ◇ #1?.sqlite"
    with Ledger(path) as ledger:
        assert ledger.path == path
        ledger.open_budget("run", Caps())
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_ledger_that_must_exist_is_not_made(path: Path):
    with pytest.raises(LedgerError, match=r"There is no ledger at .*ledger\.sqlite"):
        Ledger(path, create=False)
    assert list(path.parent.iterdir()) == []


def test_a_file_that_is_no_database_is_left_alone(path: Path):
    path.write_text("Dear diary,\n" * 100, encoding="utf-8")
    with pytest.raises(LedgerError, match="is no ledger of Ekiden's, nor any database"):
        Ledger(path)
    assert path.read_text(encoding="utf-8").startswith("Dear diary")


def test_an_empty_file_is_left_alone(path: Path):
    path.touch()
    with pytest.raises(LedgerError, match="is empty"):
        Ledger(path)
    assert path.stat().st_size == 0


def test_a_folder_is_no_ledger(tmp_path: Path):
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path)


def test_a_database_of_another_program_is_left_alone(path: Path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE budgets (id)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is a database, but no ledger of Ekiden's"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_ledger_of_a_later_version_is_left_alone(path: Path):
    filled(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(LedgerError, match=f"format {VERSION + 1}, and this Ekiden knows formats up to {VERSION}"):
        Ledger(path)


def test_a_ledger_that_somebody_took_out_of_wal_mode_is_not_used(path: Path):
    filled(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA journal_mode = DELETE")
    with pytest.raises(LedgerError, match="not in WAL mode"):
        Ledger(path)


def use(path: Path) -> int:
    """Do all that a ledger can do with the budget of `filled`, and return the tokens spent."""
    with Ledger(path) as ledger:
        run = ledger.tree()[0].budget
        ledger.calls(run, limit=1000)
        ledger.settle(ledger.reserve(run, Amount(5), LABEL).call, "failed")
        ledger.recover()
        return ledger.status(run).settled.tokens


def test_a_file_that_was_cut_short_is_damaged(path: Path):
    filled(path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(LedgerError, match=r"is damaged.*Move it away"):
        use(path)


def test_a_file_with_noise_in_it_works_or_says_what_is_wrong(path: Path, tmp_path: Path):
    filled(path)
    whole = path.read_bytes()
    said: set[str] = set()
    for seed in range(40):
        noise = random.Random(seed)
        damaged = bytearray(whole)
        start = noise.randrange(100, len(whole) - 2000)
        damaged[start : start + 2000] = noise.randbytes(2000)
        copy = tmp_path / f"{seed}.sqlite"
        copy.write_bytes(damaged)
        try:
            use(copy)
        except LedgerError as error:
            said.add(str(error).split(" (SQLite")[0].removeprefix(f"The ledger {str(copy)!r} "))
        except (IndexError, BudgetError):
            said.add("nothing found")
    assert any(text.startswith("is damaged") for text in said)


def test_a_place_without_room_for_files_says_so():
    with pytest.raises(LedgerError, match="cannot be made at '/proc/ekiden/"):
        Ledger(Path("/proc/ekiden/ledger.sqlite"))


def test_a_parent_that_is_a_file_says_so(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_a_folder_that_cannot_be_written_says_so(ordinary_user: Path):
    ordinary_user.chmod(0o500)
    with pytest.raises(LedgerError, match=r"cannot be made at .*: Permission denied"):
        Ledger(ordinary_user / "ledger.sqlite")


def test_a_ledger_that_cannot_be_written_says_so_when_it_is_opened(ordinary_user: Path):
    path = ordinary_user / "ledger.sqlite"
    filled(path)
    for place, mode in ((path, 0o400), (path, 0o000), (ordinary_user, 0o500)):
        before = place.stat().st_mode
        place.chmod(mode)
        with pytest.raises(LedgerError, match="cannot be written"):
            Ledger(path)
        place.chmod(before)
    ordinary_user.chmod(0o000)
    with pytest.raises(LedgerError, match="cannot be seen: Permission denied"):
        Ledger(path, create=False)
    ordinary_user.chmod(0o700)
    assert use(path) == 1505


def test_steps_are_taken_once_and_in_order(path: Path):
    steps = [["CREATE TABLE one (a)"], ["ALTER TABLE one ADD COLUMN b", "INSERT INTO one VALUES (1, 2)"]]
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        for known in (steps[:1], steps, steps):
            raw.execute("BEGIN IMMEDIATE")
            upgrade(raw, known)
            raw.execute("COMMIT")
        assert raw.execute("SELECT a, b FROM one").fetchall() == [(1, 2)]
        assert raw.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_ledger_of_an_earlier_version_is_brought_up_to_date(path: Path):
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        raw.execute("CREATE TABLE untouched (a)")  # a file of version 0, in which nothing is yet
    with Ledger(path) as ledger:
        assert ledger.tree() == []
        ledger.open_budget("run", Caps())
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_a_ledger_from_before_tokens_were_told_apart_keeps_its_calls(path: Path):
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        upgrade(raw, MIGRATIONS[:1])
        raw.execute("INSERT INTO owners VALUES (1, 1, 'long ago', 'another boot')")
        raw.execute(
            "INSERT INTO budgets (number, id, name, role, token_hash, opened_at, clock, seen_at, cap_tokens,"
            " settled_tokens, reserved_tokens, open, answered)"
            " VALUES (1, 'run', 'run', '', x'00', 1e9, 'wall', 1e9, 100, 30, 20, 1, 1)"
        )
        for values in ("'answered', 1e9, 30", "NULL, NULL, NULL"):
            raw.execute(
                "INSERT INTO calls (budget, owner, dialect, model, upstream, stream, purpose, begun_at,"
                " reserved_tokens, outcome, ended_at, billed_tokens)"
                f" VALUES (1, 1, 'chat', 'm', 'u', 0, 'p', 1e9, 20, {values})"
            )
    with Ledger(path) as ledger:
        assert ledger.recover() == 1
        [run] = ledger.tree()
        assert (run.settled, run.reserved) == (Amount(50), Amount(0))
        ledger.settle(ledger.reserve(run.budget, Amount(5), LABEL).call, "answered", Amount(5), parts=TokenParts(4, 1))
        records = ledger.calls(run.budget)
    assert [record.outcome for record in records] == ["answered", "abandoned", "answered"]
    assert [record.parts for record in records] == [TokenParts(4, 1), None, None]
    assert [(record.label.prompt_sha256, record.label.temperature) for record in records] == [("", None)] * 3


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ("settled_tokens = cap_tokens + 1", "token_cap"),
        ("reserved_nanodollars = cap_nanodollars + 1", "dollar_cap"),
        ("settled_tokens = 9223372036854775807 + 1", "cannot store REAL"),
        ("reserved_tokens = -1", "reserved_tokens >= 0"),
    ],
)
def test_the_file_itself_refuses_to_pass_a_cap(path: Path, change: str, limit: str):
    with Ledger(path) as ledger:
        ledger.open_budget("run", Caps(tokens=100, nanodollars=100))
    with closing(sqlite3.connect(path)) as raw, pytest.raises(sqlite3.IntegrityError, match=limit):
        raw.execute(f"UPDATE budgets SET {change}")


def test_the_log_beside_a_busy_ledger_stays_short(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger, ledger.hasty() as hasty:
        budget = hasty.open_budget("b", Caps(tokens=0)).budget
        sizes: list[int] = []
        for _ in range(3):
            for _ in range(50):
                with pytest.raises(RefusedError):
                    hasty.reserve(budget, Amount(1), LABEL)
            ledger.checkpoint()
            sizes.append((tmp_path / "ledger.sqlite-wal").stat().st_size)
        assert sizes[2] == sizes[1] <= sizes[0]


def test_a_hasty_hand_raises_where_another_is_at_work_and_the_other_waits(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger, ledger.hasty() as hasty, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusyError):
            hasty.open_budget("b", Caps())
        with ThreadPoolExecutor(1) as threads:
            opened = threads.submit(ledger.open_budget, "b", Caps())
            other.execute("ROLLBACK")
            assert hasty.authenticate(opened.result().token) == opened.result().budget
