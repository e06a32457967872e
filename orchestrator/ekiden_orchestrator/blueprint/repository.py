"""Reading a git repository: commits, what merging two gives, which files differ, and their bytes.

Nothing is written to the repository: new objects go to a folder of their own. No hook runs, and nothing of a commit is
checked out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ekiden_orchestrator.errors import CommandError
from ekiden_policies.blueprint_roles import PathChange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

WORKTREE = "WORKTREE"
"""Stands for the files as they are in the working tree, as if they were committed."""

_MOST_BYTES = 32 << 20
_SAFE = (
    *("--no-replace-objects", "--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never", "-c", "core.quotePath=false", "-c", "merge.renames=false", "-c", "gc.auto=0"),
)
_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ekiden"), ("EMAIL", "ekiden@localhost"), ("DATE", "@0 +0000"))
}
_REGULAR = "100644"
_NO_FILE = "000000"


class Merged(NamedTuple):
    """Two commits, and the tree that merging them gives; `conflicts` names the files that stand in the way."""

    base: str
    head: str
    tree: str
    conflicts: tuple[str, ...] = ()


class Repository:
    """A git repository, looked at from a folder in it; to be used as a context manager.

    Args:
        folder: A folder of the working tree.

    Raises:
        CommandError: The folder is in no working tree, or there is no git.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects = tempfile.TemporaryDirectory(prefix="ekiden-objects-")
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **_NOBODY}
        try:
            self.root = Path(self._text("rev-parse", "--show-toplevel"))
            objects = (folder / self._text("rev-parse", "--git-path", "objects")).resolve()
        except _GitError as error:
            self._objects.cleanup()
            raise CommandError(f"{str(folder)!r} is in no git working tree; `--base` and `--head` need one.") from error
        self._environment |= {
            "GIT_OBJECT_DIRECTORY": self._objects.name,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }

    def __enter__(self) -> Self:
        """Return the repository itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what was made for looking."""
        self._objects.cleanup()

    def commit(self, ref: str) -> str:
        """Return the hash of the commit that a ref names.

        Raises:
            CommandError: It names none.
        """
        try:
            return self._text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        except _GitError as error:
            raise CommandError(f"{ref!r} names no commit here; fetch it, or name a branch, a tag or a hash.") from error

    def commit_of_working_tree(self, files: Iterable[str]) -> str:
        """Return the hash of a commit, kept nowhere, of the working tree: what is tracked, and these files.

        Raises:
            CommandError: There is no commit yet, or a file cannot be read.
        """
        parent = self.commit("HEAD")
        with tempfile.TemporaryDirectory(prefix="ekiden-index-") as folder:
            index = Path(folder) / "index"
            own = self._folder / self._text("rev-parse", "--git-path", "index")
            if own.is_file():
                shutil.copyfile(own, index)
            use = {"GIT_INDEX_FILE": str(index)}
            present = [file for file in files if (self.root / file).is_file()]
            try:
                self._text("add", "--update", "--", ":/", more=use)
                if present:
                    self._text("add", "--force", "--", *(f":(top,literal){file}" for file in present), more=use)
                tree = self._text("write-tree", more=use)
            except _GitError as error:
                raise CommandError(f"The working tree cannot be read: {error}.") from error
        return self._text("commit-tree", tree, "-p", parent, "-m", "working tree")

    def merged(self, base: str, head: str) -> Merged:
        """Merge a commit into another one, without touching either.

        Raises:
            CommandError: They have nothing in common, or git is too old.
        """
        done = self._run("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base, head)
        parts = [part for part in done.stdout.decode("utf-8", "surrogateescape").split("\0") if part]
        if done.returncode == 0 and parts:
            return Merged(base, head, parts[0].strip())
        if done.returncode == 1 and parts:
            return Merged(base, head, parts[0].strip(), tuple(dict.fromkeys(parts[1:])))
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CommandError(f"git cannot merge {head!r} into {base!r}: {said[0] if said else 'it says nothing'}.")

    def differing(self, base: str, tree: str, blueprint: Collection[str]) -> list[PathChange]:
        """Return the files that differ; one that was renamed counts as removed and as added."""
        listed = self._bytes("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", base, tree)
        fields = listed.decode("utf-8", "surrogateescape").split("\0")
        found: list[PathChange] = []
        for described, path in zip(fields[0::2], fields[1::2], strict=False):
            before, after = described.removeprefix(":").split()[:2]
            event = "added" if before == _NO_FILE else "removed" if after == _NO_FILE else "changed"
            found.append(PathChange(path, event, path in blueprint, after in (_REGULAR, _NO_FILE)))
        return found

    def paths(self, tree: str) -> list[str]:
        """Return all files of a tree, sorted."""
        listed = self._bytes("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
        return sorted(path for path in listed.decode("utf-8", "surrogateescape").split("\0") if path)

    def read(self, tree: str, path: str) -> bytes | None:
        """Return the bytes of a file, or None where the tree has no such plain file.

        Raises:
            CommandError: It is too big.
        """
        described = self._bytes("ls-tree", "-z", "-l", "--full-tree", tree, "--", f":(literal){path}")
        fields = described.decode("utf-8", "surrogateescape").split("\0")[0].split(None, 4)
        if len(fields) < 5 or fields[1] != "blob" or not fields[0].startswith("100"):
            return None
        if int(fields[3]) > _MOST_BYTES:
            raise CommandError(f"{path!r} has {int(fields[3]):,} bytes; at most {_MOST_BYTES:,} are read.")
        return self._bytes("cat-file", "blob", fields[2])

    def _text(self, *arguments: str, more: Mapping[str, str] | None = None) -> str:
        return self._bytes(*arguments, more=more).decode("utf-8", "surrogateescape").strip()

    def _bytes(self, *arguments: str, more: Mapping[str, str] | None = None) -> bytes:
        done = self._run(*arguments, more=more)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise _GitError(said[0].removeprefix("fatal: ") if said else f"git ended with {done.returncode}")
        return done.stdout

    def _run(self, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        command: Sequence[str] = ("git", *_SAFE, *arguments)
        environment = {**self._environment, **(more or {})}
        try:
            return subprocess.run(
                command, cwd=self._folder, env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL
            )
        except OSError as error:
            self._objects.cleanup()
            raise CommandError(f"git cannot be started: {error.strerror}. Install it.") from error


class _GitError(Exception):
    """Git refused; its first line says why."""
