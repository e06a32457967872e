"""One or more blueprint files, in order."""

from __future__ import annotations

import difflib
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from ekiden_blueprint.errors import BlueprintError
from ekiden_blueprint.parser import BlueprintFile, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ekiden_blueprint.model import BlueprintNode


_NONE_NEAR = "none resembles it"


class Project:
    """One or more blueprint files, whose nodes are looked up together."""

    def __init__(self, files: Iterable[BlueprintFile]) -> None:
        self.files = tuple(files)

    @classmethod
    def read(
        cls,
        paths: Sequence[str | Path],
        root: Path,
        *,
        source_folder: str = "",
        previous: Project | None = None,
    ) -> Project:
        """Read and parse files.

        Args:
            paths: The files in order, from `root` on or absolute; each must lie under `root`.
            root: The folder that paths are reported from.
            source_folder: The folder, from there on, that names of modules count from.
            previous: An earlier reading, from which unchanged commands are taken over.

        Raises:
            BlueprintError: A file lies elsewhere, cannot be read or is not UTF-8.
        """
        known = {file.source.path: file for file in previous.files} if previous else {}
        base = root.resolve()
        files: list[BlueprintFile] = []
        for given in paths:
            place = (base / given).resolve()
            if not place.is_relative_to(base):
                raise BlueprintError(f"{str(given)!r} is not under the project's folder; name a file in it.")
            path = place.relative_to(base).as_posix()
            try:
                text = place.read_bytes().decode("utf-8")
            except OSError as error:
                raise BlueprintError(f"Cannot read {path!r}: {error.strerror or error}. Check the name.") from error
            except UnicodeDecodeError as error:
                raise BlueprintError(
                    f"{path!r} is not UTF-8: byte {error.start} cannot be read. Save it as UTF-8."
                ) from error
            files.append(parse(text, path, source_folder=source_folder, previous=known.get(path)))
        return cls(files)

    @cached_property
    def nodes(self) -> tuple[BlueprintNode, ...]:
        """All nodes, in the order of the files."""
        return tuple(node for file in self.files for node in file.nodes)

    @cached_property
    def by_name(self) -> dict[str, tuple[BlueprintNode, ...]]:
        """The nodes of each Lean name; anonymous ones are left out."""
        found: defaultdict[str, list[BlueprintNode]] = defaultdict(list)
        for node in self.nodes:
            if node.name:
                found[node.full_name].append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def by_label(self) -> dict[str, tuple[BlueprintNode, ...]]:
        """The nodes of each label."""
        found: defaultdict[str, list[BlueprintNode]] = defaultdict(list)
        for node in self.nodes:
            if node.label:
                found[node.label].append(node)
        return {label: tuple(nodes) for label, nodes in found.items()}

    @cached_property
    def imported(self) -> dict[str, frozenset[str]]:
        """For each file the paths of those it imports, also by way of others; its own where imports go in a circle."""
        modules = {file.module: file.source.path for file in self.files}
        direct = {
            file.source.path: {
                modules[name]
                for command in file.commands
                if command.kind == "import"
                for name in command.names
                if name in modules
            }
            for file in self.files
        }
        found: dict[str, frozenset[str]] = {}
        for path, next_to in direct.items():
            seen, waiting = set[str](), [*next_to]
            while waiting:
                if (other := waiting.pop()) not in seen:
                    seen.add(other)
                    waiting += direct[other]
            found[path] = frozenset(seen)
        return found

    def file(self, path: str) -> BlueprintFile:
        """Give the file of this path.

        Raises:
            BlueprintError: There is none.
        """
        for file in self.files:
            if file.source.path == path:
                return file
        known = ", ".join(repr(file.source.path) for file in self.files)
        raise BlueprintError(f"No file {path!r} in this project; it has {known or 'none'}.")

    def node(self, name: str) -> BlueprintNode:
        """Give the node of this Lean name; the first one when there are several.

        Raises:
            BlueprintError: There is none.
        """
        if name in self.by_name:
            return self.by_name[name][0]
        raise BlueprintError(f"No node {name!r} in this blueprint; {nearest_names(self.nearest(name)) or _NONE_NEAR}.")

    def labelled(self, label: str) -> BlueprintNode:
        """Give the node of this label; the first one when there are several.

        Raises:
            BlueprintError: There is none.
        """
        if label in self.by_label:
            return self.by_label[label][0]
        close = difflib.get_close_matches(label, self.by_label, n=3, cutoff=0.5)
        raise BlueprintError(f"No node labelled {label!r} in this blueprint; {nearest_names(close) or _NONE_NEAR}.")

    def nearest(self, name: str) -> list[str]:
        """Give up to three node names that resemble this one."""
        return difflib.get_close_matches(name, self.by_name, n=3, cutoff=0.5)


def nearest_names(names: Sequence[str]) -> str:
    """Write what resembles a name that is not there, for a message; empty when nothing does."""
    if not names:
        return ""
    return f"the nearest {'is' if len(names) == 1 else 'are'} {', '.join(map(repr, names))}"
