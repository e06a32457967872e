"""What the doctor finds, and when it is alarmed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ekiden_budget.upstreams import KEY_VARIABLES
from ekiden_config import BudgetSettings, LeanSettings, Settings, default_settings
from ekiden_orchestrator.doctor import Outside, WantedProgram, examine, wanted
from ekiden_orchestrator.doctor_findings import Finding
from ekiden_orchestrator.marathon.trial import try_isolation
from ekiden_warden import probe

NOTHING = Outside(program=())


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `PATH` and a home that hold nothing but what the test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ELAN_HOME", "LEAN_BIN", "LAKE_BIN", "JUDGE_LEAN_PATH", *KEY_VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def settings(folder: Path, **lean: object) -> Settings:
    """The packaged settings, with a folder for the WebAssembly Lean that is empty."""
    packaged = default_settings()
    values = packaged.lean.model_dump() | {"home": folder / "wasm"} | lean
    return packaged.model_copy(update={"lean": LeanSettings.model_validate(values)})


def found(outside: Outside, chosen: Settings) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(outside, chosen)}


def test_programs_are_found_too_old_broken_or_missing(path: Path) -> None:
    program(path, "new", "echo new version v2.10.1 '(built 2024)'")
    program(path, "old", "echo old 2.9 >&2")
    program(path, "mute", "true")
    program(path, "broken", "echo 3.0; exit 1")
    wishes = [
        WantedProgram(name=name, purpose="p", how_to_get="h", minimum="2.10")
        for name in ("new", "old", "mute", "broken", "absent")
    ]
    findings = found(Outside(program=tuple(wishes)), settings(path))
    assert {name: (findings[name].state, findings[name].version) for name in (wish.name for wish in wishes)} == {
        "new": ("ok", "2.10.1"),
        "old": ("old", "2.9"),
        "mute": ("ok", None),
        "broken": ("broken", None),
        "absent": ("missing", None),
    }


def test_only_what_is_required_prevents_work(path: Path) -> None:
    wishes = [
        WantedProgram(name=name, purpose="p", how_to_get="h", required=required)
        for name, required in (("needed", True), ("useful", False))
    ]
    findings = found(Outside(program=tuple(wishes)), settings(path))
    assert [name for name, finding in findings.items() if finding.prevents_work] == ["needed"]


def test_without_any_lean_both_ways_to_get_one_are_told(path: Path) -> None:
    lean = found(NOTHING, settings(path))["lean"]
    assert (lean.state, lean.version) == ("missing", None)
    assert "elan" in lean.how_to_get
    assert "ekiden lean install --wasm" in lean.how_to_get


def test_the_lean_that_would_be_used_is_shown_with_its_kind(path: Path) -> None:
    answers = "--version) echo 'Lean (version 4.99.1, x86_64)';; --print-prefix) echo /p;; --print-libdir) echo /l;;"
    program(path, "lean", f'case "$1" in {answers} esac')
    lean = found(NOTHING, settings(path))["lean"]
    assert (lean.state, lean.version) == ("ok", "4.99.1")
    assert "(native Lean 4.99.1, without Mathlib)" in lean.purpose


def test_a_lean_that_is_named_and_not_there_is_broken_with_the_reason(path: Path) -> None:
    lean = found(NOTHING, settings(path, lean="nowhere/lean"))["lean"]
    assert lean.state == "broken"
    assert "lean.lean is 'nowhere/lean'" in lean.how_to_get


def with_budget(chosen: Settings, **budget: object) -> Settings:
    values = chosen.budget.model_dump() | budget
    return chosen.model_copy(update={"budget": BudgetSettings.model_validate(values)})


def with_slurm(chosen: Settings, **slurm: object) -> Settings:
    return chosen.model_copy(update={"slurm": chosen.slurm.model_copy(update=slurm)})


def test_without_slurm_jobs_run_here_unless_the_settings_want_a_cluster(path: Path) -> None:
    here = found(NOTHING, settings(path))
    assert (here["slurm"].state, here["slurm"].prevents_work) == ("missing", False)
    assert (here["jobs folder"].state, "local disk" in here["jobs folder"].purpose) == ("ok", False)
    wanted_cluster = found(NOTHING, with_slurm(settings(path), executor="slurm"))
    assert wanted_cluster["slurm"].prevents_work
    assert "slurm" not in found(NOTHING, with_slurm(settings(path), executor="local"))


def test_slurms_commands_without_a_cluster_or_with_some_gone_are_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setattr("ekiden_slurm.choice.CONFIGURATIONS", ())
    for name in ("sbatch", "squeue", "scontrol", "sinfo"):
        program(path, name, "echo 'fatal: Could not establish a configuration source' >&2; exit 1")
    lacking = found(NOTHING, settings(path))["slurm"]
    assert (lacking.state, lacking.how_to_get.startswith("scancel cannot be found")) == ("broken", True)
    program(path, "scancel", "exit 1")
    assert found(NOTHING, settings(path))["slurm"].how_to_get == "Slurm's commands are here, but no cluster"
    monkeypatch.setenv("SLURM_CONF", str(path / "gone.conf"))
    assert found(NOTHING, settings(path))["slurm"].how_to_get == "the variable SLURM_CONF names no file: 'gone.conf'"
    (path / "gone.conf").touch()
    silent = found(NOTHING, settings(path))
    assert (silent["slurm"].state, "configuration source" in silent["slurm"].how_to_get) == ("broken", True)


def test_a_jobs_folder_that_cannot_be_is_broken(path: Path) -> None:
    (path / "file").touch()
    folder = found(NOTHING, with_slurm(settings(path), jobs_dir=str(path / "file" / "jobs")))["jobs folder"]
    assert (folder.state, folder.how_to_get) == ("broken", "it cannot be written; set slurm.jobs_dir to another one")


def test_models_are_told_with_the_variable_of_their_key_and_never_the_key(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-secret-1")
    monkeypatch.setenv("LOCAL_KEY", "sk-secret-2")
    upstreams = {
        "local": {"base_url": "http://127.0.0.1:8000/v1", "key_env": "LOCAL_KEY", "dialects": ["chat"]},
        "open": {"base_url": "http://127.0.0.1:8001/v1"},
    }
    findings = found(NOTHING, with_budget(settings(path), upstreams=upstreams))
    models = {name: finding.purpose for name, finding in findings.items() if finding.kind == "model"}
    assert models == {
        "local": "models at http://127.0.0.1:8000/v1, with the key in LOCAL_KEY: chat",
        "open": "models at http://127.0.0.1:8001/v1, with no key: chat",
        "openrouter": "models at https://openrouter.ai/api/v1, with the key in OPENROUTER_API_KEY: "
        "chat, embeddings, messages, responses",
    }
    assert "sk-secret" not in repr(findings)


def test_models_that_lack_their_key_are_broken_and_none_at_all_are_missing(path: Path) -> None:
    missing = found(NOTHING, settings(path))["models"]
    assert (missing.state, missing.required) == ("missing", False)
    assert "set one of OPENROUTER_API_KEY, OPENAI_API_KEY, DEEPSEEK_API_KEY, ANTHROPIC_API_KEY" in missing.how_to_get
    upstreams = {"local": {"base_url": "http://127.0.0.1:8000/v1", "key_env": "LOCAL_KEY"}}
    broken = found(NOTHING, with_budget(settings(path), upstreams=upstreams))["models"]
    assert broken.state == "broken"
    assert "'LOCAL_KEY', which is not set" in broken.how_to_get


def test_the_isolation_of_a_solver_is_the_one_that_an_attempt_gets(path: Path) -> None:
    tried = try_isolation()
    assert tried is not None
    solver = found(NOTHING, settings(path))["solver isolation"]
    assert solver.version == tried.isolation
    assert (solver.state == "ok") is (tried.isolation == "confined")


def test_the_isolation_of_a_judge_says_what_it_keeps_from_answers(path: Path) -> None:
    enforced = probe()
    judge = found(NOTHING, settings(path))["judge isolation"]
    assert judge.version == enforced.isolation
    all_held = enforced.files and enforced.network and enforced.tree
    assert (judge.state == "ok") is all_held
    assert ("kept from other files, the network and other processes" in judge.purpose) is all_held


def test_without_user_namespaces_weaker_isolation_is_told(tmp_path: Path) -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
    look = "from ekiden_orchestrator.doctor import *; from ekiden_config import *"
    program = f"{look}; print(*examine(Outside(program=()), default_settings())[-2:], sep='\\n')"
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{forbid} && exec "$0" -c "$1"', sys.executable]
    if subprocess.run([*inside, "1"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user namespaces, or their limits, are out of reach here")
    done = subprocess.run([*inside, program], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    solver, judge = done.stdout.splitlines()
    assert "state='missing'" in solver
    assert "version='subreaper'" in solver
    assert "state='missing'" in judge
    assert "not from" in judge


def test_the_list_holds_each_thing_once_and_nothing_that_is_required() -> None:
    names = [item.name for item in wanted().program]
    assert len(set(names)) == len(names)
    assert "coqtop" in names
    assert not [item.name for item in wanted().program if item.required]


def doctor(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()", "doctor", *options]
    environment = os.environ | {
        "PATH": str(folder),
        "HOME": str(folder),
        "COLUMNS": "200",
        "EKIDEN_LEAN_HOME": str(folder / "wasm"),
        "ELAN_HOME": "",
        "LEAN_BIN": "",
        **dict.fromkeys(KEY_VARIABLES.values(), ""),
    }
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment, cwd=folder)


def test_an_empty_machine_is_no_reason_for_alarm(tmp_path: Path) -> None:
    done = doctor(tmp_path, "--json")
    assert done.returncode == 0
    findings = {item["name"]: Finding.model_validate(item) for item in json.loads(done.stdout)}
    machine = ["python", "lean", "node", "coqtop", "models", "slurm", "jobs folder"]
    assert list(findings) == [*machine, "solver isolation", "judge isolation"]
    absent = [name for name, finding in findings.items() if finding.state == "missing"]
    assert absent[:5] == ["lean", "node", "coqtop", "models", "slurm"]


def test_the_table_says_what_each_thing_is_for_and_how_to_get_it(tmp_path: Path) -> None:
    done = doctor(tmp_path)
    assert (done.returncode, "Everything that Ekiden needs is here" in done.stdout) == (0, True)
    for item in wanted().program:
        assert item.purpose in done.stdout
        assert item.how_to_get in done.stdout
