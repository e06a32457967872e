"""Slurm's commands on a real cluster, and when they are slow, gone, or lie."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ekiden_config import SlurmSettings, default_settings
from ekiden_jobs import ExecutorUnavailableError, SubmissionError
from ekiden_slurm.cluster import Gres, look_at
from ekiden_slurm.commands import SlurmCommands, Submitted, Unclear
from slurm_rig import SlurmRig
from slurm_rig_daemons import wait_until

SCRIPT = "#!/bin/bash\nexit 3\n"
LATELY = timedelta(minutes=10)


def settings(**changes: object) -> SlurmSettings:
    return SlurmSettings.model_validate(default_settings().slurm.model_dump() | changes)


def with_program(folder: Path, name: str, text: str) -> dict[str, str]:
    """Put a program into a folder, and return an environment that has nothing else."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return {"PATH": str(folder)}


def submitted(commands: SlurmCommands, folder: Path, *options: str, script: str = SCRIPT) -> str:
    answer = commands.submit(script, [f"--output={folder}/slurm.log", *options])
    assert isinstance(answer, Submitted), answer
    return answer.job_id


@pytest.mark.slurm
def test_a_job_is_submitted_found_and_told_ended(slurm: SlurmRig, tmp_path: Path) -> None:
    leaking = {"SQUEUE_FORMAT": "%i", "SQUEUE_PARTITION": "spare", "SLURM_TIME_FORMAT": "relative"}
    commands = SlurmCommands(settings(), slurm.env | leaking)
    name = 'told|"ended"\n,1'
    job_id = submitted(commands, tmp_path, f"--job-name={name}", "--comment=c|d")
    wait_until(lambda: commands.queue(ids=[job_id])[0].state == "FAILED", "the job having ended", 60, needed=[])
    (row,) = commands.queue(ids=[job_id, "4000000"])
    assert (row.name, row.comment, row.exit_code, row.signal, row.restarts) == (name, "c|d", 3, None, 0)
    assert row.submitted_at is not None
    assert row.ended_at is not None
    assert datetime.now(UTC) - LATELY < row.submitted_at <= row.ended_at
    many = [job_id, *(str(4_000_000 + number) for number in range(1000))]
    assert commands.queue(ids=many) == [row]
    assert commands.queue(ids=["4000000"]) == commands.queue(names=["nobody"]) == []
    assert commands.accounting(since=row.submitted_at) is None
    assert commands.accounting(since=row.submitted_at) is None
    assert commands.issued["sacct"] == 1  # that there is none was found out once
    assert commands.issued["sbatch"] == 1


@pytest.mark.slurm
def test_accounting_tells_the_same_as_the_queue(slurm_accounting: SlurmRig, tmp_path: Path) -> None:
    commands = SlurmCommands(settings(), slurm_accounting.env | {"TZ": "Asia/Kolkata", "SACCT_FORMAT": "jobid"})
    since = datetime.now(UTC) - timedelta(seconds=2)
    job_id = submitted(commands, tmp_path, "--job-name=same", "--comment=same", "--array=0-1")

    def told() -> bool:
        return [row.state for row in commands.accounting(since=since, names=["same"]) or ()] == ["FAILED", "FAILED"]

    wait_until(told, "accounting telling the end", 60, needed=[])
    by_id = {row.tasks: row for row in commands.accounting(since=since, ids=[job_id]) or ()}
    queued = {row.tasks: row for row in commands.queue(names=["same"])}
    assert by_id.keys() == queued.keys() == {(0,), (1,)}
    for task, row in queued.items():
        assert by_id[task].seen().exit_code == row.seen().exit_code == 3
        assert (by_id[task].job_id, by_id[task].started_at) == (row.job_id, row.started_at)
    ahead = datetime.now(UTC) + timedelta(minutes=9)
    assert len(commands.accounting(since=ahead, names=["same"]) or ()) == 2
    assert commands.accounting(since=since, names=["nobody"]) == []


