"""The tools for jobs where there is no cluster: real jobs, as processes of this machine."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client

from ekiden_config import Settings, default_settings
from ekiden_jobs.local import LocalExecutor
from ekiden_kit.build import build_server
from ekiden_slurm.scope import AgentScope
from ekiden_slurm.server import SERVER
from tool_answers import answer, refusal

pytestmark = pytest.mark.anyio


def settings(folder: Path) -> Settings:
    packaged = default_settings()
    update = {"executor": "local", "workspace": str(folder), "jobs_dir": str(folder / "runs"), "slots": 2}
    return packaged.model_copy(update={"slurm": packaged.slurm.model_copy(update=update)})


@asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[Client]:
    async with Client(build_server([SERVER], settings(folder))) as client:
        yield client


async def test_a_job_runs_here_where_the_settings_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "hidden")
    async with served(tmp_path) as client:
        look = ["sh", "-c", "echo $A$API_KEY; pwd; echo no >&2; exit 3"]
        submitted = await answer(client, "slurm_submit", key="a", command=look, env=["A=1"])
        assert submitted["next"].startswith("It runs on this machine")
        told = await answer(client, "slurm_wait", keys=["a"])
        assert told["jobs"]["a"].startswith("failed: It exited with code 3; ran for ")
        assert (await answer(client, "slurm_logs", key="a"))["text"] == f"1\n{tmp_path}\n"
        assert (await answer(client, "slurm_logs", key="a", stream="err"))["text"] == "no\n"
        cluster = await answer(client, "slurm_cluster")
        assert cluster["executor"] == "local: the settings say so (slurm.executor)"
        assert cluster["parts"][0].startswith("this machine: 2 processors for jobs")


async def test_an_array_is_waited_for_as_a_whole_and_read_by_task(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        await answer(client, "slurm_submit_array", job={"key": "a", "command": ["echo"]}, tasks=["x", "'y z'"])
        told = await answer(client, "slurm_wait", keys=["a", "a_1"])
        assert told["next"] == "All ended well; slurm_logs shows what they wrote."
        assert (await answer(client, "slurm_logs", key="a_1"))["text"] == "y z\n"
        assert "ask for 'a_0'" in await refusal(client, "slurm_logs", key="a")


async def test_waiting_tells_how_far_it_is_and_comes_back_before_hosts_give_up(tmp_path: Path) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (0.3, "0 of 1 jobs have ended")
        seen.append(progress)

    async with served(tmp_path) as client:
        await answer(client, "slurm_submit", key="a", command=["sleep", "60"])
        result = await client.call_tool("slurm_wait", {"keys": ["a"], "timeout_s": 0.3}, progress_callback=note)
        assert result.structured_content is not None
        assert result.structured_content["next"].startswith("1 of 1 have not ended")
        cancelled = await answer(client, "slurm_cancel", keys=["a"])
        told = await answer(client, "slurm_wait", keys=["a"])
        assert "cancelled" in told["jobs"]["a"] + cancelled["jobs"]["a"]
    assert seen == sorted(set(seen))


async def test_a_call_that_is_given_up_leaves_the_job_as_it_is(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        await answer(client, "slurm_submit", key="a", command=["sleep", "60"])
        with anyio.move_on_after(0.2) as patience:
            await client.call_tool("slurm_wait", {"keys": ["a"]})
        assert patience.cancelled_caught
        told = await answer(client, "slurm_status", keys=["a"])
        assert told["jobs"]["a"].partition(":")[0] in {"pending", "running"}
        await answer(client, "slurm_cancel", keys=["a"])
        await answer(client, "slurm_wait", keys=["a"])


async def test_a_job_outlives_the_server_that_submitted_it(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    job = {"key": "a", "command": ["sh", "-c", "read line < gate; echo $line"]}
    call = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()"]
    call += ["call", "slurm", "slurm_submit", json.dumps(job)]
    environment = os.environ | {"EKIDEN_SLURM_EXECUTOR": "local"}
    done = await anyio.run_process(call, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL)
    assert json.loads(done.stdout)["jobs"]["a"].partition(":")[0] in {"pending", "running"}
    key = AgentScope.of_folder(tmp_path, tmp_path, ()).key("a")
    jobs = LocalExecutor(tmp_path / "runs" / "jobs" / "local")
    with anyio.fail_after(30):
        await anyio.to_thread.run_sync(gate.write_text, "still here\n")
    assert jobs.wait([key])[key].outcome == "ok"
    assert jobs.logs(key, "out").text == "still here\n"
