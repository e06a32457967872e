"""The tools for jobs, called by a client in memory over jobs that are what the test says."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from mcp import Client

from ekiden_config import Settings, SlurmSettings, default_settings
from ekiden_jobs import ExecutorUnavailableError, JobKey, Resources
from ekiden_kit.build import build_server
from ekiden_slurm.choice import Choice
from ekiden_slurm.models import MAX_LISTED
from ekiden_slurm.scope import AgentScope
from ekiden_slurm.server import slurm_server
from remembered_jobs import RememberedJobs
from tool_answers import answer, refusal

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    return folder


@pytest.fixture
def jobs() -> RememberedJobs:
    return RememberedJobs()


def settings(workspace: Path, **slurm: object) -> Settings:
    packaged = default_settings()
    values = packaged.slurm.model_dump() | {"workspace": str(workspace), "jobs_dir": str(workspace / "runs")} | slurm
    return packaged.model_copy(update={"slurm": SlurmSettings.model_validate(values)})


@asynccontextmanager
async def served(workspace: Path, jobs: RememberedJobs, **slurm: object) -> AsyncGenerator[Client]:
    chosen = settings(workspace, **slurm)
    folder = Path(chosen.slurm.jobs_dir)
    server = slurm_server(lambda given: Choice(jobs, "the test says so", folder, given))
    async with Client(build_server([server], chosen)) as client:
        yield client


def own(workspace: Path, key: str) -> JobKey:
    """Return what a job of the workspace's agent is known by to the executor."""
    return AgentScope.of_folder(workspace, workspace / "runs", ()).key(key)


async def test_a_job_is_submitted_waited_for_and_read(workspace: Path, jobs: RememberedJobs) -> None:
    async with served(workspace, jobs) as client:
        job: dict[str, Any] = {
            "key": "train-1",
            "command": ["python3", "train.py"],
            "folder": "sub",
            "needs": "cpus=4 memory=8G minutes=30",
            "env": ["SEED=7"],
        }
        assert await answer(client, "slurm_submit", **job) == snapshot(
            {
                "jobs": {"train-1": "pending: Resources; id 7"},
                "next": "Slurm runs it: do other work, or wait for 'train-1' with slurm_wait.",
            }
        )
        assert await answer(client, "slurm_wait", keys=["train-1"], timeout_s=5) == snapshot(
            {
                "jobs": {"train-1": "pending: Resources; id 7"},
                "next": "1 of 1 have not ended: do other work, or call slurm_wait again.",
            }
        )
        key = own(workspace, "train-1")
        jobs.end(key, outcome="failed", reason="It ended with exit code 3.", exit_code=3, node="n1")
        jobs.written[key, "err"] = "a\nb\nc\n"
        assert await answer(client, "slurm_wait", keys=["train-1"]) == snapshot(
            {
                "jobs": {"train-1": "failed: It ended with exit code 3; ran for 0.0 s; on n1; id 7"},
                "next": "Not all ended well: 'train-1'. slurm_logs with stream 'err' shows why; to run one again, "
                "submit it under a new key.",
            }
        )
        assert await answer(client, "slurm_logs", key="train-1", stream="err", lines=2) == snapshot(
            {
                "text": """\
b
c
""",
                "left_out": 2,
            }
        )
    [request] = jobs.requests.values()
    assert (request.folder, request.command, request.name) == (workspace / "sub", ("python3", "train.py"), "train-1")
    assert dict(request.environment) == {"SEED": "7"}
    assert request.resources == Resources(cpus=4, memory_mb=8192, time_limit_s=1800)
    assert jobs.waits == [5, 40]


async def test_the_same_job_is_submitted_once_and_another_one_of_its_key_is_refused(
    workspace: Path, jobs: RememberedJobs
) -> None:
    async with served(workspace, jobs) as client:
        first = await answer(client, "slurm_submit", key="a", command=["true"])
        assert await answer(client, "slurm_submit", key="a", command=["true"]) == first
        told = await refusal(client, "slurm_submit", key="a", command=["false"])
        assert told == "The key 'a' belongs to another job."
        jobs.end(own(workspace, "a"))
        again = await answer(client, "slurm_submit", key="a", command=["true"])
        assert again["next"] == "It had been submitted before and has ended; slurm_logs shows what 'a' wrote."
    assert len(jobs.requests) == 1


