"""Files that are whole or not there."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ekiden_files import write_new, write_whole, writing_whole


@pytest.fixture
def usual_umask():
    old = os.umask(0o027)
    yield
    os.umask(old)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("sync", [False, True])
def test_what_is_written_replaces_what_was_there(tmp_path: Path, sync: bool):
    path = tmp_path / "file"
    write_whole(path, b"old", sync=sync)
    write_whole(path, "nëw\r\n", sync=sync)
    assert path.read_bytes() == "nëw\r\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("usual_umask")
def test_a_new_file_is_made_as_usual_and_an_old_one_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "file"
    write_whole(path, b"")
    assert mode_of(path) == 0o640
    path.chmod(0o604)
    write_whole(path, b"")
    assert mode_of(path) == 0o604


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_a_mode_asked_for_holds_from_the_first_byte_on(tmp_path: Path, mode: int):
    path = tmp_path / "file"
    with writing_whole(path, mode=mode) as file:
        assert mode_of(Path(f"/proc/self/fd/{file.fileno()}").readlink()) == mode
    assert mode_of(path) == mode


def test_after_an_error_the_old_content_stays_and_nothing_else(tmp_path: Path):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail_half_way() -> None:
        with writing_whole(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"old")]


def test_a_file_cannot_take_the_place_of_a_folder_and_leaves_nothing(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", b"")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_the_longest_name_can_be_written(tmp_path: Path):
    write_whole(tmp_path / ("ü" * 127), b"1")
    assert (tmp_path / ("ü" * 127)).read_bytes() == b"1"


def test_of_many_who_make_a_file_exactly_one_succeeds_and_its_content_stays(tmp_path: Path):
    path = tmp_path / "claim"

    def claim(number: int) -> int | None:
        try:
            write_new(path, f"{number}" * 100)
        except FileExistsError:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        winners = [number for number in pool.map(claim, range(8)) if number is not None]
    assert [path.read_text()] == [f"{number}" * 100 for number in winners]
    assert [entry.name for entry in tmp_path.iterdir()] == ["claim"]
