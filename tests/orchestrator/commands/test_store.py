"""`ekiden store` as a user types it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import ekiden
from ekiden_store import Step, Store
from ekiden_store.arrow import pa, pq
from ekiden_store.columns import LAST_STEP

REFERENCE = {
    "theorem_name": pa.array(["add_zero", "add_zero", "add_zero"]),
    "state_id": pa.array([0, 1, 2], pa.uint64()),
    "state_pp": pa.array(["⊢ n + 0 = n", "", "⊢ false"]),
    "tactic_applied": pa.array(["", "simp", "exfalso"]),
    "parent_state_id": pa.array([None, 0, 0], pa.uint64()),
    "label": pa.array(["positive", "positive", "negative"]),
    "depth_from_root": pa.array([0, 1, 1], pa.uint32()),
    "remaining_depth": pa.array([1, 0, -1], pa.int32()),
    "llm_log_prob": pa.array([0.0, -0.5, -2.0]),
    "ebm_score": pa.array([0.0, 0.0, 0.0]),
    "is_proof_complete": pa.array([False, True, False]),
    "timestamp_ms": pa.array([1, 2, 3], pa.uint64()),
}
CLAUDE = {
    "type": "user",
    "uuid": "u1",
    "parentUuid": None,
    "sessionId": "s1",
    "version": "2.0.0",
    "timestamp": "2026-01-01T00:00:00Z",
    "message": {"role": "user", "content": "Prove it. My key is ghp_" + "a1B2" * 9},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def reference_file(tmp_path: Path) -> Path:
    path = tmp_path / "iteration1.parquet"
    pq.write_table(pa.table(REFERENCE), path)
    return path


def test_a_file_of_expert_iteration_is_imported_once_and_counted(tmp_path: Path, folder: Path) -> None:
    path = reference_file(tmp_path)
    first = ekiden("store", "import", path, "--store", folder, "--origin", "search")
    assert first.exit_code == 0, first.stderr
    assert first.stdout == f"{path}: 3 rows (parquet)\n"
    assert "3 known already" in ekiden("store", "import", path, "--store", folder).stdout
    told = ekiden("store", "stats", "--store", folder)
    assert told.exit_code == 0
    assert "labels      2 positive, 1 negative, 0 unknown" in told.stdout
    assert "proved      1 of 1 attempted (100.0%)" in told.stdout
    read = json.loads(ekiden("store", "stats", "--store", folder, "--json").stdout)
    assert (read["rows"], read["unique_states"], read["depths"]["1"]["negative"]) == (3, 2, 1)


def test_the_share_of_all_theorems_that_were_asked_for_counts_those_that_left_no_row(
    tmp_path: Path, folder: Path
) -> None:
    ekiden("store", "import", reference_file(tmp_path), "--store", folder)
    asked = tmp_path / "asked.txt"
    asked.write_text("add_zero\nnever_started\n")
    told = ekiden("store", "stats", "--store", folder, "--asked", asked)
    assert "of 2 asked for (50.0%); 1 left no row" in told.stdout


def test_sessions_are_told_apart_by_content_and_their_secrets_never_leave(tmp_path: Path, folder: Path) -> None:
    session = tmp_path / "some.jsonl"
    session.write_text(json.dumps(CLAUDE) + "\n")
    done = ekiden("store", "import", session, "--store", folder, "--theorem", "t", "--json")
    assert [(one["kind"], one["rows"]) for one in json.loads(done.stdout)] == [("claude", 1)]
    with Store(folder).snapshot() as snapshot:
        attempt = snapshot.dataset().to_table().column("attempt_id")[0].as_py()
    out = tmp_path / "out.json"
    exported = ekiden("store", "export", out, "--attempt", attempt, "--store", folder)
    assert exported.exit_code == 0, exported.stderr
    assert "secrets struck out: 1" in exported.stdout
    assert "ghp_" not in out.read_text()
    elsewhere = tmp_path / "other"
    assert "1 rows (atif)" in ekiden("store", "import", out, "--store", elsewhere).stdout


def test_a_file_that_holds_no_attempts_is_named_and_the_others_are_imported(tmp_path: Path, folder: Path) -> None:
    wrong = tmp_path / "readme.json"
    wrong.write_text("hello\n")
    done = ekiden("store", "import", wrong, reference_file(tmp_path), "--store", folder)
    assert done.exit_code == 1
    assert "readme.json' holds no attempts: it is neither Parquet" in done.stderr
    assert "3 rows of 1 files; 1 could not be imported" in done.stdout


def test_another_store_is_imported_from_its_parts_and_only_once_it_is_compacted(tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "other"
    with Store(other).writer() as writer:
        writer.append([Step(theorem_name="t", kind="tactic", tactic_applied="rfl", is_proof_complete=True)])
    refused = ekiden("store", "import", other, "--store", folder)
    assert refused.exit_code == 2
    assert f"ekiden store compact --store {other}" in refused.stderr
    assert "1 rows of 1 files are compacted" in ekiden("store", "compact", "--store", other).stdout
    assert "1 rows (parquet)" in ekiden("store", "import", other, "--store", folder).stdout


def test_an_attempt_is_shown_as_a_tree(tmp_path: Path, folder: Path) -> None:
    ekiden("store", "import", reference_file(tmp_path), "--store", folder)
    shown = ekiden("store", "tree", "add_zero", "--store", folder)
    title, *lines = shown.stdout.splitlines()
    assert title.startswith("iteration1/add_zero/")
    assert title.endswith(" of iteration1: proved")
    assert lines == [
        "  0 (root) => ⊢ n + 0 = n [positive]",
        "    1 simp => no goals [positive]",
        "    2 exfalso => ⊢ false [negative]",
    ]
    assert json.loads(ekiden("store", "tree", "add_zero", "--store", folder, "--json").stdout)[0]["is_proved"]
    nothing = ekiden("store", "tree", "mul_zero", "--store", folder)
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "no such attempt at 'mul_zero'; the nearest is 'add_zero'" in nothing.stderr
    for command in (("stats",), ("tree", "add_zero"), ("query",)):
        wrong = ekiden("store", *command, "--run", "iteration", "--store", folder)
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert "There is no run 'iteration' in the store; the nearest is 'iteration1'." in wrong.stderr


def test_calls_and_verdicts_are_listed_where_no_attempt_has_states(folder: Path) -> None:
    call = Step(theorem_name="t", run_id="r", attempt_id="r/t", kind="tool_call", tool="search", tool_output="ok")
    end = replace(call, kind="verdict", step=LAST_STEP, verdict="accepted", is_proof_complete=True)
    with Store(folder).writer() as writer:
        writer.append([end, call, replace(call, theorem_name="u", attempt_id="r/u")])
    shown = ekiden("store", "tree", "t", "--store", folder).stdout.splitlines()
    assert shown == ["r/t of r: proved", "  0 tool_call search() -> ok", "  end verdict accepted"]
    listed = ekiden("store", "query", "--kind", "verdict", "--store", folder).stdout.splitlines()
    assert [line.split() for line in listed[1:]] == [["t", "r", "r/t", "end", "verdict", "accepted"]]
    assert "positive  " not in ekiden("store", "stats", "--store", folder).stdout, "no table where nothing has a label"


def test_a_data_set_is_made_of_a_mix_and_is_the_same_each_time(tmp_path: Path, folder: Path) -> None:
    ekiden("store", "import", reference_file(tmp_path), "--store", folder, "--origin", "search")
    mix = tmp_path / "mix.toml"
    mix.write_text('seed = 1\n[[sources]]\nname = "proofs"\nrows = { labels = ["positive"] }\nupsample = 2\n')
    done = ekiden("store", "export", tmp_path / "first", "--mix", mix, "--store", folder)
    assert done.exit_code == 0, done.stderr
    assert "proofs: 1 of 1 examples, 0 doubles; unusable: 1 root" in done.stdout
    assert "train.jsonl: 2 lines of 1 theorems" in done.stdout
    ekiden("store", "export", tmp_path / "second", "--mix", mix, "--store", folder)
    for name in ("train.jsonl", "manifest.json"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    neither = ekiden("store", "export", tmp_path / "third", "--store", folder)
    assert (neither.exit_code, "--mix FILE, or --attempt ID" in neither.stderr) == (2, True)


def test_a_data_set_that_was_changed_is_no_longer_what_its_manifest_says(tmp_path: Path, folder: Path) -> None:
    ekiden("store", "import", reference_file(tmp_path), "--store", folder, "--origin", "search")
    mix = tmp_path / "mix.toml"
    mix.write_text('seed = 1\n[[sources]]\nname = "proofs"\nsubsample = 7\n')
    made = ekiden("store", "export", tmp_path / "out", "--mix", mix, "--store", folder)
    assert (made.exit_code, made.stderr) == (0, "ekiden: The source 'proofs' was to give 7 examples and has 1.\n")
    assert ekiden("store", "verify", tmp_path / "out").stdout == "The data set is what its manifest says.\n"
    (tmp_path / "out" / "train.jsonl").write_text("{}\n")
    changed = ekiden("store", "verify", tmp_path / "out")
    assert (changed.exit_code, changed.stdout.startswith("'train.jsonl' was changed: ")) == (1, True)
    none = ekiden("store", "verify", tmp_path)
    assert (none.exit_code, "holds no data set" in none.stderr) == (2, True)


def test_states_are_encoded_once(tmp_path: Path, folder: Path) -> None:
    ekiden("store", "import", reference_file(tmp_path), "--store", folder)
    assert ekiden("store", "embed", "--hashes", "--store", folder).stdout == "2 states encoded, 0 known already\n"
    assert ekiden("store", "embed", "--hashes", "--store", folder).stdout == "0 states encoded, 2 known already\n"
    unset = ekiden("store", "embed", "--store", folder)
    assert unset.exit_code == 2
    assert "[store.encoder]" in unset.stderr


def test_what_a_crash_left_behind_is_put_right_and_told(tmp_path: Path, folder: Path) -> None:
    ekiden("store", "import", reference_file(tmp_path), "--store", folder)
    sound = ekiden("store", "check", "--store", folder)
    assert (sound.exit_code, sound.stdout) == (0, "The store is sound.\n")
    part = next((folder / "parts").glob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(whole[:-20])
    told = ekiden("store", "stats", "--store", folder)
    assert (told.exit_code, "damaged part" in told.stderr) == (0, True)
    part.write_bytes(whole[:-20])
    damaged = ekiden("store", "check", "--store", folder, "--json")
    assert damaged.exit_code == 1
    assert [finding["kind"] for finding in json.loads(damaged.stdout)["findings"]] == ["damaged_part"]


def test_a_store_that_is_not_there_is_said_so(folder: Path) -> None:
    done = ekiden("store", "stats", "--store", folder)
    assert done.exit_code == 2
    assert f"There is no trajectory store in {str(folder)!r} yet" in done.stderr


def test_vectors_of_a_file_are_taken_for_those_of_the_encoder_of_the_settings(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache.parquet"
    vectors = pa.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]], pa.list_(pa.float32()))
    pq.write_table(pa.table({"state_pp": ["⊢ a", "⊢ b", "⊢ c"], "embedding": vectors}), cache)
    refused = ekiden("store", "import", cache, "--store", folder)
    assert (refused.exit_code, "`ekiden store embed --from` takes it" in refused.stderr) == (1, True)
    unset = ekiden("store", "embed", "--from", cache, "--store", folder)
    assert (unset.exit_code, "[store.encoder]" in unset.stderr) == (2, True)
    both = ekiden("store", "embed", "--from", cache, "--hashes", "--store", folder)
    assert (both.exit_code, "Say one of --hashes and --from" in both.stderr) == (2, True)
    encoder = {"address": "http://127.0.0.1:9", "model": "m", "revision": "r", "dtype": "bfloat16"}
    monkeypatch.setenv("EKIDEN_STORE_ENCODER", json.dumps(encoder))
    done = ekiden("store", "embed", "--from", cache, "--store", folder)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == "2 states taken over, 0 known already"
    assert "1 without a vector" in done.stdout
    assert "0 states taken over, 2 known" in ekiden("store", "embed", "--from", cache, "--store", folder).stdout
