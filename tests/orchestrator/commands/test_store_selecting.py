"""`ekiden store select` as a user types it."""

import json
from pathlib import Path

import pytest

from command_line import ekiden
from ekiden_store import Step, Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a store with two runs and a copied proof."""
    folder = tmp_path / "store"
    with Store(folder).writer() as writer:
        writer.append(
            [Step(theorem_name=f"t{n}", kind="tactic", run_id="old", is_proof_complete=n < 2) for n in range(4)]
        )
        writer.append([Step(theorem_name="t4", kind="tactic", run_id="new"), Step(theorem_name="", kind="model_call")])
        writer.append([Step(theorem_name="t9", kind="tactic", origin="ground_truth", is_proof_complete=True)])
    return folder


def test_the_selection_of_the_experiment_log_comes_from_files(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(61_542)]
    index = {"theorems": [{"name": name, "statement": f"⊢ {name}"} for name in names]}
    (tmp_path / "index.json").write_text(json.dumps(index))
    pairs = [{"theorem": name, "depth": depth} for name in names[:21_776] for depth in (0, 1)]
    pairs += [{"theorem": name, "depth": 2} for name in names[21_776:30_000]]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "easy.json").write_text(json.dumps({"easy": [{"name": name} for name in names[20_000:23_164]]}))
    (tmp_path / "searched.txt").write_text("".join(f"{name}\n" for name in names[21_454:25_054]))
    out = tmp_path / "chosen.json"
    done = ekiden(
        *("store", "select", out, "--from", tmp_path / "index.json", "--pairs", tmp_path / "pairs.jsonl"),
        *("--without", f"probed={tmp_path / 'easy.json'}", "--without", tmp_path / "searched.txt", "--count", 15_000),
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "theorems           61,542",
        "  probed            3,164  (0 by this alone)",
        "  searched          3,600  (1,890 by this alone)",
        "  depth below 2    21,776  (20,000 by this alone)",
        "left out           25,054  (3,486 counted twice above: probed & searched 1,710; probed & depth below 2 1,776; "
        "searched & depth below 2 322)",
        "eligible           36,488",
        "chosen             15,000  (seed 42)",
        f"{out}: 15,000 names",
    ]
    written = json.loads(out.read_text())
    assert [each["name"] for each in written["theorems"]] == written["chosen"]
    assert written["theorems"][0]["statement"].startswith("⊢ t")
    again = ekiden("store", "select", tmp_path / "again.txt", "--from", out, "--count", 10, "--seed", 1)
    assert again.exit_code == 0
    chosen = (tmp_path / "again.txt").read_text().splitlines()
    assert (len(chosen), set(chosen) < set(written["chosen"])) == (10, True)


def test_the_store_says_what_was_attempted_and_what_was_proved(tmp_path: Path, folder: Path) -> None:
    def chosen(*options: object) -> str:
        done = ekiden("store", "select", tmp_path / "chosen.txt", "--store", folder, *options)
        assert done.exit_code == 0, done.stderr
        return " ".join((tmp_path / "chosen.txt").read_text().split())

    assert chosen() == "t0 t1 t2 t3 t4 t9"
    assert chosen("--without-proved") == "t2 t3 t4 t9"
    assert chosen("--without-attempted") == "t9"
    assert chosen("--without-run", "new") == "t0 t1 t2 t3 t9"
    told = ekiden("store", "select", tmp_path / "a.txt", "--store", folder, "--without-proved", "--count", 1, "--json")
    assert json.loads(told.stdout)["eligible"] == 4


def test_what_cannot_be_chosen_is_bad_input(tmp_path: Path, folder: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("a\nb\n")
    (tmp_path / "pairs.jsonl").write_text('{"theorem": "a"}\n')
    for arguments, reason in (
        (("--from", names, "--count", 3), "3 theorems cannot be chosen"),
        (("--from", names, "--without", tmp_path / "none.txt"), "none.txt' cannot be read"),
        (("--from", names, "--without", names, "--without", names), "Two sets are called 'names'"),
        (("--from", names, "--pairs", tmp_path / "pairs.jsonl"), "has no theorem with a depth"),
        (("--without-run", "old1"), "no run 'old1' with attempts in the store; the nearest is 'old'"),
    ):
        done = ekiden("store", "select", tmp_path / "out.txt", "--store", folder, *arguments)
        assert (done.exit_code, reason in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "out.txt").exists()


def test_of_no_theorems_none_is_chosen(tmp_path: Path) -> None:
    Store(tmp_path / "empty")
    done = ekiden("store", "select", tmp_path / "out.txt", "--store", tmp_path / "empty")
    assert (done.exit_code, "There are no theorems to choose from" in done.stderr) == (2, True)
