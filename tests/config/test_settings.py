"""The order in which settings are read, and what is said of wrong ones."""

import os
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ekiden_config import (
    ConfigError,
    EncoderSettings,
    HpcAgentSettings,
    ServerSettings,
    Settings,
    UpstreamSettings,
    default_settings,
    load_settings,
)
from ekiden_config.places import is_set, project_file


@pytest.fixture(autouse=True)
def bare_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("EKIDEN_", "LEANMARATHON_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (tmp_path / "xdg" / "ekiden").mkdir(parents=True)
    (tmp_path / "work" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "inner")


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "xdg" / "ekiden" / "config.toml"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "work" / "ekiden.toml"


def test_without_anything_else_the_packaged_defaults_hold() -> None:
    assert load_settings() == default_settings()


def test_each_source_wins_over_those_before_it(user_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    user_file.write_text("cayley.seed = 1\ncayley.max_order = 5\n")
    seeds.append(load_settings().cayley.seed)
    project.write_text("[cayley]\nseed = 2\n")
    seeds.append(load_settings().cayley.seed)
    monkeypatch.setenv("LEANMARATHON_CAYLEY_SEED", "3")
    seeds.append(load_settings().cayley.seed)
    monkeypatch.setenv("EKIDEN_CAYLEY_SEED", "4")
    seeds.append(load_settings().cayley.seed)
    settings = load_settings({"cayley": {"seed": 5, "time_limit_s": None}})
    assert [*seeds, settings.cayley.seed] == [1, 2, 3, 4, 5]
    assert settings.cayley.max_order == 5
    assert settings.cayley.time_limit_s == default_settings().cayley.time_limit_s


def test_the_nearest_project_file_upwards_is_read_unless_another_is_named(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project_file() is None
    (tmp_path / "ekiden.toml").touch()
    project.touch()
    assert project_file() == project
    monkeypatch.setenv("LEANMARATHON_CONFIG", "old.toml")
    assert project_file() == Path("old.toml")
    monkeypatch.setenv("EKIDEN_CONFIG", "named.toml")
    assert project_file() == Path("named.toml")


def test_servers_are_configured_by_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write_text('[servers.cayley]\ntool_timeout_s = 5\ndescriptions.cayley_check = "Checks."\n')
    monkeypatch.setenv("EKIDEN_SERVERS_CAYLEY", '{"disabled_tools": ["cayley_refute"]}')
    assert load_settings().servers == {
        "cayley": ServerSettings(
            disabled_tools=("cayley_refute",), descriptions={"cayley_check": "Checks."}, tool_timeout_s=5
        )
    }


def test_the_token_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EKIDEN_HTTP_TOKEN", "open sesame")
    settings = load_settings()
    assert settings.http.token is not None
    assert settings.http.token.get_secret_value() == "open sesame"
    assert "open sesame" not in repr(settings)


def test_a_budget_is_configured_with_upstreams_prices_and_pins(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write_text(
        "[budget]\npinned = { temperature = 0.0, provider = { order = ['deepinfra/bf16'] } }\n"
        "[budget.upstreams.gateway]\nbase_url = 'http://127.0.0.1:8000/v1/'\nkey_env = 'MY_KEY'\n"
        "[budget.prices.'openai/*']\ninput_usd_per_million = 0.15\noutput_usd_per_million = 1\n"
    )
    monkeypatch.setenv("EKIDEN_BUDGET_ALLOWED_MODELS", '["openai/*"]')
    settings = load_settings().budget
    assert settings.pinned == {"temperature": 0.0, "provider": {"order": ["deepinfra/bf16"]}}
    assert settings.upstreams == {
        "gateway": UpstreamSettings(base_url="http://127.0.0.1:8000/v1", key_env="MY_KEY", dialects=("chat",))
    }
    assert settings.prices["openai/*"].input_usd_per_million == Decimal("0.15")
    assert settings.allowed_models == ("openai/*",)


def test_settings_in_the_reference_are_those_there_are() -> None:
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text("utf-8")
    shown = reference[reference.index("```toml") + len("```toml") :]
    read = tomllib.loads(shown[: shown.index("```")])
    defaults = default_settings().model_dump(mode="json")
    assert {key: value for key, value in read["budget"].items() if key not in {"upstreams", "prices"}} == {
        key: value for key, value in defaults["budget"].items() if key not in {"upstreams", "prices", "token"}
    }
    assert read["slurm"].keys() == defaults["slurm"].keys()
    assert {key: value for key, value in read["slurm"].items() if key != "programs"} == {
        key: value for key, value in defaults["slurm"].items() if key != "programs"
    }
    encoder = read["store"].pop("encoder")
    assert read["store"] == {key: value for key, value in defaults["store"].items() if key != "encoder"}
    assert encoder.keys() == EncoderSettings.model_fields.keys()
    for kind, values in read["hpc"].items():
        assert values.items() <= defaults["hpc"][kind].items()
    load_settings(read)


def test_a_cluster_is_described_as_its_users_are_used_to(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write_text("slurm.mem_per_cpu = 4000\nhpc.agent = { resource = 'gpu', cpus = 42, time = 240 }\n")
    monkeypatch.setenv("LEANMARATHON_SLURM_CPU_ACCOUNT", "sums")
    monkeypatch.setenv("EKIDEN_HPC_STAGE2_ORCHESTRATOR", '{"cpus": 2}')
    settings = load_settings()
    assert (settings.slurm.mem_per_cpu, settings.slurm.cpu_account) == ("4000", "sums")
    assert settings.hpc.agent == HpcAgentSettings(resource="gpu", cpus=42, time="240", batch_size=16)
    assert (settings.hpc.stage2_orchestrator.cpus, settings.hpc.stage2_orchestrator.time) == (2, "48:00:00")
    monkeypatch.setenv("LEANMARATHON_SLURM_MEM_PER_CPU", "4G")
    assert load_settings().slurm.mem_per_cpu == "4G"


def test_an_encoder_is_an_address_and_all_that_its_vectors_depend_on(project: Path) -> None:
    project.write_text(
        "[store.encoder]\naddress = 'http://127.0.0.1:30000/'\nmodel = 'a/b'\nrevision = 'main'\ndtype = 'float16'\n"
    )
    encoder = load_settings().store.encoder
    assert encoder is not None
    assert (encoder.address, encoder.pooling, encoder.template) == ("http://127.0.0.1:30000", "mean", "{text}")
    project.write_text("[store.encoder]\naddress = 'elsewhere'\nmodel = 'a/b'\nrevision = 'main'\ndtype = 'float16'\n")
    with pytest.raises(ConfigError, match=r"store\.encoder\.address.*http://"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cayley.sed = 1", "Unknown setting 'cayley.sed' in FILE: did you mean 'cayley.seed'?"),
        ("[caley]", "Unknown setting 'caley' in FILE: did you mean 'cayley'?"),
        ("cayley.seed = -1", "Setting 'cayley.seed' in FILE is -1: Input should be greater than or equal to 0."),
        ("servers = 3", "Setting 'servers' in FILE is 3: Input should be a section."),
        ("cayley = 3", "Setting 'cayley' in FILE is 3: Input should be a section."),
        ("servers.x.tool_timeout_s = 0", "Setting 'servers.x.tool_timeout_s' in FILE is 0: Input should be "
         "greater than 0."),
        ("servers.x.tool_timeout = 1", "Unknown setting 'servers.x.tool_timeout' in FILE: did you mean "
         "'servers.x.tool_timeout_s'?"),
        ("http.token = 7", "Setting 'http.token' in FILE is a secret: Input should be a valid string."),
        ("budget.upstreams.x.bas_url = 1", "Unknown setting 'budget.upstreams.x.bas_url' in FILE: did you mean "
         "'budget.upstreams.x.base_url'?"),
        ("budget.upstreams.x.models = ['*']", "Setting 'budget.upstreams.x.base_url' is missing in FILE: the section "
         "'budget.upstreams.x' needs it."),
        ("budget.upstreams.x.base_url = 'h'", "Setting 'budget.upstreams.x.base_url' in FILE is 'h': "
         "an address starts with http:// or https:// and names a host."),
        ("budget.upstreams.x = {base_url = 'http://u:hush@h'}", "Setting 'budget.upstreams.x.base_url' in FILE is a "
         "secret: an address holds no user, query or fragment; the key belongs in the variable of key_env."),
        ("budget.upstreams.x = {base_url = 'http://h', key_env = 'sk-hush'}", "Setting 'budget.upstreams.x.key_env' in "
         "FILE is a secret: it names a variable such as 'MY_KEY', in capitals; the key itself stays out of the file."),
        ("budget.prices.m = {input_usd_per_million = -1, output_usd_per_million = 1}", "Setting "
         "'budget.prices.m.input_usd_per_million' in FILE is -1: Input should be greater than or equal to 0."),
        ("slurm.mem_per_cpu = '4 GB'", "Setting 'slurm.mem_per_cpu' in FILE is '4 GB': memory is whole mebibytes such "
         "as '3850', or a number with K, M, G or T such as '4G'."),
        ("slurm.directives = ['mail']", "Setting 'slurm.directives' in FILE is ['mail']: 'mail' is no option of "
         "sbatch; one is '--mail-type=END'."),
        ("slurm.programs.sbach = '/x'", "Unknown setting 'slurm.programs.sbach' in FILE: did you mean "
         "'slurm.programs.sbatch'?"),
        ("hpc.agent.time = '4h'", "Setting 'hpc.agent.time' in FILE is '4h': a time limit is minutes, "
         "'hours:minutes:seconds' or 'days-hours:minutes:seconds'."),
        ("hpc.agents.cpus = 1", "Unknown setting 'hpc.agents' in FILE: did you mean 'hpc.agent'?"),
        ("budget.pinned.temperature = nan", "Setting 'budget.pinned' in FILE is {'temperature': nan}: Out of range "
         "float values are not JSON compliant."),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_told_with_its_file_key_and_value(project: Path, text: str, message: str) -> None:
    project.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value).replace(repr(str(project)), "FILE") == message


def test_a_wrong_variable_is_told_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EKIDEN_CAYLEY_SEEED", "1")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert (
        str(caught.value) == "Unknown setting 'EKIDEN_CAYLEY_SEEED' in the environment: did you mean "
        "'EKIDEN_CAYLEY_SEED'?"
    )


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("EKIDEN_STROE__FOLDER", "did you mean 'EKIDEN_STORE_FOLDER'?"),
        ("EKIDEN_STORE__FOLDER", "did you mean 'EKIDEN_STORE_FOLDER'?"),
        ("EKIDEN_CAYLY_SEED", "did you mean 'EKIDEN_CAYLEY_SEED'?"),
        ("EKIDEN_SERVER", "did you mean 'EKIDEN_SERVERS'?"),
        ("EKIDEN_WAREHOUSE__FOLDER", "settings begin with 'EKIDEN_BLUEPRINT_', 'EKIDEN_BUDGET_', "),
    ],
)
def test_a_variable_whose_section_is_misspelt_is_told(
    variable: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value).startswith(f"Unknown setting {variable!r} in the environment: {told}")


@pytest.mark.parametrize(
    "variable", ["EKIDEN_JOB", "EKIDEN_TASK", "EKIDEN_RESTARTS", "EKIDEN_APPLY_PATCH_NODE", "EKIDEN_DAG_PROJECT_ROOT"]
)
def test_a_variable_that_is_no_setting_is_left_alone(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("LEANMARATHON_STROE__FOLDER", "1")
    monkeypatch.setenv("EKIDEN_STROE_FOLDER", "")
    assert load_settings() == default_settings()


def test_a_variable_that_must_hold_json_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EKIDEN_HTTP_ALLOWED_HOSTS", "not json")
    with pytest.raises(ConfigError, match="A variable EKIDEN_\\* of the environment does not hold JSON"):
        load_settings()


@pytest.mark.parametrize("content", [b"a = ", b"\xff"])
def test_a_file_that_is_not_toml_is_told(project: Path, content: bytes) -> None:
    project.write_bytes(content)
    with pytest.raises(ConfigError, match="is not TOML"):
        load_settings()


def test_a_named_file_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EKIDEN_CONFIG", "nowhere.toml")
    with pytest.raises(ConfigError, match=r"Cannot read the settings file 'nowhere\.toml': No such file"):
        load_settings()


def test_a_glance_tells_whether_a_section_is_set(
    user_file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_text("cayley.seed = 1\n")
    assert not is_set("servers")
    assert is_set("cayley")
    user_file.write_text("[servers.cayley]\n")
    assert is_set("servers")
    user_file.unlink()
    monkeypatch.setenv("LEANMARATHON_SERVERS_JUDGE", "{}")
    assert is_set("servers")


def test_a_file_that_cannot_be_read_counts_as_setting_everything(project: Path) -> None:
    project.write_text("a = ")
    assert is_set("servers")


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.integers(), min_size=1), min_size=1))
def test_unknown_explicit_arguments_are_refused_in_words(overrides: dict[str, dict[str, int]]) -> None:
    assume(not overrides.keys() & Settings.model_fields.keys())
    with pytest.raises(ConfigError, match="in the arguments"):
        load_settings(overrides)
