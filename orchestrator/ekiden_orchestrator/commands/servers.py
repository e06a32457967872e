"""`ekiden serve`, `call`, `tools` and `client-config`: the servers, from the shell."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ekiden_kit.table import ClientName, entries
from ekiden_orchestrator.errors import CommandError

app = typer.Typer()

_Server = Annotated[str, typer.Argument(help="The server's name; `ekiden tools` lists them.", show_default=False)]


@app.command()
def serve(
    names: Annotated[list[str], typer.Argument(help="The servers; several are served as one.", show_default=False)],
    *,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP, for many clients at once.")] = False,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="With --http: the port; 0 is any.")] = None,
) -> None:
    """Serve MCP servers, over the standard streams unless --http is given.

    Over HTTP all of them are at /mcp and each alone at /NAME/mcp, for clients with the bearer token in
    EKIDEN_HTTP_TOKEN; without that variable a token is made up and said once.
    """
    served = entries(names)
    if not http:
        if port is not None:
            raise CommandError("--port goes with --http.")
        from ekiden_kit.front_desk import serve as serve_streams

        raise typer.Exit(serve_streams(served))
    from ekiden_config import load_settings
    from ekiden_kit.http import serve_http

    settings = load_settings({"http": {"port": port}})
    raise typer.Exit(serve_http([entry.load() for entry in served], settings))


@app.command()
def call(
    server: _Server,
    tool: Annotated[str, typer.Argument(help="The tool's name.", show_default=False)],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="The tool's arguments as a JSON object; '-' reads them from stdin.")
    ] = "{}",
    *,
    url: Annotated[str | None, typer.Option(help="Call a running `ekiden serve --http` at this address.")] = None,
) -> None:
    """Call any tool and print its structured answer as JSON."""
    import anyio

    from ekiden_config import load_settings
    from ekiden_orchestrator.tool_client import ToolRefusedError, call_tool

    parsed = _json_object(sys.stdin.read() if arguments == "-" else arguments)
    try:
        answer = anyio.run(call_tool, server, tool, parsed, load_settings(), url)
    except ToolRefusedError as refusal:
        typer.echo(str(refusal), err=True)
        raise typer.Exit(1) from None
    if sys.stdout.isatty():
        from rich import print_json

        print_json(data=answer)
    else:
        typer.echo(json.dumps(answer, ensure_ascii=False))


@app.command()
def tools(
    server: Annotated[
        str | None, typer.Argument(help="Only this server's, with their parameters.", show_default=False)
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the listing that a host gets.")] = False,
) -> None:
    """List the servers and their tools."""
    import anyio

    from ekiden_config import load_settings
    from ekiden_orchestrator.tool_client import list_tools

    settings = load_settings()
    offered = {entry: anyio.run(list_tools, entry.name, settings) for entry in entries([server] if server else [])}
    if as_json:
        listing = {
            entry.name: [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]
            for entry, found in offered.items()
        }
        typer.echo(json.dumps(listing, ensure_ascii=False))
        return
    for entry, found in offered.items():
        typer.echo(f"{entry.name}: {entry.summary}")
        for tool in found:
            typer.echo(f"  {tool.name}  {(tool.description or '').splitlines()[0]}")
            properties = cast("dict[str, dict[str, Any]]", tool.input_schema.get("properties", {}))
            for name, schema in properties.items() if server else ():
                typer.echo(f"      {name}: {schema.get('description', '')}")


@app.command("client-config")
def client_config(
    *,
    client: Annotated[ClientName, typer.Option(help="The host whose file to render.")],
    server: Annotated[list[str] | None, typer.Option(help="Only this server; may be repeated.")] = None,
    http: Annotated[
        str | None, typer.Option(metavar="URL", help="Use a running `ekiden serve --http` at this address.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Merge into this file, keeping what else it holds.")
    ] = None,
) -> None:
    """Render the file with which Codex, Claude Code or VS Code finds the servers."""
    from ekiden_config import load_settings
    from ekiden_kit.client_config import Launch, merged, read_existing, write_whole

    launch = Launch.over_http(http) if http else Launch.over_stdio(sys.argv[0])
    existing = read_existing(output) if output else ""
    text = merged(client, existing, entries(server or ()), launch, load_settings())
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_whole(output, text)


def _json_object(text: str) -> dict[str, Any]:
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(parsed, dict):
        raise CommandError(f"The arguments must be a JSON object, not {text[:80]!r}.")
    return cast("dict[str, Any]", parsed)
