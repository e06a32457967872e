"""What the kinds of jobs get and find."""

import pytest
from dirty_equals import IsPartialDict

from ekiden_config import Settings, default_settings
from ekiden_jobs import Resources
from ekiden_slurm.profiles import (
    JobKind,
    exports_of,
    mebibytes_of,
    minutes_of,
    resources_of,
    secrets_of,
    with_site_defaults,
)

KINDS: tuple[JobKind, ...] = ("auto", "stage1_orchestrator", "stage2_orchestrator", "agent")


def settings(**slurm: object) -> Settings:
    values = default_settings().model_dump(exclude={"budget": {"token"}, "http": {"token"}})
    values["slurm"] |= slurm
    values["hpc"]["agent"] |= {"resource": "gpu", "cpus": 42, "time": "1-04:00:00"}
    return Settings.model_validate(values)


def test_each_kind_gets_what_its_settings_say() -> None:
    given = settings(gpu_account="graphics", cpu_partition="long", mem_per_cpu="4G", directives=("--nice=5",))
    assert {kind: resources_of(kind, given.hpc, given.slurm) for kind in ("auto", "agent")} == {
        "auto": Resources(
            cpus=1, memory_mb_per_cpu=4096, time_limit_s=172_800, partition="long", directives=("--nice=5",)
        ),
        "agent": Resources(
            cpus=42, memory_mb_per_cpu=4096, time_limit_s=100_800, account="graphics",
            gres="gpu:lovelace_l40:1", directives=("--nice=5",),
        ),
    }  # fmt: skip


def test_what_is_asked_for_stays_and_the_rest_is_the_sites() -> None:
    slurm = settings(cpu_account="sums", cpu_partition="long").slurm
    assert with_site_defaults(Resources(partition="short", memory_mb=10), slurm) == Resources(
        partition="short", account="sums", memory_mb=10
    )
    assert with_site_defaults(Resources(gpus=2), slurm) == Resources(gpus=2, memory_mb_per_cpu=3850)


def test_only_what_is_on_graphics_processors_goes_to_their_partition() -> None:
    slurm = settings(gpu_partition="graphics", cpu_partition="long").slurm
    wishes = (
        Resources(gpus=1),
        Resources(gres="disk:10,gpu:a100:2"),
        Resources(gres="shard:1"),
        Resources(gres="disk:10"),
    )
    assert [with_site_defaults(wish, slurm).partition for wish in wishes] == ["graphics"] * 3 + ["long"]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_memory_are_those_of_the_job(kind: JobKind) -> None:
    given = settings(mem_per_cpu="4G")
    cpus = resources_of(kind, given.hpc, given.slurm).cpus
    exports = exports_of(kind, given.hpc, given.slurm, {})
    assert exports == IsPartialDict(
        AGENT_CPUS="42",
        AGENT_TIME="1-04:00:00",
        VERIFY_BLUEPRINT_LEAN_THREADS=str(cpus),
        LEAN_LSP_THREADS=str(cpus),
        DAG_TRACKER_LEAN_THREADS=str(cpus),
        LEANMARATHON_SLURM_MEM_PER_CPU="4096",
        LEANMARATHON_TOTAL_MEM_MB=str(4096 * cpus),
    )
    assert ("ORCH_CPUS" in exports) == (kind != "agent")


def test_without_memory_in_the_settings_nothing_is_said_of_it() -> None:
    given = settings(mem_per_cpu="")
    assert resources_of("agent", given.hpc, given.slurm).memory_mb_per_cpu is None
    assert not [name for name in exports_of("agent", given.hpc, given.slurm, {}) if "MEM" in name]


def test_secrets_are_not_exported_and_what_is_no_setting_of_ours_stays_behind() -> None:
    environ = {
        "PATH": "/opt/bin:/usr/bin",
        "EKIDEN_CAYLEY_SEED": "3",
        "LEANMARATHON_NUMERIC_TOOLS": "sympy",
        "LEANMARATHON_GITHUB_TOKEN": "secret",
        "EKIDEN_LICENCE": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HOME_MADE": "1",
    }
    given = settings(secrets=("EKIDEN_LICENCE", "*_GITHUB_TOKEN", "UNSET"))
    exports = exports_of("auto", given.hpc, given.slurm, environ)
    assert exports == IsPartialDict(
        PATH="/opt/bin:/usr/bin", EKIDEN_CAYLEY_SEED="3", LEANMARATHON_NUMERIC_TOOLS="sympy"
    )
    assert "secret" not in exports.values()
    assert "HOME_MADE" not in exports
    assert secrets_of(given.slurm, environ) == {"EKIDEN_LICENCE": "secret", "LEANMARATHON_GITHUB_TOKEN": "secret"}


@pytest.mark.parametrize(
    ("time", "minutes"),
    [("90", 90), ("90:01", 91), ("0:00", 1), ("4:00:00", 240), ("2-0", 2880), ("1-2:3", 1563), ("1-02:03:59", 1564)],
)
def test_time_limits_are_read_as_slurm_reads_them(time: str, minutes: int) -> None:
    assert minutes_of(time) == minutes


@pytest.mark.parametrize(
    ("memory", "mebibytes"),
    [("3850", 3850), ("2M", 2), ("4G", 4096), ("1T", 1_048_576), ("1025K", 2), ("", None)],
)
def test_a_unit_of_memory_counts(memory: str, mebibytes: int | None) -> None:
    assert mebibytes_of(memory) == mebibytes
