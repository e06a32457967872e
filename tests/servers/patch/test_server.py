"""The patch server's tools, called by a client in memory over files in a folder."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from inline_snapshot import snapshot
from mcp import Client

from ekiden_config import Settings, default_settings
from ekiden_kit.build import build_server
from ekiden_patch import sha256_of
from ekiden_patch.server import SERVER
from patch_scopes import TEXT, node
from tool_answers import answer, refusal

pytestmark = pytest.mark.anyio

PROVE = "*** Begin Patch\n@@ lemma target (n : Nat) : n = n := by\n-  sorry\n+  rfl\n*** End Patch"
CHEAT = "*** Begin Patch\n@@\n-lemma target (n : Nat) : n = n := by\n+lemma target : True := by\n*** End Patch"
NOTE = "*** Begin Patch\n@@\n-old\n+new\n*** End Patch"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace that the environment names, with a Lean file, a note and a configuration."""
    folder = tmp_path / "work"
    (folder / "docs").mkdir(parents=True)
    (folder / "Main.lean").write_text(TEXT, encoding="utf-8")
    (folder / "docs/state.md").write_text("old\n", encoding="utf-8")
    (folder / "other.md").write_text("old\n", encoding="utf-8")
    for name in [name for name in os.environ if "APPLY_PATCH_" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("APPLY_PATCH_WORKSPACE", str(folder))
    return folder


@pytest.fixture
def scoped(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("APPLY_PATCH_TARGET_FILE", "Main.lean")
    monkeypatch.setenv("APPLY_PATCH_NODE", "target")
    return work


@asynccontextmanager
async def served(settings: Settings | None = None) -> AsyncGenerator[Client]:
    async with Client(build_server([SERVER], settings or default_settings())) as client:
        yield client


async def both(client: Client, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
    """Return the text and the data of an answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    text = "".join(block.text for block in result.content if block.type == "text")
    return text, cast("dict[str, Any]", result.structured_content)


def data_of(told: str) -> dict[str, Any]:
    """Return the data in the last line of a refusal."""
    return cast("dict[str, Any]", json.loads(told.rsplit("\n", 1)[1]))


async def test_a_patch_is_tried_applied_and_taken_back(scoped: Path) -> None:
    proved = TEXT.replace("(n : Nat) : n = n := by\n  sorry", "(n : Nat) : n = n := by\n  rfl")
    async with served() as client:
        text, data = await both(client, "apply_patch_dry_run", patch=PROVE)
        diff = data.pop("diff")
        assert text == f"Dry run. Would update the following files:\nM Main.lean\n{diff}"
        assert diff.split("\n")[3:] == [
            " lemma target (n : Nat) : n = n := by",
            "-  sorry",
            "+  rfl",
            " ",
        ]
        assert data == {
            "dry_run": True,
            "added": [],
            "modified": ["Main.lean"],
            "deleted": [],
            "sha256": sha256_of(proved),
        }
        assert (scoped / "Main.lean").read_text(encoding="utf-8") == TEXT
        text, data = await both(client, "apply_patch", patch=PROVE, expected_sha256=sha256_of(TEXT))
        assert text == "Success. Updated the following files:\nM Main.lean"
        assert data == {
            "dry_run": False,
            "added": [],
            "modified": ["Main.lean"],
            "deleted": [],
            "sha256": sha256_of(proved),
        }
        assert (scoped / "Main.lean").read_text(encoding="utf-8") == proved
        text, data = await both(client, "patch_undo", expected_sha256=sha256_of(proved))
        assert data["sha256"] == sha256_of(TEXT)
        assert (scoped / "Main.lean").read_text(encoding="utf-8") == TEXT
        assert (await refusal(client, "patch_undo")).startswith(
            "nothing_to_undo: No patch of 'Main.lean' by this server is left to take back."
        )


async def test_a_refusal_is_text_that_a_model_can_act_on_with_its_data(scoped: Path) -> None:
    async with served() as client:
        told = await refusal(client, "apply_patch", patch=CHEAT)
    assert told.split("\n")[:-1] == [
        "out_of_scope: The patch of 'Main.lean' is refused; nothing was written.",
        "- outside_scope: replace at original 20:14-20:31 is outside the editable spans; the nearest editable span is "
        "body 21:1-22:1.",
        "Editable for 'target': helper_area 14:1-15:1; statement 16:20-16:38; proof 17:16-17:39; title 18:16-18:30; "
        "body 21:1-22:1.",
    ]
    data = data_of(told)
    assert data["code"] == "out_of_scope"
    assert data["violations"][0]["start"] == "20:14"
    assert [each["part"] for each in data["editable"]] == ["helper_area", "statement", "proof", "title", "body"]
    assert (scoped / "Main.lean").read_text(encoding="utf-8") == TEXT


async def test_the_editable_spans_are_shown_with_text_lines_and_hash(scoped: Path) -> None:
    async with served() as client:
        shown = await answer(client, "patch_editable_spans")
    assert shown["sha256"] == sha256_of((scoped / "Main.lean").read_text(encoding="utf-8"))
    assert shown["node"] == "target"
    assert shown["spans"] == snapshot(
        [
            {"part": "helper_area", "start": "14:1", "end": "15:1", "text": "\n", "truncated": False},
            {
                "part": "statement",
                "start": "16:20",
                "end": "16:38",
                "text": " Prose of target. ",
                "truncated": False,
            },
            {
                "part": "proof",
                "start": "17:16",
                "end": "17:39",
                "text": " How target is proved. ",
                "truncated": False,
            },
            {"part": "title", "start": "18:16", "end": "18:30", "text": " Title target ", "truncated": False},
            {"part": "body", "start": "21:1", "end": "22:1", "text": "  sorry\n", "truncated": False},
        ]
    )


async def test_a_stale_hash_is_refused_and_a_change_by_others_told(scoped: Path) -> None:
    async with served() as client:
        told = await refusal(client, "apply_patch", patch=PROVE, expected_sha256="0" * 64)
        assert data_of(told)["code"] == "stale"
        changed = TEXT.replace("3 = 3", "4 = 4")
        (scoped / "Main.lean").write_text(changed, encoding="utf-8")
        data = data_of(await refusal(client, "apply_patch", patch=PROVE))
        assert (data["code"], data["found_sha256"]) == ("changed_outside", sha256_of(changed))
        await both(client, "apply_patch", patch=PROVE, expected_sha256=data["found_sha256"])


async def test_a_patch_is_not_taken_back_over_the_work_of_others(work: Path) -> None:
    async with served() as client:
        await both(client, "apply_patch", patch=NOTE, path="other.md")
        (work / "other.md").write_text("theirs\n", encoding="utf-8")
        assert data_of(await refusal(client, "patch_undo", path="other.md"))["code"] == "stale"
        (work / "other.md").write_text("new\n", encoding="utf-8")
        await both(client, "patch_undo", path="other.md")
    assert (work / "other.md").read_text(encoding="utf-8") == "old\n"


async def test_an_ambiguous_patch_is_refused_with_its_places_unless_the_first_is_asked_for(work: Path) -> None:
    (work / "other.md").write_text("old\nx\nold\n", encoding="utf-8")
    async with served() as client:
        data = data_of(await refusal(client, "apply_patch", patch=NOTE, path="other.md"))
        assert (data["code"], [each["line"] for each in data["candidates"]]) == ("ambiguous", [1, 3])
        await both(client, "apply_patch", patch=NOTE, path="other.md", ambiguity="first")
    assert (work / "other.md").read_text(encoding="utf-8") == "new\nx\nold\n"


async def test_with_a_target_alone_the_path_may_be_left_out_or_match(scoped: Path) -> None:
    async with served() as client:
        await both(client, "apply_patch_dry_run", patch=PROVE)
        await both(client, "apply_patch_dry_run", patch=PROVE, path="Main.lean")
        await both(client, "apply_patch_dry_run", patch=PROVE, path=str(scoped / "Main.lean"))
        assert data_of(await refusal(client, "apply_patch", patch=NOTE, path="other.md"))["code"] == "not_editable"


@pytest.mark.parametrize("others", ['["docs/state.md"]', "docs/state.md", "docs/state.md,\n other.md"])
async def test_with_other_files_the_path_is_needed(scoped: Path, monkeypatch: pytest.MonkeyPatch, others: str) -> None:
    monkeypatch.setenv("APPLY_PATCH_OTHER_FILES", others)
    async with served() as client:
        told = await refusal(client, "apply_patch", patch=NOTE)
        assert told.startswith("path_required: `path` must say which file is meant: 'Main.lean', 'docs/state.md'")
        await both(client, "apply_patch", patch=NOTE, path="docs/state.md")
        await both(client, "apply_patch", patch=PROVE, path="./Main.lean")
    assert (scoped / "docs/state.md").read_text(encoding="utf-8") == "new\n"


async def test_the_file_that_the_patch_names_is_meant_when_no_path_is_given(work: Path) -> None:
    named = NOTE.replace("@@", "*** Update File: docs/state.md\n@@")
    async with served() as client:
        await both(client, "apply_patch", patch=named)
        assert data_of(await refusal(client, "apply_patch", patch=named, path="other.md"))["code"] == "wrong_file"
    assert (work / "docs/state.md").read_text(encoding="utf-8") == "new\n"


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/hostname", "link.md", "away/secret.md", "none.md", "docs", "a\0b"]
)
async def test_a_path_that_is_no_regular_file_of_the_workspace_is_refused(work: Path, path: str) -> None:
    secret = work.parent / "secret.md"
    secret.write_text("old\n", encoding="utf-8")
    (work / "link.md").symlink_to(work / "other.md")
    (work / "away").symlink_to(work.parent)
    async with served() as client:
        data = data_of(await refusal(client, "apply_patch", patch=NOTE, path=path))
    assert data["code"] in {"bad_path", "missing_file", "not_regular"}
    assert secret.read_text(encoding="utf-8") == "old\n"
    assert str(work) not in json.dumps(data)


async def test_without_a_target_every_file_but_git_s_own_is_editable(work: Path) -> None:
    (work / ".git").mkdir()
    (work / "link").symlink_to(".git")
    (work / ".git/config").write_text("old\n", encoding="utf-8")
    async with served() as client:
        await both(client, "apply_patch", patch=NOTE, path="other.md")
        assert data_of(await refusal(client, "apply_patch", patch=NOTE))["code"] == "path_required"
        for path in (".git/config", ".GIT/config", "./.git/config", "link/config", "x/../.Git/config"):
            assert data_of(await refusal(client, "apply_patch", patch=NOTE, path=path))["code"] == "not_editable"


async def test_a_whole_lean_file_gets_no_new_syntax_problem(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLY_PATCH_TARGET_FILE", "Main.lean")
    unclosed = CHEAT.replace("+lemma target : True := by", "+/- lemma target : True := by")
    async with served() as client:
        assert data_of(await refusal(client, "apply_patch", patch=unclosed))["code"] == "syntax_problem"
        await both(client, "apply_patch", patch=CHEAT)
    assert "target : True" in (work / "Main.lean").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"WORKSPACE": "/nowhere/at/all"}, "cannot be found"),
        ({"TARGET_FILE": "None.lean"}, "There is no file 'None.lean'"),
        ({"TARGET_FILE": "link.lean"}, "is no regular file"),
        ({"TARGET_FILE": "../Main.lean"}, "leads out of the workspace"),
        ({"NODE": "target"}, "APPLY_PATCH_TARGET_FILE names no file"),
        ({"TARGET_FILE": "other.md", "NODE": "target"}, "is no Lean file"),
        ({"TARGET_FILE": "Main.lean", "NODE": "tarket"}, "the nearest is 'target'"),
        ({"OTHER_FILES": '["other.md", ""]'}, "has an empty entry"),
        ({"OTHER_FILES": "other.md,,docs/state.md"}, "has an empty entry"),
        ({"OTHER_FILES": "[1]"}, "is no JSON array of names"),
        ({"OTHER_FILES": "[other"}, "is no JSON array"),
        ({"OTHER_FILES": "other.md, ./other.md"}, "twice"),
        ({"OTHER_FILES": "other.md, hard.md"}, "are one file"),
        ({"OTHER_FILES": "Main.lean"}, "is a Lean file"),
        ({"TARGET_FILE": "other.md", "OTHER_FILES": "other.md"}, "is the target file too"),
        ({"OTHER_FILES": "docs"}, "is no regular file"),
        ({"TARGET_FILE": "Main.lean", "ROLE": "worker"}, "A worker edits one node"),
        ({"ROLE": "king"}, "The role 'king' is none of"),
    ],
)
async def test_a_wrong_configuration_is_told_at_every_call(
    work: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], reason: str
) -> None:
    (work / "link.lean").symlink_to(work / "Main.lean")
    (work / "hard.md").hardlink_to(work / "other.md")
    for name, value in variables.items():
        monkeypatch.setenv(f"APPLY_PATCH_{name}", value)
    async with served() as client:
        told = await refusal(client, "apply_patch", patch=NOTE, path="other.md")
    assert told.startswith("not_configured: Nothing can be edited: ")
    assert reason in told


async def test_the_scope_is_given_as_settings_too(work: Path) -> None:
    files = ({"path": "Main.lean", "node": "target"}, {"path": "docs/state.md"})
    packaged = default_settings()
    patch = packaged.patch.model_validate(
        {**packaged.patch.model_dump(), "role": "worker", "files": files, "helper_commands": ["open"]}
    )
    opened = '*** Begin Patch\n@@\n \n+open Nat\n+\n @[blueprint "lem:target"\n*** End Patch'
    async with served(packaged.model_copy(update={"patch": patch})) as client:
        await both(client, "apply_patch", patch=opened, path="Main.lean")
        await both(client, "apply_patch", patch=NOTE, path="docs/state.md")
        assert data_of(await refusal(client, "apply_patch", patch=CHEAT, path="Main.lean"))["code"] == "out_of_scope"
        assert data_of(await refusal(client, "apply_patch", patch=NOTE, path="other.md"))["code"] == "not_editable"
    assert (work / "other.md").read_text(encoding="utf-8") == "old\n"


async def test_our_own_variables_are_stronger(scoped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EKIDEN_APPLY_PATCH_NODE", "last")
    async with served() as client:
        assert (await answer(client, "patch_editable_spans"))["node"] == "last"
        assert data_of(await refusal(client, "apply_patch", patch=PROVE))["code"] == "out_of_scope"


async def test_two_clients_of_one_server_do_not_write_over_each_other(scoped: Path) -> None:
    server = build_server([SERVER], default_settings())
    helper = node("helper_one", ": 1 + 1 = 2")
    lines = "".join(f"+{line}\n" for line in f"\n{helper}".split("\n")[:-1])
    add = f'*** Begin Patch\n@@   sorry\n{lines} \n @[blueprint "lem:target"\n*** End Patch'
    async with Client(server) as one, Client(server) as other:
        seen = (await answer(other, "patch_editable_spans"))["sha256"]
        await both(one, "apply_patch", patch=PROVE)
        assert data_of(await refusal(other, "apply_patch", patch=add, expected_sha256=seen))["code"] == "stale"