async def test_an_array_has_a_task_for_each_line(workspace: Path, jobs: RememberedJobs) -> None:
    async with served(workspace, jobs) as client:
        job = {"key": "sweep", "command": ["python3", "x.py"], "needs": "at_once=2"}
        await answer(client, "slurm_submit_array", job=job, tasks=["--seed 1", "--name 'two words'", ""])
        assert "no tasks" in await refusal(client, "slurm_submit_array", job=job, tasks=[])
        assert "cannot be split" in await refusal(client, "slurm_submit_array", job=job, tasks=["'"])
    [request] = jobs.requests.values()
    assert request.tasks == (("--seed", "1"), ("--name", "two words"), ())
    assert request.tasks_at_once == 2


@pytest.mark.parametrize(
    ("job", "text"),
    [
        ({}, "'key'"),
        ({"key": "a", "command": "ls"}, "'command'"),
        ({"key": "a", "command": ["ls"], "directives": ["--uid=0"]}, "'directives'"),
    ],
)
async def test_a_job_that_is_an_argument_is_checked_like_the_arguments_of_submit(
    workspace: Path, jobs: RememberedJobs, job: dict[str, Any], text: str
) -> None:
    async with served(workspace, jobs) as client:
        for tool, more in (("slurm_preview", {}), ("slurm_submit_array", {"tasks": ["1"]})):
            told = await refusal(client, tool, job=job, **more)
            assert told.startswith("'job' must be the arguments of slurm_submit")
            assert text in told
    assert jobs.requests == {}


async def test_a_preview_shows_no_folder_outside_the_workspace(workspace: Path, jobs: RememberedJobs) -> None:
    async with served(workspace, jobs) as client:
        shown = await answer(client, "slurm_preview", job={"key": "a", "command": ["ls"], "folder": "sub"})
    assert shown == snapshot(
        {
            "command": "sbatch --parsable",
            "script": """\
#!/bin/sh
cd ./sub
ls
""",
        }
    )
    assert str(workspace) not in json.dumps(shown)
    assert jobs.requests == {}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"folder": ".."}, "The folder '..' is outside the workspace"),
        ({"folder": "/"}, "The folder '/' is outside the workspace"),
        ({"folder": "way-out"}, "The folder 'way-out' is outside the workspace"),
        ({"folder": "nowhere"}, "There is no folder 'nowhere' in the workspace"),
        ({"command": ["../x"]}, "The program '../x' is outside the workspace"),
        ({"command": ["/bin/ls"]}, "The program '/bin/ls' is outside the workspace"),
        ({"command": ["way-out/x"]}, "The program 'way-out/x' is outside the workspace"),
        ({"command": []}, "The command is empty"),
        ({"command": [""]}, "The command is empty"),
        ({"key": ""}, "The key '' will not do"),
        ({"key": "../x"}, "The key '../x' will not do"),
        ({"key": "x" * 72}, "will not do"),
        ({"needs": "cpus"}, "'cpus' is nothing that a job can need"),
        ({"needs": "uid=0"}, "'uid=0' is nothing that a job can need"),
        ({"needs": "cpus=1 cpus=2"}, "'cpus' is there twice"),
        ({"needs": "cpus=0"}, "cpus='0' will not do: a whole number from 1."),
        ({"needs": "cpus=²"}, "cpus='²' will not do"),
        ({"needs": "memory=much"}, "'much' is no amount of memory"),
        ({"env": ["API_KEY"]}, "The variable 'API_KEY' may not be handed to jobs; none is"),
    ],
)
async def test_what_an_agent_may_not_have_run_is_refused(
    workspace: Path, jobs: RememberedJobs, arguments: dict[str, Any], text: str
) -> None:
    (workspace / "way-out").symlink_to(workspace.parent)
    async with served(workspace, jobs) as client:
        told = await refusal(client, "slurm_submit", **{"key": "a", "command": ["ls"], **arguments})
    assert told.startswith(text) or text in told
    assert str(workspace) not in told
    assert jobs.requests == {}


async def test_a_program_of_the_workspace_may_be_a_link_as_in_a_virtual_environment(
    workspace: Path, jobs: RememberedJobs
) -> None:
    (workspace / "python").symlink_to("/usr/bin/env")
    async with served(workspace, jobs) as client:
        await answer(client, "slurm_submit", key="a", command=["./python", "x.py"])
        await answer(client, "slurm_submit", key="b", command=["../python", "x.py"], folder="sub")
    assert [request.command[0] for request in jobs.requests.values()] == ["./python", "../python"]


