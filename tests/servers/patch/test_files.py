import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ekiden_patch import PatchError, read_snapshot, resolve_inside, sha256_of, undo_change, write_text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "Main.lean"
    path.parent.mkdir()
    path.write_bytes("α\r\nb\n".encode())
    return path


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def test_a_file_is_read_as_it_is(file: Path) -> None:
    snapshot = read_snapshot(file)
    assert (snapshot.text, snapshot.sha256) == ("α\r\nb\n", sha256_of("α\r\nb\n"))


def test_a_file_is_read_only_if_it_holds_the_text_that_is_meant(file: Path) -> None:
    assert read_snapshot(file, sha256=sha256_of("α\r\nb\n").upper()).text == "α\r\nb\n"
    with pytest.raises(PatchError, match="is not the text that was meant") as caught:
        read_snapshot(file, sha256=sha256_of("other"))
    assert caught.value.details["found_sha256"] == sha256_of("α\r\nb\n")


def test_a_text_is_written_whole_and_its_mode_stays(file: Path, locks: Path) -> None:
    file.chmod(0o640)
    undo = write_text(read_snapshot(file), "new\r\n", lock_folder=locks)
    assert file.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert undo.sha256 == sha256_of("new\r\n")
    assert [each.name for each in file.parent.iterdir()] == ["Main.lean"]


def test_a_file_that_changed_since_it_was_read_is_not_written(file: Path, locks: Path) -> None:
    snapshot = read_snapshot(file)
    file.write_text("other\n", encoding="utf-8")
    with pytest.raises(PatchError, match="changed since it was read") as caught:
        write_text(snapshot, "mine\n", lock_folder=locks)
    assert caught.value.code == "stale"
    assert file.read_text(encoding="utf-8") == "other\n"


def test_a_change_is_taken_back_and_done_again(file: Path, locks: Path) -> None:
    undo = write_text(read_snapshot(file), "new\n", lock_folder=locks)
    redo = undo_change(undo, lock_folder=locks)
    assert file.read_bytes() == "α\r\nb\n".encode()
    undo_change(redo, lock_folder=locks)
    assert file.read_bytes() == b"new\n"


def test_a_change_that_another_one_followed_is_not_taken_back(file: Path, locks: Path) -> None:
    undo = write_text(read_snapshot(file), "new\n", lock_folder=locks)
    file.write_text("newer\n", encoding="utf-8")
    with pytest.raises(PatchError, match="was changed after the patch") as caught:
        undo_change(undo, lock_folder=locks)
    assert (caught.value.code, file.read_text(encoding="utf-8")) == ("stale", "newer\n")


def test_of_many_writers_that_read_the_same_text_one_wins(file: Path, locks: Path) -> None:
    snapshot = read_snapshot(file)
    together = threading.Barrier(8)

    def write(number: int) -> str:
        together.wait(timeout=20)
        try:
            write_text(snapshot, f"{number}\n", lock_folder=locks)
        except PatchError as error:
            return error.code
        return "written"

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(write, range(8)))
    assert sorted(results) == ["stale"] * 7 + ["written"]
    assert file.read_text(encoding="utf-8") == f"{results.index('written')}\n"


def test_no_writers_addition_is_lost(file: Path, locks: Path) -> None:
    file.write_text("", encoding="utf-8")

    def add(number: int) -> set[str]:
        refused: set[str] = set()
        while True:
            snapshot = read_snapshot(file)
            try:
                write_text(snapshot, f"{snapshot.text}{number}\n", lock_folder=locks)
            except PatchError as error:
                refused.add(error.code)
            else:
                return refused

    with ThreadPoolExecutor(4) as pool:
        refused = list(pool.map(add, range(12)))
    assert set[str]().union(*refused) <= {"stale"}
    assert sorted(file.read_text(encoding="utf-8").split(), key=int) == [str(number) for number in range(12)]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "missing"])
def test_only_a_regular_file_is_read(tmp_path: Path, file: Path, kind: str) -> None:
    path = tmp_path / "work" / "odd.lean"
    match kind:
        case "link":
            path.symlink_to(file)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            pass
    with pytest.raises(PatchError) as caught:
        read_snapshot(path)
    assert caught.value.code == ("missing_file" if kind == "missing" else "not_regular")


@pytest.mark.parametrize("kind", ["link", "missing"])
def test_a_file_that_gave_way_to_something_else_is_not_written(
    tmp_path: Path, file: Path, locks: Path, kind: str
) -> None:
    snapshot = read_snapshot(file)
    elsewhere = tmp_path / "elsewhere.lean"
    elsewhere.write_bytes(file.read_bytes())
    file.unlink()
    if kind == "link":
        file.symlink_to(elsewhere)
    with pytest.raises(PatchError) as caught:
        write_text(snapshot, "new\n", lock_folder=locks)
    assert caught.value.code == ("not_regular" if kind == "link" else "missing_file")
    assert elsewhere.read_text(encoding="utf-8") == snapshot.text.replace("\r\n", "\n")
    assert elsewhere.read_bytes() == snapshot.text.encode()


def test_a_file_that_is_no_text_is_refused_with_the_byte(file: Path) -> None:
    file.write_bytes(b"ab\xff\n")
    with pytest.raises(PatchError, match=r"is not UTF-8 \(byte 2\)"):
        read_snapshot(file)


def test_a_text_that_no_file_can_hold_is_refused(file: Path, locks: Path) -> None:
    with pytest.raises(PatchError, match="lone surrogate") as caught:
        write_text(read_snapshot(file), "a\ud800", lock_folder=locks)
    assert (caught.value.code, file.read_bytes()) == ("not_utf8", "α\r\nb\n".encode())


@pytest.mark.parametrize("name", ["Main.lean", "./Main.lean", "sub/../Main.lean"])
def test_a_path_in_the_workspace_is_found(file: Path, name: str) -> None:
    (file.parent / "sub").mkdir()
    assert resolve_inside(file.parent, name) == file
    assert resolve_inside(file.parent, str(file)) == file


@pytest.mark.parametrize(
    "name", ["", "a\0b", "../outside.lean", "/etc/passwd", "out/outside.lean", "loop", "link.lean"]
)
def test_a_path_that_leads_out_of_the_workspace_is_refused(file: Path, name: str) -> None:
    (file.parents[1] / "outside.lean").write_text("secret", encoding="utf-8")
    (file.parent / "out").symlink_to(file.parents[1])
    (file.parent / "link.lean").symlink_to(file.parents[1] / "outside.lean")
    (file.parent / "loop").symlink_to("loop")
    with pytest.raises(PatchError) as caught:
        read_snapshot(resolve_inside(file.parent, name))
    assert caught.value.code in {"bad_path", "not_regular"}
    assert str(file.parents[1]) not in caught.value.message
