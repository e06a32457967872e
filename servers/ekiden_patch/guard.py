"""Keeps one node's owner to that node, patch after patch, also when others change the file in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_blueprint import parse
from ekiden_patch.comparing import compare
from ekiden_patch.errors import PatchError
from ekiden_patch.files import sha256_of
from ekiden_patch.scopes import NodeView, body_edge, differing, require_node, view_node
from ekiden_policies.edit_scope import EditableSpan, FileScope, Violation, judge_node_edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_patch.applying import Applied, Replacement


class NodeGuard:
    """What is frozen around one node, as the file was when it was first seen."""

    def __init__(self, scope: FileScope, text: str) -> None:
        """Look at the file for the first time.

        Args:
            scope: The file and its node.
            text: The file's text.

        Raises:
            PatchError: The file has no such node, or several.
        """
        self._scope = scope
        self._file = parse(text, scope.path)
        self._remember(view_node(self._file, require_node(self._file, scope.node)))

    def view(self, text: str, *, known: bool = False) -> NodeView:
        """Return the node as it stands in the file now.

        Args:
            text: The file's text.
            known: Whether the caller knows this text, so that it may go on although others changed it.

        Raises:
            PatchError: The node's own frozen text is another than it was, or, unless the text is known, that around it.
        """
        self._file = parse(text, self._scope.path, previous=self._file)
        node = require_node(self._file, self._scope.node)
        view = view_node(self._file, node, anchor=self._anchor)
        frozen = _canonical(view)
        if view.head >= self._anchor and frozen == self._frozen:
            self._helper_text = view.helper_text
            return view
        fresh = view_node(self._file, node, anchor=self._moved_anchor(view))
        own = _canonical(fresh)[1:-1]
        if own != self._frozen[1:-1]:
            changed = differing(self._frozen[1:-1], own)
            names = [f"after its {span.part}" for span in self._spans[:-1]]
            where = ", ".join(names[index] for index in changed if index < len(names)) or "in its form"
            message = (
                f"Somebody else changed the frozen text of {self._scope.node!r} itself ({where}) since this server "
                "first saw it. Put it back, or let whoever runs this server start it anew."
            )
            raise PatchError(
                "node_changed_outside", message, {"node": self._scope.node, "found_sha256": sha256_of(text)}
            )
        if not known:
            message = (
                f"{self._scope.path!r} was changed outside {self._scope.node!r} by somebody else since this server "
                "last saw it. Read it again; then send the patch with `expected_sha256` set to the hash of that text."
            )
            details: dict[str, object] = {"file": self._scope.path, "found_sha256": sha256_of(text)}
            raise PatchError("changed_outside", message, details)
        self._remember(fresh)
        return fresh

    def fitted(self, view: NodeView, applied: Applied) -> Applied:
        """Return what a patch makes of the file, without the line end that patches give to a frozen last line."""
        from ekiden_patch.applying import Applied

        old, new = view.text, applied.text
        tail = view.frozen[-1]
        if not tail or old.endswith("\n") or not new.endswith("\n"):
            return applied
        kept = new[: -2 if new.endswith("\r\n") else -1]
        if not kept.endswith(tail):
            return applied
        return Applied(kept, tuple(each for each in applied.replacements if each.span.start < len(old)))

    def judge(self, view: NodeView, new_text: str, replacements: Sequence[Replacement]) -> tuple[Violation, ...]:
        """Return why a change is refused; nothing when it is allowed."""
        return judge_node_edit(
            compare(view, new_text, replacements, self._scope.node), self._scope.helpers, self._scope.node
        )

    def _remember(self, view: NodeView) -> None:
        self._anchor = view.anchor
        self._helper_text = view.helper_text
        self._frozen = _canonical(view)
        self._spans: tuple[EditableSpan, ...] = view.spans

    def _moved_anchor(self, view: NodeView) -> int | None:
        """Return where the helper area begins after a change before it; None where its old text is not there."""
        before = view.text[: view.head]
        if view.head >= self._anchor and before.startswith(self._frozen[0]):
            return self._anchor
        start = len(before) - len(self._helper_text)
        same = before.endswith(self._helper_text) and (start == 0 or before[start - 1] == "\n")
        return start if same else None


def _canonical(view: NodeView) -> tuple[str, ...]:
    """Return the frozen text, with the body cut where it begins and not at a placeholder's line."""
    edge = body_edge(view.file, view.node, placeholder_line=False)
    return view_node(view.file, view.node, anchor=view.anchor, body_offset=edge).frozen
