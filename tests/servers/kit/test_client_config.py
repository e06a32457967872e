"""The hosts' files, rendered and merged."""

import json
import stat
import tomllib
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from ekiden_config import ServerSettings, default_settings
from ekiden_kit.client_config import Launch, merged, read_existing, write_whole
from ekiden_kit.errors import KitError
from ekiden_kit.table import SERVERS, ClientName, ServerEntry

SETTINGS = default_settings()
STDIO = Launch("/opt/ekiden", None)
HTTP = Launch.over_http("http://127.0.0.1:8765/mcp")
TALLY = ServerEntry(
    "tally", "tally:SERVER", "Counts.", startup_timeout_s=7, tool_timeout_s=70, environment=("TALLY_KEY",)
)


def rendered(client: ClientName, launch: Launch, existing: str = "") -> str:
    return merged(client, existing, [TALLY], launch, SETTINGS)


def test_codex_over_stdio() -> None:
    assert rendered("codex", STDIO) == snapshot("""\
[mcp_servers.tally]
command = "/opt/ekiden"
args = ["serve", "tally"]
env_vars = ["TALLY_KEY"]
required = true
startup_timeout_sec = 7
tool_timeout_sec = 70
default_tools_approval_mode = "approve"
""")


def test_codex_over_http() -> None:
    assert rendered("codex", HTTP) == snapshot("""\
[mcp_servers.tally]
url = "http://127.0.0.1:8765/tally/mcp"
bearer_token_env_var = "EKIDEN_HTTP_TOKEN"
required = true
startup_timeout_sec = 7
tool_timeout_sec = 70
default_tools_approval_mode = "approve"
""")


def test_claude_over_stdio() -> None:
    assert rendered("claude", STDIO) == snapshot("""\
{
  "mcpServers": {
    "tally": {
      "type": "stdio",
      "command": "/opt/ekiden",
      "args": [
        "serve",
        "tally"
      ],
      "env": {
        "TALLY_KEY": "${TALLY_KEY:-}"
      }
    }
  }
}
""")


def test_claude_over_http() -> None:
    assert rendered("claude", HTTP) == snapshot("""\
{
  "mcpServers": {
    "tally": {
      "type": "http",
      "url": "http://127.0.0.1:8765/tally/mcp",
      "headers": {
        "Authorization": "Bearer ${EKIDEN_HTTP_TOKEN}"
      }
    }
  }
}
""")


def test_vscode_over_stdio() -> None:
    assert rendered("vscode", STDIO) == snapshot("""\
{
  "servers": {
    "tally": {
      "type": "stdio",
      "command": "/opt/ekiden",
      "args": [
        "serve",
        "tally"
      ],
      "env": {
        "TALLY_KEY": "${env:TALLY_KEY}"
      }
    }
  }
}
""")


def test_vscode_over_http() -> None:
    assert rendered("vscode", HTTP) == snapshot("""\
{
  "servers": {
    "tally": {
      "type": "http",
      "url": "http://127.0.0.1:8765/tally/mcp",
      "headers": {
        "Authorization": "Bearer ${env:EKIDEN_HTTP_TOKEN}"
      }
    }
  }
}
""")


def test_settings_change_timeouts_and_tools() -> None:
    wishes = ServerSettings(disabled_tools=("tally_crash",), startup_timeout_s=1, tool_timeout_s=2)
    settings = SETTINGS.model_copy(update={"servers": {"tally": wishes}})
    entry = tomllib.loads(merged("codex", "", [TALLY], STDIO, settings))["mcp_servers"]["tally"]
    changed = {key: entry[key] for key in ("startup_timeout_sec", "tool_timeout_sec", "disabled_tools")}
    assert changed == {"startup_timeout_sec": 1, "tool_timeout_sec": 2, "disabled_tools": ["tally_crash"]}


TOML = """\
# mine
model = "gpt-5.5"   # keep

[mcp_servers.other]  # theirs
command = "other"

[mcp_servers.tally]
command = "old"

[projects."/ws"]
trust_level = "trusted"
"""


def test_merging_into_toml_keeps_what_the_user_wrote() -> None:
    assert rendered("codex", STDIO, TOML) == snapshot("""\
# mine
model = "gpt-5.5"   # keep

[mcp_servers.other]  # theirs
command = "other"

[mcp_servers.tally]
command = "/opt/ekiden"
args = ["serve", "tally"]
env_vars = ["TALLY_KEY"]
required = true
startup_timeout_sec = 7
tool_timeout_sec = 70
default_tools_approval_mode = "approve"

[projects."/ws"]
trust_level = "trusted"
""")


def test_merging_into_json_keeps_what_the_user_wrote() -> None:
    existing = json.dumps({"inputs": [1], "servers": {"other": {"command": "ä"}, "tally": {"command": "old"}}})
    assert rendered("vscode", STDIO, existing) == snapshot("""\
{
  "inputs": [
    1
  ],
  "servers": {
    "other": {
      "command": "ä"
    },
    "tally": {
      "command": "/opt/ekiden",
      "type": "stdio",
      "args": [
        "serve",
        "tally"
      ],
      "env": {
        "TALLY_KEY": "${env:TALLY_KEY}"
      }
    }
  }
}
""")


def test_what_the_user_added_to_an_entry_survives_a_change_of_transport() -> None:
    added = '[mcp_servers.tally.tools.tally_add]\napproval_mode = "prompt"\n'
    servers = tomllib.loads(rendered("codex", HTTP, rendered("codex", STDIO) + added))["mcp_servers"]
    assert servers == {
        "tally": {
            **tomllib.loads(rendered("codex", HTTP))["mcp_servers"]["tally"],
            "env_vars": ["TALLY_KEY"],
            "tools": {"tally_add": {"approval_mode": "prompt"}},
        }
    }


@pytest.mark.parametrize("client", ["codex", "claude", "vscode"])
@pytest.mark.parametrize("launch", [STDIO, HTTP])
def test_merging_twice_changes_nothing(client: ClientName, launch: Launch) -> None:
    once = merged(client, "", SERVERS, launch, SETTINGS)
    assert merged(client, once, SERVERS, launch, SETTINGS) == once


@pytest.mark.parametrize(
    ("client", "existing"),
    [
        ("codex", "a = "),
        ("codex", "mcp_servers = 3"),
        ("codex", "mcp_servers.mine.command = 'a'\nmcp_servers.other.command = 'b'"),
        ("claude", "// note\n{}"),
        ("claude", "[]"),
        ("vscode", '{"servers": []}'),
        ("vscode", "[" * 100_000),
    ],
)
def test_a_file_that_the_host_could_not_read_is_left_alone(client: ClientName, existing: str) -> None:
    with pytest.raises(KitError, match="The file to merge into"):
        rendered(client, STDIO, existing)


def test_a_file_is_replaced_whole_with_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "config.toml"
    write_whole(file, "a = 1\r\n")
    file.chmod(0o600)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    write_whole(link, "b = 2\n")
    assert link.is_symlink()
    assert read_existing(file) == "b = 2\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("place", ["config.toml/below.toml", "."])
def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "config.toml").touch()
    with pytest.raises(KitError, match="Cannot write"):
        write_whole(tmp_path / place, "a = 1\n")


@pytest.mark.parametrize("url", ["127.0.0.1:8765", "ftp://127.0.0.1", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(KitError, match="does not begin with 'http://'"):
        Launch.over_http(url)


def test_line_ends_survive(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    write_whole(file, "a = 1\r\n")
    assert read_existing(file) == "a = 1\r\n"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(KitError, match="Cannot read the file to merge into"):
        read_existing(tmp_path / "config.toml")