@pytest.mark.slurm
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--partition=nowhere"], "invalid partition specified: nowhere; .*Invalid partition name specified"),
        (["--gres=gpu:lovelace_l40:99"], "Requested node configuration is not available"),
        (["--bogus"], "unrecognized option '--bogus'"),
        (["--time=soon"], "Invalid --time specification"),
        (["--constraint=none_such"], "Invalid feature specification"),
        (["--array=0-100000"], "Invalid job array specification"),
    ],
)
def test_what_slurm_turns_away_is_told_in_its_words(slurm: SlurmRig, options: list[str], words: str) -> None:
    with pytest.raises(SubmissionError, match=rf"Slurm turned the job away: .*{words}"):
        SlurmCommands(settings(), slurm.env).submit(SCRIPT, options)


@pytest.mark.slurm
def test_a_job_that_was_turned_away_with_a_number_never_ran(slurm: SlurmRig) -> None:
    commands = SlurmCommands(settings(), slurm.env)
    with pytest.raises(SubmissionError):
        commands.submit(SCRIPT, ["--gres=gpu:99", "--job-name=never"])
    assert [row.seen().never_ran for row in commands.queue(names=["never"])] == [True]


@pytest.mark.slurm
def test_cancelling_passes_over_what_is_over_or_unknown(slurm: SlurmRig, tmp_path: Path) -> None:
    commands = SlurmCommands(settings(), slurm.env)
    job_id = submitted(commands, tmp_path, "--hold", "--job-name=held", "--array=0-2")
    commands.cancel([f"{job_id}_1", "4000000"])
    assert {row.tasks for row in commands.queue(ids=[job_id]) if row.state == "PENDING"} == {(0,), (2,)}
    commands.cancel([job_id])
    commands.cancel([job_id])
    assert not [row for row in commands.queue(ids=[job_id]) if row.state == "PENDING"]
    with pytest.raises(ExecutorUnavailableError, match="scancel failed: Invalid job id ab"):
        commands.cancel(["ab"])


@pytest.mark.slurm
def test_a_cluster_is_told_with_its_nodes_and_own_jobs(slurm: SlurmRig, tmp_path: Path) -> None:
    commands = SlurmCommands(settings(), slurm.env)
    job_id = submitted(commands, tmp_path, "--hold")
    slurm.drain("n3", "a new fan, soon")
    try:
        cluster = look_at(commands)
    finally:
        slurm.resume("n3")
        commands.cancel([job_id])
    assert [(one.name, one.default, one.state) for one in cluster.partitions] == [
        ("main", True, "up"), ("spare", False, "up"), ("urgent", False, "up"),
    ]  # fmt: skip
    assert cluster.partitions[0].cpus == 24
    assert cluster.partitions[0].gres == ("gpu:lovelace_l40:4",)
    third = cluster.nodes[2]
    assert (third.name, third.reason, third.partitions) == ("n3", "a new fan, soon", ("main", "spare", "urgent"))
    assert third.state.startswith("drain")
    assert [one.gres for one in cluster.nodes] == [(Gres("gpu", "lovelace_l40", 4, 0),)] * 3
    assert job_id in {row.job_id for row in cluster.jobs}


@pytest.mark.slurm
def test_versions_and_settings_of_the_cluster_are_told(slurm: SlurmRig) -> None:
    commands = SlurmCommands(settings(), slurm.env)
    assert commands.answers()
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", commands.version("sbatch"))
    assert commands.configuration()["MinJobAge"] == "300 sec"


@pytest.mark.slurm
def test_a_frozen_controller_leaves_a_submission_unclear_and_the_job_is_found_later(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1, settings={"MessageTimeout": "2"}) as rig:
        commands = SlurmCommands(settings(query_timeout_s=1), rig.env)
        rig.freeze_controller()
        answer = commands.submit(SCRIPT, ["--job-name=late", f"--output={tmp_path}/o"])
        with pytest.raises(
            ExecutorUnavailableError, match=r"squeue did not answer within 1 seconds; try again later\."
        ):
            commands.queue()
        rig.thaw_controller()
        patient = SlurmCommands(settings(), rig.env)
        wait_until(lambda: bool(patient.queue(names=["late"])), "the job being there", 60, needed=[])
    assert isinstance(answer, Unclear)
    assert "Socket timed out" in answer.text


