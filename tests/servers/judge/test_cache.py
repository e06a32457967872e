"""Results kept for the next time: what they depend on, what is never kept, and what damage does."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ekiden_judge import CachedChecker, CheckItem, CheckResult, Diagnostic, Problem, ProofPolicy, ResultStore
from ekiden_judge.cache import key_of
from scripted_checker import ScriptedChecker

PROBLEM = Problem(id="p", eq1_id=0, eq2_id=0, equation1="x = x ◇ y", equation2="x = y ◇ (x ◇ (y ◇ x))")
GOOD = CheckResult(
    "ACCEPTED",
    "It is right: ◇.",
    certificate="table",
    axioms=("propext",),
    declarations=("Goal",),
    diagnostics=(Diagnostic(line=1, column=2, severity="warning", message="unused", kind="linter"),),
)
ITEM = CheckItem(PROBLEM, "false", "good")


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "store", max_bytes=1 << 20, max_age_s=100.0)


def files(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())


def test_a_second_check_is_answered_from_the_store(store: ResultStore):
    inner = ScriptedChecker({"good": GOOD})
    first = CachedChecker(inner, store).check_batch([ITEM])
    told: list[CheckResult] = []
    second = CachedChecker(inner, store).check_batch([ITEM], done=lambda _, result: told.append(result))
    assert inner.asked == ["good"]
    assert [first[0].message, second, told] == [GOOD.message, [GOOD], [GOOD]]


def test_only_what_is_not_kept_is_asked_for_and_the_order_stays(store: ResultStore):
    results = {name: CheckResult("LEAN_REJECTED", name) for name in "abcd"}
    inner = ScriptedChecker(results)
    checker = CachedChecker(inner, store)
    checker.check_batch([CheckItem(PROBLEM, "true", name) for name in "bd"])
    found = checker.check_batch([CheckItem(PROBLEM, "true", name) for name in "dcba"])
    assert [result.message for result in found] == list("dcba")
    assert inner.asked == list("bdca")


def test_a_result_depends_on_laws_policy_claim_code_and_checker_and_on_nothing_else():
    def variant(**changes: object) -> CheckItem:
        return ITEM._replace(problem=PROBLEM.model_copy(update=changes))

    different = [
        key_of(ITEM, "lean 1"),
        key_of(ITEM, "lean 2"),
        key_of(ITEM._replace(code="good "), "lean 1"),
        key_of(ITEM._replace(claim="true"), "lean 1"),
        key_of(variant(equation1="x = y ◇ x"), "lean 1"),
        key_of(variant(equation2="x = y"), "lean 1"),
        key_of(variant(proof_policy=ProofPolicy()), "lean 1"),
        key_of(variant(proof_policy=ProofPolicy(allowed_declarations=())), "lean 1"),
        key_of(variant(proof_policy=ProofPolicy(allowed_axioms=("propext",))), "lean 1"),
    ]
    assert len(set(different)) == len(different)
    same = variant(id="q", eq1_id=7, answer=True, difficulty="hard", equation1="x=(x*y)")
    assert key_of(same, "lean 1") == different[0]


@pytest.mark.parametrize(
    "result",
    [
        CheckResult("HARNESS_ERROR", "a defect"),
        CheckResult("LEAN_TIMEOUT", "too slow"),
        CheckResult("LEAN_REJECTED", "out of memory", repeatable=False),
        CheckResult("NEEDS_LEAN", "a crash", repeatable=False),
    ],
    ids=lambda result: result.message,
)
def test_what_may_be_otherwise_the_next_time_is_not_kept(store: ResultStore, result: CheckResult, tmp_path: Path):
    inner = ScriptedChecker({"good": result})
    for _ in range(2):
        CachedChecker(inner, store).check_batch([ITEM])
    assert (inner.asked, files(tmp_path)) == (["good", "good"], [])


@pytest.mark.parametrize("damage", ["empty", "half", "not JSON", "another key", "unknown field", "a folder"])
def test_a_damaged_file_is_dropped_and_its_answer_checked_again(
    store: ResultStore, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
):
    inner = ScriptedChecker({"good": GOOD})
    checker = CachedChecker(inner, store)
    checker.check_batch([ITEM])
    [file] = files(tmp_path)
    text = file.read_text(encoding="utf-8")
    key = file.stem
    match damage:
        case "empty":
            file.write_text("")
        case "half":
            file.write_text(text[: len(text) // 2], encoding="utf-8")
        case "not JSON":
            file.write_bytes(b"\xff\x00")
        case "another key":
            file.write_text(text.replace(key, "0" * 64), encoding="utf-8")
        case "unknown field":
            file.write_text(text.replace('"message"', '"massage"'), encoding="utf-8")
        case _:
            file.unlink()
            file.mkdir()
    assert checker.check_batch([ITEM])[0].error_code == "ACCEPTED"
    assert inner.asked == ["good", "good"]
    assert caplog.text.count("WARNING") >= 1
    if damage != "a folder":
        assert [path.read_text(encoding="utf-8") for path in files(tmp_path)] == [text]


def test_a_store_that_cannot_be_written_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "store").write_text("a file in the way")
    inner = ScriptedChecker({"good": GOOD})
    checker = CachedChecker(inner, ResultStore(tmp_path / "store", max_bytes=1, max_age_s=1.0))
    assert [checker.check_batch([ITEM])[0].error_code for _ in range(2)] == ["ACCEPTED", "ACCEPTED"]
    assert "cannot keep results" in caplog.text


def put_aged(store: ResultStore, tmp_path: Path, ages: dict[str, float], now: float) -> None:
    for name, age in ages.items():
        key = (name * 64)[:64]
        store.put(key, CheckResult("ACCEPTED", name))
        os.utime(tmp_path / "store" / key[:2] / f"{key}.json", (now - age, now - age))


def kept(store: ResultStore, names: str) -> str:
    return "".join(name for name in names if store.get((name * 64)[:64]) is not None)


def test_pruning_drops_what_nobody_asked_for_in_a_long_time(store: ResultStore, tmp_path: Path):
    now = 1_000_000.0
    put_aged(store, tmp_path, {"a": 101.0, "b": 99.0, "c": 0.0}, now)
    (tmp_path / "store" / "aa" / ".left.tmp").write_text("by a writer that was killed")
    os.utime(tmp_path / "store" / "aa" / ".left.tmp", (0, 0))
    assert store.prune(now=now) == 2
    assert kept(store, "abc") == "bc"


def test_pruning_drops_what_was_used_longest_ago_until_the_rest_is_small(store: ResultStore, tmp_path: Path):
    now = 1_000_000.0
    put_aged(store, tmp_path, {"a": 30.0, "b": 10.0, "c": 20.0}, now)
    size = max(path.stat().st_size for path in files(tmp_path))
    small = ResultStore(tmp_path / "store", max_bytes=2 * size, max_age_s=100.0)
    assert small.prune(now=now) == 1
    assert kept(store, "abc") == "bc"


def test_many_writers_and_readers_never_see_half_a_file(store: ResultStore, caplog: pytest.LogCaptureFixture):
    key = "ab" * 32
    results = [CheckResult("ACCEPTED", str(n) * 2000) for n in range(8)]

    def work(result: CheckResult) -> bool:
        store.put(key, result)
        return store.get(key) in results

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, results * 10))
    assert caplog.text == ""
