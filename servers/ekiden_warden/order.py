"""What its owner tells a warden, as one line of JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self, cast


@dataclass(frozen=True, slots=True)
class View:
    """Which part of the file system a program sees; everything that it may not write is read-only.

    Attributes:
        covers: Folders and files that are replaced by empty ones, each with the folder shown instead or None; resolved.
        shows: Folders and files that stay visible, though a cover lies above them.
        writes: Folders that can be written; resolved.
    """

    covers: tuple[tuple[str, str | None], ...]
    shows: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One program to start.

    Attributes:
        argv: Program, by an absolute path, and arguments.
        environment: All of its environment.
        directory: Its working directory.
        stdout_fd: Inherited descriptor for its standard output.
        stderr_fd: Inherited descriptor for its standard error.
        file_bytes: Largest file it may write.
        processes: Most processes and threads it may have.
        view: What it sees of the file system; None leaves it as it is.
        isolations: The kinds of isolation to try, strongest first.
        stdin_fd: Inherited descriptor for its standard input; None gives it an empty one.
        deadline_s: Seconds after which the warden ends everything by itself, should its owner be asleep.
        network: Whether it may use the network; where there are namespaces, no means no interface at all.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    stdout_fd: int
    stderr_fd: int
    file_bytes: int
    processes: int
    view: View | None
    isolations: tuple[str, ...]
    stdin_fd: int | None = None
    deadline_s: float | None = None
    network: bool = True

    def to_line(self) -> bytes:
        """Return the order as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """Read what `to_line` wrote."""
        fields = cast("dict[str, Any]", json.loads(line))
        view = fields.pop("view")
        if view is not None:
            covers = tuple((path, shown) for path, shown in view["covers"])
            view = View(covers, tuple(view["shows"]), tuple(view["writes"]))
        argv, isolations = tuple(fields.pop("argv")), tuple(fields.pop("isolations"))
        return cls(**fields, argv=argv, isolations=isolations, view=view)
