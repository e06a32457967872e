"""What a server is, said without importing the MCP SDK: its name, its tools, and what may go wrong in them."""

import inspect
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_config import Settings

Lifespan = Callable[["Settings"], AbstractAsyncContextManager[object]]
"""Makes what a server keeps between calls (pools, ledgers, watchers); `state_of` hands it to the tools."""

_DOCSTRING_SECTION = re.compile(r"\n\s*(Args|Returns|Raises|Yields|Example|Examples):\n")


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool: a function, and what a host may assume about calling it.

    The function's name is the tool's name and its docstring, up to the first section, the tool's description. Its
    parameters are `Annotated[..., Field(description=...)]`, it returns a pydantic model, and it may ask for the call's
    `ctx: Context`. A plain `def` runs on a worker thread.

    Attributes:
        function: The function to run.
        title: What people see in place of the name.
        read_only: Whether a call changes nothing; hosts let such tools pass unattended.
        destructive: Whether a call may overwrite or delete something.
        idempotent: Whether calling twice with the same arguments does no more than calling once.
        open_world: Whether the tool reaches beyond this machine.
        own_text: Whether the function makes its whole result, whose text others depend on. Else the text is the data.
    """

    function: Callable[..., object]
    title: str
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False
    own_text: bool = False

    @property
    def name(self) -> str:
        """Return the tool's name."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """Return what a model reads about the tool, before any replacement by configuration."""
        return _DOCSTRING_SECTION.split(inspect.getdoc(self.function) or "", maxsplit=1)[0].strip()


@dataclass(frozen=True, slots=True)
class ServerDefinition:
    """One MCP server: what it is called, what a model should know about it, and its tools.

    Attributes:
        name: The server's name in the table and for its hosts.
        title: What people see in place of the name.
        instructions: What a model reads before using the tools; the first 512 characters stand alone.
        tools: The tools.
        errors: Exceptions whose message is meant for the model; any other one counts as a crash and stays hidden.
        lifespan: Makes what the server keeps between calls.
    """

    name: str
    title: str
    instructions: str
    tools: tuple[ToolDefinition, ...]
    errors: tuple[type[Exception], ...] = ()
    lifespan: Lifespan | None = None
