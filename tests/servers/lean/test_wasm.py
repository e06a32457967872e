"""The WebAssembly Lean: what it may see, and that it holds its fences."""

import os
import subprocess
from pathlib import Path

import pytest

import lean_stand_ins as stand_ins
from ekiden_config import LeanSettings, default_settings
from ekiden_lean import LeanError, run_check
from ekiden_lean.install import install_wasm
from ekiden_lean.release import Release
from ekiden_lean.wasm import WasmToolchain, find_node, find_wasm


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LeanSettings:
    stand_ins.stand_in_npm(tmp_path / "bin" / "npm", stand_ins.lean_tarball(tmp_path / "lean.tgz"))
    stand_ins.stand_in_node(tmp_path / "bin" / "node")
    monkeypatch.setenv("PATH", stand_ins.path_of(tmp_path / "bin"))
    return default_settings().lean.model_copy(update={"home": tmp_path / "home", "threads": 2, "memory_mb": 4096})


@pytest.fixture
def release(settings: LeanSettings, tmp_path: Path) -> Release:
    release = stand_ins.release_of(tmp_path / "lean.tgz")
    install_wasm(settings, report=lambda step: None, release=release, test=False)
    return release


def _found(settings: LeanSettings, release: Release) -> WasmToolchain:
    found = find_wasm(settings, release=release)
    assert found is not None
    return found


def test_a_command_allows_the_files_folder_and_the_folders_it_is_given(
    settings: LeanSettings, release: Release, tmp_path: Path
) -> None:
    toolchain = _found(settings, release)
    job = tmp_path / "job"
    command = toolchain.command(job / "A.lean", ["x"], reads=[tmp_path / "more"], writes=[job / "out"])
    assert command == [
        str(tmp_path / "bin" / "node"),
        "--stack-size=8000",
        "--disallow-code-generation-from-strings",
        "--permission",
        "--allow-worker",
        "--disable-warning=SecurityWarning",
        f"--allow-fs-read={toolchain.folder}",
        f"--allow-fs-read={job}",
        f"--allow-fs-read={tmp_path / 'more'}",
        f"--allow-fs-write={job / 'out'}",
        str(toolchain.folder / "lean.js"),
        "-j2",
        "-M4096",
        "--run",
        str(job / "A.lean"),
        "x",
    ]


def test_of_folders_inside_each_other_the_outermost_is_read(
    settings: LeanSettings, release: Release, tmp_path: Path
) -> None:
    command = _found(settings, release).check_command(tmp_path / "job" / "inner" / "A.lean", writes=[tmp_path / "job"])
    read = [word.removeprefix("--allow-fs-read=") for word in command if word.startswith("--allow-fs-read=")]
    assert read[-1] == str(tmp_path / "job")
    assert len(read) == 2


def test_its_environment_has_nothing_of_ours(settings: LeanSettings, release: Release) -> None:
    toolchain = _found(settings, release)
    assert toolchain.environment() == {
        "LEAN_PATH": str(toolchain.library_path[0]),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
    }
    assert (toolchain.version, toolchain.has_proofs) == ("4.0.0", False)
    assert (toolchain.modules_present("Init.Core"), toolchain.modules_present("../Init")) == (True, False)


def test_a_half_installed_one_is_not_found(settings: LeanSettings, release: Release) -> None:
    (_found(settings, release).folder / "lean.wasm").write_bytes(b"cut")
    assert find_wasm(settings, release=release) is None


def test_without_a_node_the_message_says_how_to_get_one(settings: LeanSettings, release: Release) -> None:
    with pytest.raises(
        LeanError, match=r"needs Node 24 or newer, and there is none: ekiden lean install --wasm --node"
    ):
        find_wasm(settings, {"PATH": ""}, release)


@pytest.mark.parametrize(
    ("version", "said"), [("v20.1.0", "which is Node 20"), ("what", "which is Node of no known version")]
)
def test_a_configured_node_that_is_too_old_is_an_error(
    version: str, said: str, settings: LeanSettings, release: Release, tmp_path: Path
) -> None:
    node = stand_ins.stand_in_node(tmp_path / "old", version=version)
    with pytest.raises(LeanError, match=said):
        find_node(settings.model_copy(update={"node": str(node)}), tmp_path / "home", release)


_HOSTILE = """
#eval (do IO.println (← IO.FS.readFile "{job}/Hostile.lean") : IO Unit)
#eval (IO.FS.writeFile "{job}/written" "x" : IO Unit)
#eval (IO.FS.removeFile "{job}/Hostile.lean" : IO Unit)
#eval (do IO.println (← IO.FS.readFile "{secret}") : IO Unit)
#eval (do IO.println (← IO.FS.readFile "/etc/passwd") : IO Unit)
#eval (do IO.println (← IO.Process.output {{ cmd := "id" }}).stdout : IO Unit)
#eval (IO.FS.writeFile "{out}/allowed" "x" : IO Unit)
#eval (do IO.println s!"home {{repr (← IO.getEnv "EKIDEN_SECRET")}}" : IO Unit)
"""


@pytest.mark.lean
@pytest.mark.timeout(300)
def test_a_hostile_file_reads_its_own_folder_writes_where_it_may_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = find_wasm(default_settings().lean)
    if toolchain is None:
        pytest.skip("no Lean for WebAssembly is installed: ekiden lean install --wasm")
    job, out, secret = tmp_path / "job", tmp_path / "out", tmp_path / "secret"
    job.mkdir()
    out.mkdir()
    secret.write_text("secret")
    monkeypatch.setenv("EKIDEN_SECRET", "key")
    file = job / "Hostile.lean"
    file.write_text(_HOSTILE.format(job=job, secret=secret, out=out))
    done = subprocess.run(
        toolchain.check_command(file, writes=[out]),
        env=toolchain.environment(),
        cwd=job,
        capture_output=True,
        check=False,
    )
    from ekiden_lean import read_diagnostics

    said = {message.line: message for message in read_diagnostics(done.stdout.decode().splitlines())}
    assert [(line, message.severity, message.message.split("\n")[0]) for line, message in sorted(said.items())] == [
        (2, "information", ""),
        (3, "error", "permission denied (error code: 2)"),
        (4, "error", "permission denied (error code: 2)"),
        (5, "error", "no such file or directory (error code: 44)"),
        (6, "error", "no such file or directory (error code: 44)"),
        (7, "error", "unsupported operation (error code: 52, function not implemented)"),
        (9, "information", "home none"),
    ]
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["Hostile.lean", "allowed", "secret"]


@pytest.mark.lean
@pytest.mark.timeout(300)
def test_a_real_lean_accepts_what_is_true_and_places_what_is_not(tmp_path: Path) -> None:
    toolchain = find_wasm(default_settings().lean)
    if toolchain is None:
        pytest.skip("no Lean for WebAssembly is installed: ekiden lean install --wasm")
    file = tmp_path / "A.lean"
    file.write_text("theorem a : 1 + 1 = 2 := rfl\ntheorem b : 1 = 2 := by decide\ntheorem c : 1 = 2 := sorry\n")
    done = run_check(toolchain, file, timeout_s=280)
    assert [(message.line, message.severity, message.kind) for message in done.diagnostics] == [
        (2, "error", ""),
        (3, "warning", "hasSorry"),
    ]
    assert (done.accepted, done.status, done.complaint) == (False, 1, "")