def test_commands_that_are_not_here_are_named() -> None:
    commands = SlurmCommands(settings(programs={"sbatch": "/opt/slurm/bin/sbatch"}), {"PATH": "/nowhere"})
    with pytest.raises(ExecutorUnavailableError, match=r"There is no 'sbatch' here: .* say in slurm.programs"):
        commands.submit(SCRIPT)
    assert not commands.answers()
    assert commands.accounting(since=datetime.now(UTC)) is None
    assert commands.issued == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo welcome", "sbatch printed no number: 'welcome\\n'"),
        ("kill -9 $$", "sbatch ended with -9 and said nothing."),
        ("exit 1", "sbatch ended with 1 and said nothing."),
        ("while :; do :; done", "sbatch did not end within 0.2 seconds."),
    ],
)
def test_an_sbatch_of_which_nobody_knows_what_it_did_is_unclear(tmp_path: Path, text: str, words: str) -> None:
    commands = SlurmCommands(settings(submit_timeout_s=0.2), with_program(tmp_path, "sbatch", text))
    answer = commands.submit(SCRIPT)
    assert isinstance(answer, Unclear)
    assert answer.text.strip() == words


def test_too_many_jobs_in_the_queue_may_pass(tmp_path: Path) -> None:
    text = "echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; exit 1"
    with pytest.raises(ExecutorUnavailableError, match="Slurm takes no more jobs now: AssocMaxSubmitJobLimit"):
        SlurmCommands(settings(), with_program(tmp_path, "sbatch", text)).submit(SCRIPT)


def test_a_command_gets_the_script_and_nothing_of_ours_but_what_it_needs(tmp_path: Path) -> None:
    environ = with_program(
        tmp_path, "sbatch", f'/usr/bin/env > "{tmp_path}/env"; /bin/cat > "{tmp_path}/given"; echo 7'
    )
    SlurmCommands(
        settings(),
        environ | {"SLURM_CONF": "/c", "SBATCH_PARTITION": "p", "TOKEN": "t", "LC_ALL": "C", "SLURM_JOB_ID": "1"},
    ).submit("#!/bin/bash\n# ∀\n")
    seen = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert seen.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "SLURM_CONF", "LC_ALL"}
    assert (tmp_path / "given").read_text(encoding="utf-8") == "#!/bin/bash\n# ∀\n"


def test_commands_are_found_and_run_from_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "gone").mkdir()
    with_program(tmp_path / "bin", "sbatch", "pwd >&2; echo 7")
    monkeypatch.chdir(tmp_path)
    relative = SlurmCommands(settings(programs={"sbatch": "bin/sbatch"}), {})
    assert relative.submit(SCRIPT) == Submitted("7", "/")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    absolute = SlurmCommands(settings(), {"PATH": str(tmp_path / "bin")})
    assert absolute.submit(SCRIPT) == Submitted("7", "/")


def test_an_answer_that_is_no_list_of_jobs_is_an_error(tmp_path: Path) -> None:
    commands = SlurmCommands(settings(), with_program(tmp_path, "squeue", "echo all is well"))
    with pytest.raises(ExecutorUnavailableError, match="squeue printed what cannot be read: 'all is well"):
        commands.queue()


def test_ending_a_slow_command_ends_what_it_has_started(tmp_path: Path) -> None:
    text = f"trap '' TERM; (trap '' TERM; echo $$ > {tmp_path}/started; while :; do :; done) & wait"
    commands = SlurmCommands(settings(query_timeout_s=0.5), with_program(tmp_path, "squeue", text))
    with pytest.raises(ExecutorUnavailableError, match=r"squeue did not answer within 0\.5 seconds"):
        commands.queue()
