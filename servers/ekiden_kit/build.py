"""Building an MCP server from definitions: the one place where tools, schemas and errors meet the SDK."""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_kit.errors import KitError, nearest
from ekiden_kit.schema import flat
from ekiden_kit.table import SERVERS

if TYPE_CHECKING:
    from ekiden_config import Settings

States = tuple[object, ...]
"""What the lifespans of the served definitions yielded."""
State = TypeVar("State")

_SHOWN_VALUE = 200
"""Characters of a rejected value that an error message repeats."""


class EkidenServer(MCPServer[States]):
    """An SDK server that refuses unknown arguments, explains refusals, and says all as text and as data alike."""

    def __init__(self, definitions: Sequence[ServerDefinition], settings: "Settings", states: States | None) -> None:
        first = definitions[0]
        alone = len(definitions) == 1
        self._tools = dict(_tools(definitions, settings))
        self._own_texts = {tool.name for definition in definitions for tool in definition.tools if tool.own_text}
        self._errors = {tool.name: definition.errors for definition in definitions for tool in definition.tools}

        @asynccontextmanager
        async def lifespan(_server: MCPServer[States]) -> AsyncGenerator[States, None]:
            if states is not None:
                yield states
            else:
                async with running_states(definitions, settings) as own:
                    yield own

        super().__init__(
            name=first.name if alone else "ekiden",
            title=first.title if alone else "Ekiden",
            instructions=first.instructions if alone else _joint_instructions(definitions),
            version=version("ekiden"),
            tools=list(self._tools.values()),
            lifespan=lifespan,
            log_level="WARNING",
            subscriptions=False,  # what a server offers never changes while it runs
        )

    @property
    def lowlevel(self) -> Server[States]:
        """Return the server underneath, which transports drive."""
        return self._lowlevel_server

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[States, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by name.

        Raises:
            ToolError: If there is no such tool, an argument is unknown or wrong, or the tool refuses.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"No tool {name!r} here; {nearest(name, self._tools)}")
        known = tuple(tool.parameters["properties"])
        for argument in arguments:
            if argument not in known:
                raise ToolError(f"Tool {name!r} has no argument {argument!r}; {nearest(argument, known)}")
        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise _explained(name, error, self._errors[name]) from error.__cause__
        if name in self._own_texts:
            return result
        if isinstance(result, CallToolResult) and result.structured_content is not None:
            text = json.dumps(result.structured_content, ensure_ascii=False)
            return result.model_copy(update={"content": [TextContent(type="text", text=text)]})
        return result


def build_server(
    definitions: Sequence[ServerDefinition], settings: "Settings", *, states: States | None = None
) -> EkidenServer:
    """Build one MCP server that offers the tools of one or several definitions.

    Args:
        definitions: What to serve; at least one.
        settings: Which tools are switched off, which descriptions replaced, and what lifespans read.
        states: What the definitions' lifespans yielded, when somebody else runs them; by default the server does.

    Raises:
        KitError: If two tools share a name, or the settings name a tool that does not exist.
    """
    return EkidenServer(definitions, settings, states)


@asynccontextmanager
async def running_states(definitions: Iterable[ServerDefinition], settings: "Settings") -> AsyncGenerator[States, None]:
    """Run the lifespans of definitions, and yield what they yielded."""
    async with AsyncExitStack() as stack:
        yield tuple(
            [
                await stack.enter_async_context(definition.lifespan(settings))
                for definition in definitions
                if definition.lifespan is not None
            ]
        )


def state_of(context: Context[Any, Any], kind: type[State]) -> State:
    """Return the object of some type that a lifespan of the called server yielded.

    Raises:
        KitError: If no lifespan yielded one.
    """
    for state in context.request_context.lifespan_context:
        if isinstance(state, kind):
            return state
    raise KitError(f"No lifespan of this server yields {kind.__name__!r}.")


def _tools(definitions: Sequence[ServerDefinition], settings: "Settings") -> Iterable[tuple[str, Tool]]:
    homes: dict[str, str] = {}
    known = {entry.name for entry in SERVERS} | {definition.name for definition in definitions}
    for name in settings.servers.keys() - known:
        raise KitError(f"The settings name a server {name!r}; {nearest(name, sorted(known))}")
    for definition in definitions:
        wishes = settings.servers.get(definition.name)
        disabled = wishes.disabled_tools if wishes else ()
        descriptions: Mapping[str, str] = wishes.descriptions if wishes else {}
        names = [tool.name for tool in definition.tools]
        for wish in (*disabled, *descriptions):
            if wish not in names:
                raise KitError(
                    f"The settings of server {definition.name!r} name the tool {wish!r}; {nearest(wish, names)}"
                )
        for tool in definition.tools:
            if tool.name in homes:
                raise KitError(f"Servers {homes[tool.name]!r} and {definition.name!r} both offer {tool.name!r}.")
            homes[tool.name] = definition.name
            if tool.name not in disabled:
                yield tool.name, _sdk_tool(tool, descriptions.get(tool.name))


def _sdk_tool(definition: ToolDefinition, description: str | None) -> Tool:
    tool = Tool.from_function(
        definition.function,
        title=definition.title,
        description=description or definition.description,
        annotations=ToolAnnotations(
            read_only_hint=definition.read_only,
            destructive_hint=definition.destructive,
            idempotent_hint=definition.idempotent,
            open_world_hint=definition.open_world,
        ),
        structured_output=True,
    )
    tool.parameters = {"properties": {}, **flat(tool.parameters), "additionalProperties": False}
    if tool.fn_metadata.output_schema is not None:
        tool.fn_metadata.output_schema = flat(tool.fn_metadata.output_schema)
    return tool


def _joint_instructions(definitions: Sequence[ServerDefinition]) -> str:
    overview = "; ".join(f"{definition.name}: {definition.title}" for definition in definitions)
    parts = [f"## {definition.name}\n\n{definition.instructions}" for definition in definitions]
    return "\n\n".join((f"Several servers in one. {overview}.", *parts))


def _explained(tool: str, error: ToolError, anticipated: tuple[type[Exception], ...]) -> ToolError:
    """Return the error that the model reads, in place of the one that the SDK made of what was raised."""
    cause = error.__cause__
    if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
        return ToolError(" ".join(_sentence(dict(flaw)) for flaw in cause.errors(include_url=False)))
    if isinstance(cause, anticipated) or (isinstance(cause, ToolError) and not isinstance(cause, UnexpectedToolError)):
        return ToolError(str(cause) or type(cause).__name__)
    return UnexpectedToolError(
        f"Tool {tool!r} crashed. This is a defect of the server, not of the call; the same call will fail again. "
        "The server's log says more."
    )


def _sentence(flaw: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in flaw["loc"])
    if flaw["type"] == "missing":
        return f"Argument {where!r} is missing."
    given = repr(flaw["input"])
    shown = given if len(given) <= _SHOWN_VALUE else given[:_SHOWN_VALUE] + "..."
    return f"Argument {where!r} is {shown}: {flaw['msg']}."
