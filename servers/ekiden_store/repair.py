"""What a crash left behind: found, put right and reported."""

import errno
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ekiden_store.errors import DamagedPartError, StoreError
from ekiden_store.layout import Finding, Layout
from ekiden_store.segments import Segment, listed_segments, sealed, torn_bytes

_MAY_NOT_WRITE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}  # it can be read all the same
_MAGIC = b"PAR1"  # a Parquet file begins and ends with it


@dataclass(slots=True)
class Report:
    """What was found wrong with a store, and put right.

    Attributes:
        is_complete: Whether all was looked at; not so while another process compacts, or if nothing can be written.
        findings: What was wrong.
    """

    is_complete: bool = True
    findings: list[Finding] = field(default_factory=list[Finding])


def repair(layout: Layout, *, deep: bool) -> Report:
    """Look for what a crash left behind, and put it right.

    A half-written part is removed, a damaged one is moved to the folder `aside`, and an unfinished last line of a
    segment whose writer has ended is cut. What a damaged part still holds is written to another part if all is read.

    Args:
        layout: The store.
        deep: Whether to read all of every part, instead of its ends alone, and to wait for a compaction to end.

    Raises:
        StoreVersionError: A newer Ekiden wrote a part.
        StoreError: The store cannot be read.
    """
    report = Report()
    try:
        with layout.changing_parts(wait=deep) as is_ours:
            if not is_ours:
                return Report(is_complete=False)
            _remove_half_written(layout, report.findings)
            for path in sorted(layout.parts.glob("*.parquet")):
                _require_sound(layout, path, deep, report.findings)
            for segment in listed_segments(layout.wal):
                _cut_torn_tail(segment, report.findings)
    except OSError as error:
        if error.errno not in _MAY_NOT_WRITE or not layout.folder.is_dir():
            raise StoreError(f"The store {str(layout.folder)!r} cannot be checked: {error}.") from error
        report.is_complete = False
    return report


def is_read_only(folder: Path) -> bool:
    """Tell whether nothing can be written to a folder."""
    if not folder.is_dir():
        return False
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY) or not os.access(folder, os.W_OK, effective_ids=True)


def tidy(layout: Layout, findings: list[Finding]) -> None:
    """Finish what a killed compaction began, and move damaged parts aside. The caller keeps others from changing parts.

    Raises:
        OSError: The folder cannot be written.
        StoreVersionError: A newer Ekiden wrote a part.
    """
    from ekiden_store.parts import Contents, listed_parts, read_header

    _remove_half_written(layout, findings)
    held = Contents()
    for path in listed_parts(layout.parts):
        try:
            held.add(read_header(path).contents)
        except DamagedPartError as error:
            _move_aside(layout, path, str(error), findings)
    for name in held.replaces:
        (layout.parts / name).unlink(missing_ok=True)
    for segment in listed_segments(layout.wal):
        if segment.name in held.segments:
            segment.path.unlink()
    remove_empty_folders(layout.wal)


def keep_aside(layout: Layout, segment: Segment, line: bytes) -> Finding:
    """Keep a line that holds no row in the folder `aside`.

    Raises:
        OSError: The folder cannot be written.
    """
    layout.aside.mkdir(exist_ok=True)
    kept = layout.aside / f"{segment.name.replace('/', '-')}.lines"
    with kept.open("ab") as file:
        file.write(line + b"\n")
    return Finding("damaged_line", segment.name, f"{len(line)} bytes that hold no row are kept in 'aside/{kept.name}'")


def _remove_half_written(layout: Layout, findings: list[Finding]) -> None:
    for path in layout.parts.glob(".*.part"):
        path.unlink()
        findings.append(Finding("half_written_part", path.name, "it was removed; its rows are still where they were"))


def _require_sound(layout: Layout, path: Path, deep: bool, findings: list[Finding]) -> None:
    if deep:
        from ekiden_store.parts import read_through
        from ekiden_store.rescue import replaced_parts, rescued

        try:
            read_through(path)
        except DamagedPartError as error:
            is_held_elsewhere = path.name in replaced_parts(layout.parts)
            saved = "Another part holds its rows." if is_held_elsewhere else rescued(path)
            _move_aside(layout, path, f"{error} {saved}", findings)
        return
    with path.open("rb") as file:
        ends = file.read(len(_MAGIC))
        file.seek(max(0, path.stat().st_size - len(_MAGIC)))
        ends += file.read()
    if ends != _MAGIC + _MAGIC:
        _move_aside(layout, path, "it does not begin and end like a Parquet file", findings)


def _move_aside(layout: Layout, path: Path, why: str, findings: list[Finding]) -> None:
    layout.aside.mkdir(exist_ok=True)
    shutil.move(path, layout.aside / path.name)  # the folders may lie on different disks
    findings.append(Finding("damaged_part", path.name, f"it was moved to the folder 'aside': {why}"))


def _cut_torn_tail(segment: Segment, findings: list[Finding]) -> None:
    with sealed(segment) as file:
        if file is None:
            return
        torn = torn_bytes(file)
        if torn:
            os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - torn)
            detail = f"{torn} bytes of a line that was never finished were cut"
            findings.append(Finding("torn_tail", segment.name, detail))


def remove_empty_folders(wal: Path) -> None:
    """Remove the folders of writers whose segments are all compacted; such a writer makes its folder again.

    Raises:
        OSError: The folder cannot be read.
    """
    for folder in wal.iterdir():
        if folder.is_dir() and not any(folder.iterdir()):
            try:
                folder.rmdir()
            except OSError:  # its writer has just made another segment
                continue
