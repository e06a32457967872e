"""Taking archives apart without trusting them, and hashing while the bytes pass by."""

import hashlib
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from ekiden_lean.errors import LeanInstallError

_BLOCK = 1 << 20


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def tar_files(stream: IO[bytes]) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    """Yield the regular files of a compressed tar archive, each to be read before the next one.

    Folders are made by whoever writes the files; links and devices are no part of what we install.

    Raises:
        LeanInstallError: If a name leads out of the archive.
    """
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            # macOS's tar adds '._NAME' beside each file, for what other systems cannot store
            if member.isfile() and not PurePosixPath(member.name).name.startswith("._"):
                content = archive.extractfile(member)
                if content is not None:
                    yield inner_path(member.name), content


def unzip(archive: zipfile.ZipFile, wanted: Callable[[str], bool], into: Path) -> None:
    """Write the wanted files of a zip archive below a folder, executable where the archive says so.

    Raises:
        LeanInstallError: If a name leads out of the archive.
    """
    for entry in archive.infolist():
        if entry.is_dir() or not wanted(entry.filename):
            continue
        target = into / inner_path(entry.filename)
        with archive.open(entry) as content:
            write_hashed(content, target)
        if (entry.external_attr >> 16) & 0o111:
            target.chmod(0o755)


def inner_path(name: str) -> PurePosixPath:
    """Return the path of an archive's member, which cannot lead out of the folder it is put into.

    Raises:
        LeanInstallError: If it would.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise LeanInstallError(f"The archive holds {name!r}, a name that leads out of it; nothing was installed.")
    return path


def write_hashed(content: IO[bytes], target: Path) -> str:
    """Write a stream into a file, and return the SHA-256 of what was written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("wb") as out:
        while block := content.read(_BLOCK):
            digest.update(block)
            out.write(block)
    return digest.hexdigest()
