"""What the doctor finds, and when it is alarmed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ekiden_orchestrator.doctor import Finding, Outside, Wanted, WantedIsolation, WantedProgram, examine, wanted
from ekiden_orchestrator.marathon.trial import try_isolation


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `PATH` that holds nothing but what the test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def states(findings: list[Finding]) -> dict[str, tuple[str, str | None]]:
    always = {"python", "solver isolation"}
    return {finding.name: (finding.state, finding.version) for finding in findings if finding.name not in always}


def test_programs_are_found_too_old_broken_or_missing(path: Path) -> None:
    program(path, "new", "echo new version v2.10.1 '(built 2024)'")
    program(path, "old", "echo old 2.9 >&2")
    program(path, "mute", "true")
    program(path, "broken", "echo 3.0; exit 1")
    wishes = [
        WantedProgram(name=name, purpose="p", how_to_get="h", minimum="2.10")
        for name in ("new", "old", "mute", "broken", "absent")
    ]
    assert states(examine(Outside(program=tuple(wishes), package=(), isolation=()))) == {
        "new": ("ok", "2.10.1"),
        "old": ("old", "2.9"),
        "mute": ("ok", None),
        "broken": ("broken", None),
        "absent": ("missing", None),
    }


def test_packages_and_means_of_isolation_are_looked_at(path: Path) -> None:
    packages = (
        Wanted(name="pytest", purpose="p", how_to_get="h", minimum="1"),
        Wanted(name="no-such-package", purpose="p", how_to_get="h"),
    )
    program(path, "yes", "exit 0")
    program(path, "no", "exit 1")
    isolation = (
        WantedIsolation(name="allowed", purpose="p", how_to_get="h", command=("yes",)),
        WantedIsolation(name="forbidden", purpose="p", how_to_get="h", command=("no",)),
        WantedIsolation(name="writable", purpose="p", how_to_get="h", writable=str(path)),
        WantedIsolation(name="nowhere", purpose="p", how_to_get="h", writable=str(path / "absent")),
    )
    assert states(examine(Outside(program=(), package=packages, isolation=isolation))) == {
        "pytest": ("ok", pytest.__version__),
        "no-such-package": ("missing", None),
        "allowed": ("ok", None),
        "forbidden": ("missing", None),
        "writable": ("ok", None),
        "nowhere": ("missing", None),
    }


def test_the_isolation_of_a_solver_is_the_one_that_an_attempt_gets() -> None:
    tried = try_isolation()
    assert tried is not None
    found = examine(Outside(program=(), package=(), isolation=()))[-1]
    assert (found.name, found.version) == ("solver isolation", tried.isolation)
    assert (found.state == "ok") is (tried.isolation == "confined")


def test_without_user_namespaces_the_isolation_of_a_solver_is_a_weaker_one() -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
    program = "from ekiden_orchestrator.doctor import *; print(examine(wanted())[-1])"
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{forbid} && exec "$0" -c "$1"', sys.executable]
    if subprocess.run([*inside, "1"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user namespaces, or their limits, are out of reach here")
    done = subprocess.run([*inside, program], capture_output=True, text=True, check=True, timeout=60)
    assert "state='missing'" in done.stdout
    assert "version='subreaper'" in done.stdout


def test_the_list_is_complete_and_each_thing_once() -> None:
    outside = wanted()
    names = [item.name for item in (*outside.program, *outside.package, *outside.isolation)]
    assert len(set(names)) == len(names)
    assert {"git", "node", "lean", "lake", "elan", "coqc", "eprover", "z3", "codex", "claude", "sbatch"} <= set(names)
    assert [item.name for item in outside.program if item.required] == ["git"]


def doctor(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()", "doctor", *options]
    environment = os.environ | {"PATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


def test_status_1_only_when_something_required_is_missing(tmp_path: Path) -> None:
    alarmed = doctor(tmp_path, "--json")
    program(tmp_path, "git", "echo git version 2.40.0")
    calm = doctor(tmp_path, "--json")
    assert (alarmed.returncode, calm.returncode) == (1, 0)
    found = {finding["name"]: Finding.model_validate(finding) for finding in json.loads(calm.stdout)}
    assert found["git"].version == "2.40.0"
    assert found["lean"].state == "missing"
    missing = [finding["name"] for finding in json.loads(alarmed.stdout) if finding["required"]]
    assert missing == ["python", "git"]


def test_the_table_says_what_each_thing_is_for_and_how_to_get_it(tmp_path: Path) -> None:
    done = doctor(tmp_path)
    assert done.returncode == 1
    assert "required, missing" in done.stdout
    assert "Ekiden cannot work without: git." in done.stdout
    for item in wanted().program:
        assert item.purpose in done.stdout
        assert item.how_to_get in done.stdout
