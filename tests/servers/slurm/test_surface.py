"""The command line, the doctor and the MCP server on a real cluster."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client

from command_line import ekiden
from ekiden_config import SlurmSettings, default_settings, load_settings
from ekiden_kit.build import build_server
from ekiden_orchestrator.doctor_findings import Finding
from ekiden_orchestrator.doctor_jobs import examine_jobs
from ekiden_slurm.server import SERVER
from slurm_rig import SlurmRig
from tool_answers import answer, refusal

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]


@pytest.fixture
def folder(slurm: SlurmRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder from which the cluster is reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    monkeypatch.setenv("EKIDEN_SLURM_POLL_FIRST_S", "0.2")
    yield tmp_path
    slurm.command("scancel", f"--user={slurm.env.get('USER', 'root')}")


def findings(**slurm: object) -> dict[str, Finding]:
    values = default_settings().slurm.model_dump() | slurm
    return {finding.name: finding for finding in examine_jobs(SlurmSettings.model_validate(values))}


def test_a_job_is_submitted_followed_and_read_from_the_shell(folder: Path) -> None:
    done = ekiden(
        "slurm", "submit", "--key", "a", "--cpus", 2, "--wait", "sh", "-c", "echo $SLURM_CPUS_PER_TASK; exit 3"
    )
    assert done.exit_code == 1
    assert done.stdout.startswith("a: submitted to Slurm\na: failed: It exited with code 3; ")
    assert ekiden("slurm", "logs", "a").stdout == "2\n"
    [told] = json.loads(ekiden("slurm", "status", "a", "--json").stdout)
    assert (told["outcome"], told["node"] in {"n1", "n2", "n3"}) == ("failed", True)
    rejected = ekiden("slurm", "submit", "--partition", "nope", "true")
    assert (rejected.exit_code, "invalid partition specified: nope" in rejected.stderr) == (2, True)


def test_the_cluster_is_shown_with_what_has_not_ended(folder: Path) -> None:
    ekiden("slurm", "submit", "--key", "held", "--sbatch=--hold", "true")
    shown = ekiden("slurm", "cluster").stdout
    assert shown.startswith("slurm: a Slurm cluster is configured\n  partition main: up, 3 nodes, ")
    assert "4 of 4 gpu:lovelace_l40 free" in shown
    assert "\nheld: pending: JobHeldUser; it will not start by itself" in shown
    assert ekiden("slurm", "cancel", "held").stdout.startswith("held: cancelled")


def test_the_doctor_finds_what_the_settings_ask_of_the_cluster(folder: Path) -> None:
    found = findings()
    assert (found["slurm"].state, found["slurm"].version is None) == ("ok", False)
    assert "3 nodes, 24 processors" in found["slurm controller"].purpose
    assert found["slurm cpu jobs"].state == "ok"
    assert found["slurm gpu jobs"].state == "ok"
    elsewhere = findings(gpu_partition="gpu")["slurm gpu jobs"].how_to_get
    assert elsewhere == "slurm.gpu_partition is 'gpu'; there is main, spare, urgent"
    assert (found["slurm accounting"].state, found["jobs folder"].state) == ("missing", "ok")
    assert findings(gpu_partition="main")["slurm gpu jobs"].state == "ok"
    greedy = findings(gpu_partition="main", gpu_gres="gpu:lovelace_l40:5")["slurm gpu jobs"].how_to_get
    assert greedy == "slurm.gpu_gres is 'gpu:lovelace_l40:5'; nodes of 'main' have gpu:lovelace_l40:4"


def test_the_doctor_finds_accounts_that_are_not_ones_own(
    slurm_accounting: SlurmRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CONF", str(slurm_accounting.conf))
    found = findings(cpu_account="nope")
    assert found["slurm accounting"].state == "ok"
    assert found["slurm cpu jobs"].how_to_get.startswith("slurm.cpu_account is 'nope'; yours are ")
    assert findings(cpu_account="relay")["slurm cpu jobs"].state == "ok"


@pytest.mark.anyio
async def test_an_agent_runs_jobs_on_the_cluster_and_is_told_no_folder_of_it(folder: Path) -> None:
    (folder / "work").mkdir()
    given = {"workspace": str(folder / "work"), "jobs_dir": str(folder / "jobs"), "gpu_partition": "gpu"}
    async with Client(build_server([SERVER], load_settings({"slurm": given}))) as client:
        preview = await answer(client, "slurm_preview", job={"key": "a", "command": ["sh", "-c", "pwd"]})
        assert "#SBATCH --output=<jobs>/a/slurm.log" in preview["script"]
        assert str(folder) not in json.dumps(preview)
        await answer(client, "slurm_submit", key="a", command=["sh", "-c", "pwd"], needs="minutes=5")
        told = await answer(client, "slurm_wait", keys=["a"])
        assert told["jobs"]["a"].startswith("ok: It succeeded")
        assert (await answer(client, "slurm_logs", key="a"))["text"] == f"{folder}/work\n"
        assert (await answer(client, "slurm_cluster"))["executor"] == "slurm: a Slurm cluster is configured"
        told = await refusal(client, "slurm_submit", key="b", command=["true"], needs="gpus=1")
        assert told.startswith("Slurm turned the job away: invalid partition specified: gpu")
