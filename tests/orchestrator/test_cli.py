"""The command line as a process: what it prints, where, and how it ends."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ekiden_kit.table import SERVERS

LAWS = {"law1": "x = x * y", "law2": "x = y"}


def ekiden(*arguments: str, text: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EKIDEN_")}
    command = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()", *arguments]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, timeout=60, cwd=cwd, env=environment
    )


def test_the_version_is_said() -> None:
    done = ekiden("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ekiden 0.1.0\n", "")


def test_help_names_every_command() -> None:
    done = ekiden("--help")
    assert done.returncode == 0
    names = "serve call tools client-config doctor budget cayley marathon judge certificate"
    for command in names.split():
        assert f"│ {command} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "cayly"], "ekiden: No server 'cayly'; did you mean 'cayley'?\n"),
        (["serve", "cayly", "--http"], "ekiden: No server 'cayly'; did you mean 'cayley'?\n"),
        (["serve", "cayley", "--port", "1"], "ekiden: --port goes with --http.\n"),
        (["tools", "judg"], "ekiden: No server 'judg'; did you mean 'judge'?\n"),
        (["client-config", "--client", "codex", "--server", "x"],
         "ekiden: No server 'x'; there is 'apply_patch', 'budget', 'cayley', 'dag_tracker', 'judge', 'slurm', "
         "'trajectories'.\n"),
        (["call", "judge", "judge_answer", "[]"], "ekiden: The arguments must be a JSON object, not '[]'.\n"),
        (["call", "judge", "judge_answer", "{}", "--url", "http://127.0.0.1:1"],
         "ekiden: Cannot talk to 'http://127.0.0.1:1/judge/mcp': All connection attempts failed.\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(arguments: list[str], message: str) -> None:
    done = ekiden(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve"], ["client-config", "--client", "emacs"]])
def test_wrong_usage_ends_with_status_2(arguments: list[str]) -> None:
    done = ekiden(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage" in done.stderr


def test_a_wrong_setting_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "ekiden.toml").write_text("[cayley]\nsed = 1\n")
    done = ekiden("tools", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ekiden: Unknown setting 'cayley.sed' in")
    assert done.stderr.count("\n") == 1


def test_a_server_that_cannot_be_built_says_why_and_ends(tmp_path: Path) -> None:
    (tmp_path / "ekiden.toml").write_text("[cayley]\nsed = 1\n")
    command = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()", "serve", "judge"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.wait(timeout=30) == 2
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == ""
        assert process.stderr.read().startswith("ekiden: Unknown setting 'cayley.sed' in")


def test_a_call_prints_the_structured_answer_as_json() -> None:
    arguments = json.dumps(LAWS | {"verdict": "false", "code": "sorry"})
    answers = [
        ekiden("call", "judge", "judge_answer", arguments),
        ekiden("call", "judge", "judge_answer", "-", text=arguments),
    ]
    for done in answers:
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["error_code"] == "BANNED_PLACEHOLDER"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("judge_answer", "{}", "Argument 'law1' is missing. Argument 'law2' is missing.\n"),
        ("judge_answer", '{"law": 1}', "Tool 'judge_answer' has no argument 'law'; did you mean 'law2' or 'law1'?\n"),
        ("judge_answers", "{}", "No tool 'judge_answers' here; did you mean 'judge_answer'?\n"),
    ],
)
def test_a_refusal_goes_to_standard_error_with_status_1(tool: str, arguments: str, message: str) -> None:
    done = ekiden("call", "judge", tool, arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_tools_lists_servers_and_tools() -> None:
    done = ekiden("tools")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        entry.name for entry in SERVERS
    ]
    listing = json.loads(ekiden("tools", "judge", "--json").stdout)
    assert [tool["name"] for tool in listing["judge"]] == [
        tool.name for entry in SERVERS if entry.name == "judge" for tool in entry.load().tools
    ]


def test_client_config_is_printed_or_merged(tmp_path: Path) -> None:
    file = tmp_path / ".codex" / "config.toml"
    printed = ekiden("client-config", "--client", "codex", "--server", "judge")
    written = ekiden("client-config", "--client", "codex", "--server", "judge", "--output", str(file))
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    assert file.read_text() == printed.stdout
    ekiden("client-config", "--client", "codex", "--http", "http://127.0.0.1:1", "--output", str(file))
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    assert {name: entry["url"] for name, entry in servers.items()} == {
        entry.name: f"http://127.0.0.1:1/{entry.name}/mcp" for entry in SERVERS
    }


def test_the_printed_command_is_one_that_starts_from_anywhere(tmp_path: Path) -> None:
    """Hosts search a shorter PATH than shells, so a program with a path of its own is named by it."""
    program = Path(sys.executable).parent / "ekiden"
    if not program.exists():
        pytest.skip("ekiden is not installed beside this Python")
    done = subprocess.run(
        [program, "client-config", "--client", "claude", "--server", "judge"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
    )
    entry = json.loads(done.stdout)["mcpServers"]["judge"]
    assert entry == {"type": "stdio", "command": str(program), "args": ["serve", "judge"]}