async def test_secrets_go_by_name_where_the_settings_allow_it(
    workspace: Path, jobs: RememberedJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "hidden-1")
    monkeypatch.setenv("OTHER_KEY", "hidden-2")
    async with served(workspace, jobs, secrets=("GATEWAY_*",)) as client:
        await answer(client, "slurm_submit", key="a", command=["env"], env=["GATEWAY_KEY", "SEED=7"])
        told = await refusal(client, "slurm_submit", key="b", command=["env"], env=["OTHER_KEY"])
        assert "allowed are 'GATEWAY_*'" in told
        told = await refusal(client, "slurm_submit", key="b", command=["env"], env=["GATEWAY_URL"])
        assert told == "The variable 'GATEWAY_URL' is not set where this server runs; go on without it."
    [request] = jobs.requests.values()
    assert dict(request.secrets) == {"GATEWAY_KEY": "hidden-1"}
    assert dict(request.environment) == {"SEED": "7"}


async def test_agents_of_two_workspaces_share_a_jobs_folder_and_see_their_own_jobs(
    workspace: Path, jobs: RememberedJobs
) -> None:
    other = workspace.parent / "other"
    other.mkdir()
    async with served(workspace, jobs) as mine, served(other, jobs) as theirs:
        await answer(mine, "slurm_submit", key="a", command=["true"])
        await answer(theirs, "slurm_submit", key="a", command=["false"])
        await answer(theirs, "slurm_submit", key="b", command=["false"])
        assert list((await answer(mine, "slurm_status"))["jobs"]) == ["a"]
        assert list((await answer(theirs, "slurm_status"))["jobs"]) == ["b", "a"]
        for tool, arguments in (
            ("slurm_status", {"keys": ["b"]}),
            ("slurm_wait", {"keys": ["b"]}),
            ("slurm_cancel", {"keys": ["b"]}),
            ("slurm_logs", {"key": "b"}),
            ("slurm_logs", {"key": own(other, "b")}),
        ):
            assert "There is no job" in await refusal(mine, tool, **arguments)
        await answer(mine, "slurm_cancel", keys=["a"])
    assert [status.outcome for status in jobs.jobs.values()] == ["cancelled", None, None]


async def test_many_jobs_come_in_pages_the_newest_first(workspace: Path, jobs: RememberedJobs) -> None:
    async with served(workspace, jobs) as client:
        for number in range(MAX_LISTED + 3):
            await answer(client, "slurm_submit", key=f"j{number}", command=["true"])
        first = await answer(client, "slurm_status")
        assert (first["total"], len(first["jobs"]), next(iter(first["jobs"]))) == (53, 50, "j52")
        await answer(client, "slurm_submit", key="new", command=["true"])
        second = await answer(client, "slurm_status", cursor=first["next_cursor"])
        assert (second["total"], list(second["jobs"]), second["next_cursor"]) == (54, ["j2", "j1", "j0"], "")


async def test_a_job_that_will_never_start_is_told(workspace: Path, jobs: RememberedJobs) -> None:
    async with served(workspace, jobs) as client:
        await answer(client, "slurm_submit", key="a", command=["true"])
        stuck = jobs.jobs[own(workspace, "a")]
        jobs.jobs[stuck.key] = type(stuck)(stuck.key, "pending", reason="PartitionTimeLimit", waits_for_ever=True)
        told = await answer(client, "slurm_status", keys=["a"])
    assert told["jobs"] == {
        "a": "pending: PartitionTimeLimit; it will not start by itself: cancel it, or ask whoever runs the cluster"
    }
    assert told["next"] == "These will never start: cancel them, and submit what can under a new key: 'a'."


async def test_a_cluster_that_cannot_be_asked_is_told_without_folders(workspace: Path, jobs: RememberedJobs) -> None:
    async with served(workspace, jobs) as client:
        jobs.troubles.append(ExecutorUnavailableError(f"squeue failed in {workspace}/runs/x; try again later."))
        told = await refusal(client, "slurm_submit", key="a", command=["true"])
    assert told == "squeue failed in <jobs>/x; try again later."


async def test_the_end_of_a_long_log_is_shown_and_what_is_left_out_counted(
    workspace: Path, jobs: RememberedJobs
) -> None:
    async with served(workspace, jobs) as client:
        await answer(client, "slurm_submit", key="a", command=["true"])
        jobs.written[own(workspace, "a"), "out"] = "x" * 9_000 + "\nlast\n"
        assert await answer(client, "slurm_logs", key="a", max_bytes=8) == {"text": "xx\nlast\n", "left_out": 8998}
        assert await answer(client, "slurm_logs", key="a", stream="err") == {"text": "", "left_out": 0}


async def test_a_workspace_that_is_no_folder_is_told_to_whoever_runs_the_server(
    workspace: Path, jobs: RememberedJobs
) -> None:
    async with served(workspace / "gone", jobs) as client:
        told = await refusal(client, "slurm_status")
    assert "The workspace 'gone' is no folder. That is for whoever runs this server" in told
    assert str(workspace) not in told
