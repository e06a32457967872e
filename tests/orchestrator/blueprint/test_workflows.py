"""The workflows for GitHub: what may run where, and with which rights."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from blueprint_repository import FINISHED, GitRepository
from command_line import ekiden
from ekiden_orchestrator.blueprint.workflow_files import WORKFLOWS, workflow_texts

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = workflow_texts(ekiden="ekiden @ git+https://git.example/ekiden@0123456789abcdef0123456789abcdef01234567")
UNTRUSTED, TRUSTED, WARM = "verify-blueprint.yml", "merge-blueprint.yml", "warm-blueprint-cache.yml"


def workflow(name: str) -> dict[str, Any]:
    read = cast("dict[Any, Any]", yaml.safe_load(TEXTS[name]))
    read["on"] = read.pop(True)  # YAML 1.1 takes the key for a truth value
    return read


def jobs(name: str) -> dict[str, dict[str, Any]]:
    return workflow(name)["jobs"]


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in jobs(name).values() for step in job["steps"]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_rights_are_given_job_by_job_and_all_jobs_end(name: str):
    assert workflow(name)["permissions"] == {}
    assert all("permissions" in job and "timeout-minutes" in job for job in jobs(name).values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit_and_leave_no_credentials(name: str):
    for step in steps(name):
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", step["uses"])
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_script_has_anything_of_an_event_pasted_in(name: str):
    assert all("${{" not in step.get("run", "") for step in steps(name))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_nothing_fetched_is_run_unread(name: str):
    for step in steps(name):
        run = step.get("run", "")
        assert re.search(r"\|\s*(?:ba|z)?sh\b", run) is None
        assert "lake update" not in run
        if "curl" in run:
            assert "sha256sum --check --strict" in run


def test_lean_runs_without_rights_secrets_or_credentials():
    assert list(workflow(UNTRUSTED)["on"]) == ["pull_request"]
    assert jobs(UNTRUSTED)["verify"]["permissions"] == {}
    assert jobs(UNTRUSTED)["fetch"]["permissions"] == {"contents": "read"}
    assert not {word for word in ("secrets.", "github.token", "GITHUB_TOKEN", "GH_TOKEN") if word in TEXTS[UNTRUSTED]}
    for name, job in jobs(UNTRUSTED).items():
        ran = " ".join(step.get("run", "") for step in job["steps"])
        assert ("ekiden" in ran or "lake" in ran) == (name == "verify")


def test_only_the_base_branch_writes_the_cache():
    writers = {
        name
        for name in WORKFLOWS
        for step in steps(name)
        if "actions/cache" in step.get("uses", "") and "/restore@" not in step["uses"]
    }
    assert writers == {WARM}
    assert set(workflow(WARM)["on"]) == {"push", "workflow_dispatch"}
    keys = {
        step["with"]["key"] for name in (UNTRUSTED, WARM) for step in steps(name) if "cache/" in step.get("uses", "")
    }
    assert len(keys) == 1


def test_what_has_rights_never_has_the_pull_requests_files():
    assert list(workflow(TRUSTED)["on"]) == ["workflow_run"]
    checkouts = [step["with"]["ref"] for step in steps(TRUSTED) if "checkout" in step.get("uses", "")]
    assert checkouts == ["main"]
    runs = " ".join(step.get("run", "") for step in steps(TRUSTED))
    assert not re.search(r"git (?:checkout|switch|restore|merge\b(?!-tree)|reset|worktree)|\blake\b|\blean\b", runs)
    assert "secrets." not in TEXTS[TRUSTED]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_all_scripts_are_bash(name: str):
    for step in steps(name):
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)


def script(name: str, step: str) -> str:
    return next(one["run"] for one in steps(name) if one.get("name") == step)


def test_commits_travel_between_the_jobs_as_bundles(tmp_path: Path):
    origin = GitRepository.made(tmp_path / "origin")
    head = origin.branch("round-1/own", FINISHED)
    base = origin.git("rev-parse", "main")
    subprocess.run(["git", "clone", "--quiet", "--branch=main", "origin", "base"], cwd=tmp_path, check=True)
    subprocess.run(["git", "clone", "--quiet", "origin", "head"], cwd=tmp_path, check=True)
    subprocess.run(["git", "-C", "head", "checkout", "--quiet", "--detach", head], cwd=tmp_path, check=True)
    for one in (script(UNTRUSTED, "Pack the commits of both"), _unpacking()):
        subprocess.run(["bash", "-e", "-o", "pipefail", "-c", one], cwd=tmp_path, check=True)
    there = GitRepository(tmp_path / "repository")
    assert there.git("rev-parse", "verified-base", "verified-head").split() == [base, head]
    assert not (tmp_path / "repository" / "lakefile.toml").read_text("utf-8").startswith("evil")


def _unpacking() -> str:
    return script(UNTRUSTED, "Unpack the commits; the files on the disk are those of the base")


def test_the_merge_is_pushed_where_the_base_has_not_moved_and_refused_where_it_has(tmp_path: Path):
    origin = GitRepository.made(tmp_path / "origin")
    head = origin.branch("round-1/own", FINISHED)
    base, tree = origin.git("rev-parse", "main"), origin.git("rev-parse", f"{head}^{{tree}}")
    origin.git("checkout", "--quiet", "--detach")
    subprocess.run(["git", "clone", "--quiet", "origin", "work"], cwd=tmp_path, check=True)
    merging = script(TRUSTED, "Merge what was tested")
    given = {"BASE": base, "HEAD": head, "TREE": tree, "PULL": "5", "BASE_BRANCH": "main", "PATH": "/usr/bin:/bin"}

    def merge(**changed: str) -> int:
        command = ["bash", "-e", "-o", "pipefail", "-c", merging]
        done = subprocess.run(
            command, cwd=tmp_path / "work", env={**given, **changed}, check=False, capture_output=True
        )
        return done.returncode

    assert merge(TREE="0" * 40) != 0
    assert merge() == 0
    assert origin.git("rev-parse", "main^{tree}") == tree
    assert origin.git("rev-parse", "main^1", "main^2").split() == [base, head]
    merged = origin.git("rev-parse", "main")
    assert merge(PULL="6") != 0  # its base is no longer where `main` is
    assert origin.git("rev-parse", "main") == merged


def test_workflows_are_written_and_not_over_others(tmp_path: Path):
    done = ekiden("blueprint", "workflows", tmp_path / "w", "--base", "trunk")
    assert done.exit_code == 0
    texts = {path.name: path.read_text("utf-8") for path in (tmp_path / "w").iterdir()}
    assert set(texts) == set(WORKFLOWS)
    assert all('"trunk"' in text and "@BASE@" not in text and "@EKIDEN@" not in text for text in texts.values())
    assert ekiden("blueprint", "workflows", tmp_path / "w").exit_code == 2
    assert ekiden("blueprint", "workflows", tmp_path / "w", "--force").exit_code == 0


@pytest.mark.parametrize(
    "option", ["--ekiden=x\ny: z", '--ekiden=x"', "--ekiden=--index-url", "--base=a b", "--base=-x"]
)
def test_what_would_break_out_of_a_workflow_is_refused(tmp_path: Path, option: str):
    assert ekiden("blueprint", "workflows", tmp_path / "w", option).exit_code == 2
