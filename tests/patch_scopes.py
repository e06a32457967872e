"""A blueprint of three nodes, a workspace that may edit the middle one, and patches that turn one text into another."""

import difflib
import re
from pathlib import Path
from typing import Any, cast

import pytest

from ekiden_patch import PatchError
from ekiden_patch.settings import ScopedWorkspace
from ekiden_patch.workspace import Workspace
from ekiden_policies.edit_scope import EditScope, FileScope, HelperRules

LABEL = "Main.lean"
HEADER = "import Mathlib\nimport Architect\n\nset_option linter.all false\nset_option maxHeartbeats 500000\n"


def node(name: str, statement: str, body: str = "by\n  sorry", *, keyword: str = "lemma", prose: str = "Prose") -> str:
    """Return one node as the blueprint contract has it."""
    return (
        f'@[blueprint "lem:{name.replace("_", "-")}"\n'
        f"  (statement := /-- {prose} of {name}. -/)\n"
        f"  (proof := /-- How {name} is proved. -/)\n"
        f"  (title := /-- Title {name} -/)\n"
        f'  (latexEnv := "lemma")]\n'
        f"{keyword} {name} {statement} := {body}\n"
    )


FIRST, TARGET, LAST = node("first", ": 1 = 1"), node("target", "(n : Nat) : n = n"), node("last", ": 3 = 3")
TEXT = "\n".join((HEADER, FIRST, TARGET, LAST))
PROVED = TEXT.replace(TARGET, node("target", "(n : Nat) : n = n", "by\n  have h : n = n := rfl\n  exact h"))
HELPER = node("helper_one", "(k : Nat) : k + 0 = k", "by\n  simp")


def open_workspace(
    folder: Path, text: str = TEXT, name: str = "target", *, helpers: HelperRules | None = None
) -> Workspace:
    """Return a workspace of one file, of which one node may be edited."""
    folder.mkdir(exist_ok=True)
    (folder / LABEL).write_bytes(text.encode())
    scope = EditScope((FileScope(LABEL, name, helpers or HelperRules()),), primary=True)
    return Workspace(ScopedWorkspace(folder.resolve(), scope), lock_folder=folder.parent / "locks")


def text_of(folder: Path) -> str:
    """Return the text of the file."""
    return (folder / LABEL).read_bytes().decode()


def patch_between(old: str, new: str, context: int = 3) -> str:
    """Return a patch that makes one text of another; its places are told apart by line numbers of no consequence."""
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), n=context, lineterm="")
    body = ["@@" if re.match(r"@@ -", line) else line for line in list(lines)[2:]]
    return "\n".join(("*** Begin Patch", *body, "*** End Patch"))


def edit(workspace: Workspace, folder: Path, old: str, new: str, context: int = 3) -> str:
    """Replace the one place where some text stands, by a patch, and return the new text of the file."""
    text = text_of(folder)
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the file"
    wanted = text.replace(old, new)
    workspace.apply(patch_between(text, wanted, context), ambiguity="first")
    assert text_of(folder) == wanted
    return wanted


def refused(workspace: Workspace, folder: Path, old: str, new: str, context: int = 3) -> set[str]:
    """Try to replace some text; return the codes of the refusal, which must leave the file alone."""
    text = text_of(folder)
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the file"
    with pytest.raises(PatchError) as caught:
        workspace.apply(patch_between(text, text.replace(old, new), context), ambiguity="first")
    assert text_of(folder) == text
    return codes(caught.value)


def codes(error: PatchError) -> set[str]:
    """Return the codes of a refusal's violations."""
    assert error.code == "out_of_scope", error.message
    return {str(each["code"]) for each in cast("list[dict[str, Any]]", error.details["violations"])}
