"""Whether a data set is still what its manifest says."""

import hashlib
from pathlib import Path

from pydantic import ValidationError

from ekiden_store.data_sets.exports_manifest import MANIFEST, FileEntry, Manifest
from ekiden_store.data_sets.mixes_template import Template
from ekiden_store.errors import StoreError, one_line


def read_manifest(folder: Path) -> Manifest:
    """Return what a data set says of itself.

    Raises:
        StoreError: There is no data set.
    """
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{str(folder)!r} holds no data set: {one_line(error)}") from error
    except ValidationError as error:
        told = error.errors(include_url=False)[0]
        place = ".".join(map(str, told["loc"]))
        raise StoreError(f"{str(path)!r} is no manifest of a data set: {place or 'it'}: {told['msg']}.") from error


def read_template(folder: Path) -> Template | None:
    """Return the words that a data set was put into, for programs that ask a model which was trained on it.

    Raises:
        StoreError: There is no data set, or its manifest was changed.
    """
    manifest = read_manifest(folder)
    try:
        template = None if manifest.template_sha256 is None else Template.model_validate(manifest.mix.get("template"))
    except ValidationError as error:
        raise StoreError(f"The template in {str(folder / MANIFEST)!r} is none.") from error
    if template and template.sha256 != manifest.template_sha256:
        raise StoreError(f"The template in {str(folder / MANIFEST)!r} is not the one that its hash tells of.")
    return template


def verify_data_set(folder: Path) -> list[str]:
    """Return what is wrong with a data set, each on a line; nothing: it is what its manifest says.

    Raises:
        StoreError: There is no data set, or a file cannot be read.
    """
    manifest = read_manifest(folder)
    read_template(folder)
    known = {MANIFEST, *(entry.name for entry in manifest.files)}
    try:
        strange = sorted(path.name for path in folder.iterdir() if path.name not in known)
        wrong = [problem for entry in manifest.files for problem in _problems(folder, entry)]
    except OSError as error:
        raise StoreError(f"The data set {str(folder)!r} cannot be read: {one_line(error)}") from error
    return [*wrong, *(f"{name!r} is no part of the data set" for name in strange)]


def _problems(folder: Path, entry: FileEntry) -> list[str]:
    digest = hashlib.sha256()
    lines = size = 0
    try:
        with (folder / entry.name).open("rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
                lines += data.count(b"\n")
                size += len(data)
    except FileNotFoundError:
        return [f"{entry.name!r} is missing"]
    if (lines, size, digest.hexdigest()) == (entry.lines, entry.bytes, entry.sha256):
        return []
    return [f"{entry.name!r} was changed: it has {lines} lines of {size} bytes, and had {entry.lines} of {entry.bytes}"]
