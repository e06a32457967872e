"""Job scripts: what stands in them, and that nothing in them is taken for anything else."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ekiden_config import default_settings
from ekiden_jobs import JobKey, JobRequest, JobRequestError, Resources
from ekiden_slurm.commands import SlurmCommands, Submitted
from ekiden_slurm.script import job_script, slurm_log
from slurm_rig import SlurmRig
from slurm_rig_daemons import wait_until

GOLDEN = sorted((Path(__file__).parents[2] / "data" / "slurm").iterdir())
RUNNER = ("/opt/ekiden/bin/python", "-I", "run_job.py")
TELL = "import json, os, sys; print(json.dumps({'argv': sys.argv[1:], 'env': dict(os.environ), 'cwd': os.getcwd()}))"
HOSTILE = {
    "COMMAS": "a,b=c",
    "DOLLAR": "$(touch gone) $HOME `id` ${x}",
    "EMPTY": "",
    "LINES": "one\r\n#SBATCH --account=other\n'\"\\'\\x41",
    "MATHS": "∀ x ∈ ℕ, x ≠ 𝑥\u2028",
    "QUOTES": 'it\'s "so"',
    "TAB": "a\tb \x01\x7f",
}


class Golden(BaseModel):
    """What a golden script is made from."""

    request: JobRequest
    name: str
    folder: Path = Path("/jobs/key")
    tasks: tuple[int, int] | None = None


def a_request(environment: Mapping[str, str] | None = None, resources: Resources | None = None) -> JobRequest:
    return JobRequest(
        JobKey("key"), ("true",), Path("/work"), environment=environment or {}, resources=resources or Resources()
    )


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_scripts_are_those_that_were_read_by_people(case: Path) -> None:
    made = Golden.model_validate_json((case / "request.json").read_text(encoding="utf-8"))
    tasks = None if made.tasks is None else range(*made.tasks)
    script = job_script(made.request, name=made.name, runner=RUNNER, folder=made.folder, tasks=tasks)
    assert script == (case / "script.sh").read_text(encoding="utf-8")
    subprocess.run(["bash", "-n"], input=script, text=True, encoding="utf-8", check=True)


@given(st.dictionaries(st.from_regex(r"X_[A-Z0-9]{0,5}", fullmatch=True), st.text(st.characters(codec="utf-8"))))
def test_no_value_can_add_a_directive_or_a_line(environment: dict[str, str]) -> None:
    clean = {name: value.replace("\0", "") for name, value in environment.items()}
    lines = job_script(a_request(clean), name="key.1", runner=RUNNER, folder=Path("/jobs/key")).split("\n")
    plain = job_script(a_request(), name="key.1", runner=RUNNER, folder=Path("/jobs/key")).split("\n")
    exports = [line for line in lines if line.startswith("export X_")]
    assert [line for line in lines if line not in exports] == plain
    assert len(exports) == len(clean)
    assert not any("\r" in line for line in lines)


def test_bash_reads_every_value_as_it_was_given(tmp_path: Path) -> None:
    runner = (sys.executable, "-c", TELL, *HOSTILE.values())
    script = job_script(a_request(HOSTILE), name="key.1", runner=runner, folder=tmp_path)
    told = json.loads(subprocess.check_output(["bash"], input=script, text=True, encoding="utf-8", cwd=tmp_path))
    assert told["argv"] == [*HOSTILE.values(), "--id", "", "--restarts", "0"]
    assert told["env"] | HOSTILE == told["env"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (a_request({"UID": "0"}), "The variable 'UID' is bash's own and cannot be set; take another name."),
        (a_request({"X": "a\0"}), "'a\\x00' holds a NUL, which no program can be given."),
        (a_request({"X": "\udc80"}), "'\\udc80' cannot be written as UTF-8."),
        (
            a_request(resources=Resources(partition="main\n#SBATCH --account=other")),
            "Slurm cannot be told 'main\\n#SBATCH --account=other' as --partition: not all of it can be printed.",
        ),
        (
            a_request(resources=Resources(directives=("--mail-type=END\nrm",))),
            "The directive '--mail-type=END\\nrm' is no option of sbatch; one is '--mail-type=END'.",
        ),
        (
            a_request(resources=Resources(directives=("mail",))),
            "The directive 'mail' is no option of sbatch; one is '--mail-type=END'.",
        ),
        *(
            (
                a_request(resources=Resources(directives=(directive,))),
                f"The directive {directive!r} will not do: {directive.split()[-1]!r} is for Ekiden to choose.",
            )
            for directive in ("--job-name=x", "--exp=NONE", "-H -Jx", "--wrap=id", "--quiet")
        ),
    ],
)
def test_what_slurm_or_bash_cannot_be_told_is_refused(request_: JobRequest, message: str) -> None:
    with pytest.raises(JobRequestError) as refusal:
        job_script(request_, name="key.1", runner=RUNNER, folder=Path("/jobs/key"))
    assert str(refusal.value) == message


def test_a_jobs_folder_with_a_backslash_is_refused() -> None:
    with pytest.raises(JobRequestError, match="holds a backslash: take another jobs folder"):
        job_script(a_request(), name="key.1", runner=RUNNER, folder=Path("/jobs/back\\slash"))


@pytest.mark.slurm
def test_a_job_finds_what_it_was_given_and_nothing_else_of_ours(slurm: SlurmRig, tmp_path: Path) -> None:
    folder = tmp_path / "100% %j \"of\" $HOME 'it' #1 {} ∀"
    (folder / "tasks").mkdir(parents=True)
    commands = SlurmCommands(
        default_settings().slurm,
        slurm.env | {"SECRET_OF_OURS": "x", "SBATCH_TIMELIMIT": "1", "SLURM_MEM_PER_NODE": "1", "BASH_ENV": "x"},
    )
    request = JobRequest(
        JobKey("hostile"), ("true",), tmp_path, name="$(id)", environment=HOSTILE,
        resources=Resources(cpus=2, gpus=1, time_limit_s=61, constraint="", directives=("--nice=5",)),
    )  # fmt: skip
    name = "a \"hostile\" \\ 'name' #1 $(id) ∀"
    runner = (sys.executable, "-c", TELL, *HOSTILE.values())
    single = job_script(request, name=name, runner=runner, folder=folder)
    array = job_script(request, name="many", runner=runner, folder=folder, tasks=range(1000, 1003))
    taken = [commands.submit(script) for script in (single, array)]
    assert all(isinstance(one, Submitted) for one in taken)
    assert {(row.name, row.comment) for row in commands.queue(names=[name])} == {(name, name)}
    logs = [slurm_log(folder), *(slurm_log(folder, task, range(1000, 1003)) for task in range(1000, 1003))]
    wait_until(lambda: all(log.exists() and log.read_text() for log in logs), "all having told", 60, needed=[])
    for log, task in zip(logs, [None, "1000", "1001", "1002"], strict=True):
        told = json.loads(log.read_text(encoding="utf-8"))
        given, more = told["argv"][: len(HOSTILE)], told["argv"][len(HOSTILE) :]
        env = told["env"]
        assert given == list(HOSTILE.values())
        native = env["SLURM_JOB_ID"] if task is None else f"{env['SLURM_ARRAY_JOB_ID']}_{env['SLURM_ARRAY_TASK_ID']}"
        assert more == ["--id", native, "--restarts", "0", *([] if task is None else ["--task", task])]
        assert told["env"] | HOSTILE == told["env"]
        assert told["cwd"] == str(folder)
        assert told["env"]["SLURM_CPUS_PER_TASK"] == "2"
        assert told["env"]["CUDA_VISIBLE_DEVICES"]
        assert not told["env"].keys() & {"SECRET_OF_OURS", "SBATCH_TIMELIMIT", "SLURM_MEM_PER_NODE", "BASH_ENV"}
        assert "SLURM_EXPORT_ENV" not in told["env"]
    limit = slurm.command("squeue", "-h", "-t", "all", f"--name={name}", "-o", "%l", check=True).stdout.strip()
    assert limit == "2:00"


@pytest.mark.slurm
@pytest.mark.parametrize("kept", [{}, {"PATH": "/usr/bin:/bin", "HOME": "/"}])
def test_srun_works_in_a_job_whatever_it_was_submitted_with(
    slurm: SlurmRig, tmp_path: Path, kept: dict[str, str]
) -> None:
    programs = {name: shutil.which(name) or "" for name in ("sbatch", "squeue")}
    settings = default_settings().slurm.model_validate(default_settings().slurm.model_dump() | {"programs": programs})
    commands = SlurmCommands(settings, {"SLURM_CONF": str(slurm.conf), **kept})
    runner = ("/bin/bash", "-c", "srun -n1 env; echo the end; shopt login_shell")
    script = job_script(a_request({"GIVEN": "1"}), name="srun", runner=runner, folder=tmp_path)
    commands.submit(script)
    log = slurm_log(tmp_path)
    wait_until(lambda: log.exists() and "login_shell" in log.read_text(), "the job having ended", 60, needed=[])
    told = log.read_text().splitlines()
    assert "GIVEN=1" in told
    assert told[-2:] == ["the end", "login_shell    \toff"]
