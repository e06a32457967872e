"""The files with which hosts find the servers, rendered from the table and merged into what the user has."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

import ekiden_files
from ekiden_config import ServerSettings, Settings
from ekiden_kit.errors import KitError
from ekiden_kit.table import TOKEN_VARIABLE, ClientName, ServerEntry

Table = dict[str, Any]

_REACH = {"type", "command", "args", "url", "bearer_token_env_var", "headers"}
_SECTION = {"codex": "mcp_servers", "claude": "mcpServers", "vscode": "servers"}


class Launch(NamedTuple):
    """How a host reaches the servers: by starting the command, or at the address of a running one."""

    command: str | None
    url: str | None

    @classmethod
    def over_stdio(cls, program: str) -> "Launch":
        """Start a program, by its absolute path when it has one: hosts search a shorter `PATH` than shells."""
        path = Path(program)
        return cls(str(path.absolute()) if path.name == "ekiden" and path.exists() else "ekiden", None)

    @classmethod
    def over_http(cls, url: str) -> "Launch":
        """Connect to `ekiden serve --http` at an address, with or without `/mcp` at its end.

        Raises:
            KitError: If it is no such address.
        """
        if not url.startswith(("http://", "https://")):
            raise KitError(f"The address {url!r} does not begin with 'http://' or 'https://'.")
        return cls(None, url.rstrip("/").removesuffix("/mcp"))


def merged(client: ClientName, existing: str, served: Iterable[ServerEntry], launch: Launch, settings: Settings) -> str:
    """Return a host's file with the servers' entries put in, and everything else as it was.

    Args:
        client: The host.
        existing: The text of the file as it is; empty when there is none.
        served: The servers to put in; of entries with the same name, the rendered keys are replaced.
        launch: How the host reaches them.
        settings: Timeouts and disabled tools.

    Raises:
        KitError: If the existing text is not what the host reads.
    """
    render = {"codex": _codex, "claude": _claude, "vscode": _vscode}[client]
    rendered = {
        entry.name: render(entry, launch, settings.servers.get(entry.name, ServerSettings())) for entry in served
    }
    section = _SECTION[client]
    return _merged_toml(existing, section, rendered) if client == "codex" else _merged_json(existing, section, rendered)


def read_existing(file: Path) -> str:
    """Return the text of a file to merge into, line ends included; empty when there is none.

    Raises:
        KitError: If it cannot be read.
    """
    try:
        return file.read_bytes().decode("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"Cannot read the file to merge into, {str(file)!r}: {error}.") from error


def write_whole(file: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it, keeping its permissions and following a link.

    Raises:
        KitError: If it cannot be written.
    """
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        ekiden_files.write_whole(target, text)
    except OSError as error:
        raise KitError(f"Cannot write {str(file)!r}: {error.strerror or type(error).__name__}.") from error


def _codex(entry: ServerEntry, launch: Launch, wishes: ServerSettings) -> Table:
    # `required` is not cosmetic: Codex starts a turn without an optional server that takes over a second, and says so
    # nowhere. `approve` lets unattended runs call tools that are not read-only.
    reach: Table
    if launch.url is not None:
        reach = {"url": _address(launch.url, entry), "bearer_token_env_var": TOKEN_VARIABLE}
    else:
        reach = {"command": launch.command, "args": ["serve", entry.name]}
        if entry.environment:
            reach["env_vars"] = list(entry.environment)
    return {
        **reach,
        "required": True,
        "startup_timeout_sec": wishes.startup_timeout_s or entry.startup_timeout_s,
        "tool_timeout_sec": wishes.tool_timeout_s or entry.tool_timeout_s,
        "default_tools_approval_mode": "approve",
        **({"disabled_tools": list(wishes.disabled_tools)} if wishes.disabled_tools else {}),
    }


def _claude(entry: ServerEntry, launch: Launch, wishes: ServerSettings) -> Table:
    del wishes  # Claude Code has its timeouts in its environment
    # A variable that is not set stays as written without a default, and the server would take that for its value.
    return _json_reach(entry, launch, f"${{{TOKEN_VARIABLE}}}", "${%s:-}")


def _vscode(entry: ServerEntry, launch: Launch, wishes: ServerSettings) -> Table:
    del wishes  # VS Code has no timeouts in this file
    return _json_reach(entry, launch, f"${{env:{TOKEN_VARIABLE}}}", "${env:%s}")


def _json_reach(entry: ServerEntry, launch: Launch, token: str, variable: str) -> Table:
    if launch.url is not None:
        headers = {"Authorization": f"Bearer {token}"}
        return {"type": "http", "url": _address(launch.url, entry), "headers": headers}
    reach: Table = {"type": "stdio", "command": launch.command, "args": ["serve", entry.name]}
    if entry.environment:
        reach["env"] = {name: variable % name for name in entry.environment}
    return reach


def _address(url: str, entry: ServerEntry) -> str:
    return f"{url}/{entry.name}/mcp"


def _merged_toml(existing: str, section: str, rendered: Mapping[str, Table]) -> str:
    try:
        document, meant = tomlkit.parse(existing), tomllib.loads(existing)
    except (TOMLKitError, tomllib.TOMLDecodeError) as error:
        raise KitError(f"The file to merge into is not TOML: {error}.") from error
    if section not in document:
        document[section] = tomlkit.table(is_super_table=True)
    servers = document[section]
    if not isinstance(servers, dict):
        raise KitError(f"The file to merge into has {section!r} that is not a table.")
    _put(cast("Table", servers), rendered)
    text = tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]  # its parameters are partly untyped
    _put(meant.setdefault(section, {}), rendered)
    if not _says(text, meant):  # tomlkit misplaces tables that are added to one of dotted keys
        raise KitError(
            f"The file to merge into writes {section!r} in a way that cannot be added to; give each server in it a "
            f"table of its own, headed [{section}.NAME]."
        )
    return text


def _says(text: str, meant: Table) -> bool:
    try:
        return tomllib.loads(text) == meant
    except tomllib.TOMLDecodeError:
        return False


def _merged_json(existing: str, section: str, rendered: Mapping[str, Table]) -> str:
    try:
        document: object = json.loads(existing) if existing.strip() else {}
    except (ValueError, RecursionError) as error:
        raise KitError(f"The file to merge into is not JSON: {error}. Comments, if any, must go.") from error
    if not isinstance(document, dict) or not isinstance(cast("Table", document).get(section, {}), dict):
        raise KitError(f"The file to merge into must be a JSON object whose {section!r} is an object.")
    whole = cast("Table", document)
    _put(whole.setdefault(section, {}), rendered)
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _put(servers: Table, rendered: Mapping[str, Table]) -> None:
    """Put entries in; what the user added to one of them stays, unless it says how to reach the server."""
    for name, entry in rendered.items():
        old: object = servers.get(name)
        if not isinstance(old, dict):
            servers[name] = entry
            continue
        for key in _REACH - entry.keys():
            cast("Table", old).pop(key, None)
        cast("Table", old).update(entry)
