"""The files of one agent: which it may edit, what it did to them, and the way back."""

from __future__ import annotations

import difflib
from collections import deque
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from ekiden_blueprint import parse
from ekiden_patch.applying import Applied, apply_patch
from ekiden_patch.comparing import new_problems
from ekiden_patch.errors import PatchError
from ekiden_patch.files import Snapshot, Undo, read_snapshot, sha256_of, undo_change, write_text
from ekiden_patch.grammar import check_target, parse_patch
from ekiden_patch.guard import NodeGuard
from ekiden_patch.refusals import out_of_scope
from ekiden_patch.settings import ScopedWorkspace, label_of
from ekiden_policies.edit_scope import EditableSpan, FileScope, judge_new_problems

if TYPE_CHECKING:
    from ekiden_patch.grammar import Patch
    from ekiden_patch.matching import Ambiguity
    from ekiden_patch.scopes import NodeView

KEPT_CHANGES = 20
"""How many patches of a file can be taken back."""


class Change(NamedTuple):
    """What a patch did, or would do, to a file.

    Attributes:
        label: The file.
        old_text: Its text before.
        new_text: Its text after.
    """

    label: str
    old_text: str
    new_text: str

    @property
    def sha256(self) -> str:
        """The hash of the text after."""
        return sha256_of(self.new_text)

    @property
    def diff(self) -> str:
        """A unified diff with one line of context."""
        names = (f"a/{self.label}", f"b/{self.label}")
        old, new = (text.split("\n") for text in (self.old_text, self.new_text))
        return "\n".join(difflib.unified_diff(old, new, *names, n=1, lineterm=""))


class Editable(NamedTuple):
    """What of a file may be edited; no spans when all of it may be.

    Attributes:
        scope: The file and its node.
        snapshot: The file as it is.
        spans: What may be edited of the node.
    """

    scope: FileScope
    snapshot: Snapshot
    spans: tuple[EditableSpan, ...]


class Workspace:
    """Carries out patches inside a scope; one call at a time."""

    def __init__(self, scoped: ScopedWorkspace, *, lock_folder: Path | None = None) -> None:
        """Look at every node of the scope: from now on the text around it is frozen.

        Args:
            scoped: The folder and what may be edited in it.
            lock_folder: Where locks are kept; see `write_text`.

        Raises:
            PatchError: A file cannot be read, or has no such node.
        """
        self._root, self._scope = scoped
        self._lock_folder = lock_folder
        self._turn = Lock()  # guards the guards and the changes
        self._files = {scope.path: scope for scope in self._scope.files}
        self._guards = {
            scope.path: NodeGuard(scope, read_snapshot(self._root / scope.path).text)
            for scope in self._scope.files
            if scope.node
        }
        self._changes: dict[str, deque[Undo]] = {}

    def apply(
        self, text: str, path: str = "", *, sha256: str = "", ambiguity: Ambiguity = "refuse", dry_run: bool = False
    ) -> Change:
        """Apply a patch.

        Args:
            text: The patch.
            path: The file; may be empty when there is a primary file, or when the patch names its file.
            sha256: The hash that the file must have; empty for any.
            ambiguity: What becomes of a chunk that fits in several places.
            dry_run: Whether to write nothing.

        Raises:
            PatchError: The patch is refused; nothing was written.
        """
        with self._turn:
            patch = parse_patch(text)
            scope = self._chosen(path, patch.path)
            self._check_target(patch, scope, path)
            snapshot = read_snapshot(self._root / scope.path, sha256=sha256 or None)
            applied = self._judged(scope, snapshot, patch, ambiguity, known=bool(sha256))
            change = Change(scope.path, snapshot.text, applied.text)
            if not dry_run:
                undo = write_text(snapshot, applied.text, lock_folder=self._lock_folder)
                self._changes.setdefault(scope.path, deque(maxlen=KEPT_CHANGES)).append(undo)
                self._see(scope, applied.text)
            return change

    def editable(self, path: str = "") -> Editable:
        """Return what of a file may be edited.

        Raises:
            PatchError: It may not be edited, or others changed it; then the hash to go on with is in the details.
        """
        with self._turn:
            scope = self._chosen(path, None)
            snapshot = read_snapshot(self._root / scope.path)
            guard = self._guards.get(scope.path)
            return Editable(scope, snapshot, guard.view(snapshot.text, known=True).spans if guard else ())

    def undo(self, path: str = "", *, sha256: str = "") -> Change:
        """Take back the last patch of a file that has not been taken back.

        Raises:
            PatchError: There is none, or the file was changed since.
        """
        with self._turn:
            scope = self._chosen(path, None)
            changes = self._changes.get(scope.path)
            if not changes:
                message = f"No patch of {scope.path!r} by this server is left to take back."
                raise PatchError("nothing_to_undo", message, {"file": scope.path})
            snapshot = read_snapshot(self._root / scope.path, sha256=sha256 or None)
            undo_change(changes[-1], lock_folder=self._lock_folder)
            undone = changes.pop()
            self._see(scope, undone.text)
            return Change(scope.path, snapshot.text, undone.text)

    def _chosen(self, path: str, named: str | None) -> FileScope:
        """Return the file that a call means."""
        files = self._scope.files
        if not path and self._scope.primary and len(files) == 1:
            return files[0]
        if not (wanted := path or named or ""):
            names = ", ".join(repr(scope.path) for scope in files) or "any file of the workspace"
            raise PatchError(
                "path_required", f"`path` must say which file is meant: {names}.", {"files": [*self._files]}
            )
        label = label_of(self._root, wanted)
        if label in self._files:
            return self._files[label]
        if self._scope.any_file and ".git" not in PurePosixPath(label.casefold()).parts:  # disks may take `.GIT` for it
            return FileScope(label)
        names = ", ".join(repr(scope.path) for scope in files) or "any file outside '.git'"
        message = f"{wanted!r} may not be edited here; what may be: {names}."
        raise PatchError("not_editable", message, {"path": wanted, "files": [*self._files]})

    def _check_target(self, patch: Patch, scope: FileScope, path: str) -> None:
        check_target(patch, [scope.path, str(self._root / scope.path), *([path] if path else [])])

    def _judged(
        self, scope: FileScope, snapshot: Snapshot, patch: Patch, ambiguity: Ambiguity, *, known: bool
    ) -> Applied:
        """Return what the patch makes of the file, if that is allowed."""
        guard = self._guards.get(scope.path)
        view: NodeView | None = None if guard is None else guard.view(snapshot.text, known=known)
        applied = apply_patch(snapshot.text, patch, ambiguity=ambiguity)
        if guard is not None and view is not None:
            applied = guard.fitted(view, applied)
            if violations := guard.judge(view, applied.text, applied.replacements):
                raise out_of_scope(scope, violations, view.spans)
        elif scope.path.lower().endswith(".lean"):
            old = parse(snapshot.text, scope.path)
            problems = new_problems(old, parse(applied.text, scope.path, previous=old))
            if violations := judge_new_problems(problems):
                raise out_of_scope(scope, violations, ())
        return applied

    def _see(self, scope: FileScope, text: str) -> None:
        """Take in a text that this server wrote itself."""
        if (guard := self._guards.get(scope.path)) is not None:
            guard.view(text, known=True)
