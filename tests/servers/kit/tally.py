"""A small server for the kit's own tests: it counts, refuses, crashes and waits."""

import os
import subprocess
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from ekiden_config import Settings
from ekiden_kit.build import state_of
from ekiden_kit.definition import ServerDefinition, ToolDefinition


class TallyError(Exception):
    """A refusal that the model may read."""


class Part(BaseModel):
    """One addend."""

    value: int = Field(description="The addend.")


class Sum(BaseModel):
    """A sum and what went into it."""

    total: int = Field(description="The sum.")
    parts: list[Part] = Field(description="What was added, in order.")


class Pid(BaseModel):
    """A process."""

    pid: int = Field(description="Its number.")


class Tally:
    """What the server keeps between calls."""

    def __init__(self) -> None:
        self.calls = 0


@asynccontextmanager
async def keeping_count(_settings: Settings) -> AsyncGenerator[Tally, None]:
    yield Tally()


def tally_add(
    parts: Annotated[list[Part], Field(description="What to add.")],
    sign: Annotated[Literal["plus", "minus"], Field(description="Sign of the sum.")] = "plus",
) -> Sum:
    """Add numbers.

    Raises:
        TallyError: If a number is negative.
    """
    for part in parts:
        if part.value < 0:
            raise TallyError(f"Cannot add {part.value!r}; give numbers that are not negative.")
    total = sum(part.value for part in parts)
    return Sum(total=total if sign == "plus" else -total, parts=parts)


def tally_crash() -> Sum:
    """Fail in a way nobody anticipated."""
    raise RuntimeError("the password is hunter2")


async def tally_count(ctx: Context[Any, Any]) -> Sum:
    """Count calls of this tool since the server started."""
    tally = state_of(ctx, Tally)
    tally.calls += 1
    await ctx.report_progress(1, 1)
    return Sum(total=tally.calls, parts=[])


async def tally_wait(ctx: Context[Any, Any]) -> Pid:
    """Start a child that never ends, say its number as progress, and wait for it."""
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)  # started at once
    await ctx.report_progress(child.pid)
    await anyio.sleep_forever()
    return Pid(pid=os.getpid())


def tally_block() -> Pid:
    """Keep a worker thread busy for ever; nothing can interrupt it."""
    threading.Event().wait()
    return Pid(pid=os.getpid())


SERVER = ServerDefinition(
    name="tally",
    title="Tally",
    instructions="Counts and adds.",
    tools=(
        ToolDefinition(tally_add, title="Add numbers"),
        ToolDefinition(tally_crash, title="Crash"),
        ToolDefinition(tally_count, title="Count calls", read_only=False, idempotent=False),
        ToolDefinition(tally_wait, title="Wait for ever"),
        ToolDefinition(tally_block, title="Block for ever"),
    ),
    errors=(TallyError,),
    lifespan=keeping_count,
)
