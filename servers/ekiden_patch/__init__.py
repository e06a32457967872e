"""Applies patches in Codex's `apply_patch` format to one file: as Codex does, and with reasons where it refuses."""

from ekiden_patch.applying import INTENDED_DIFFERENCES, Applied, IntendedDifference, Replacement, apply_patch
from ekiden_patch.errors import PatchCode, PatchError
from ekiden_patch.files import Snapshot, Undo, read_snapshot, resolve_inside, sha256_of, undo_change, write_text
from ekiden_patch.grammar import Chunk, Patch, PatchLine, check_target, parse_patch
from ekiden_patch.matching import Ambiguity

__all__ = [
    "INTENDED_DIFFERENCES",
    "Ambiguity",
    "Applied",
    "Chunk",
    "IntendedDifference",
    "Patch",
    "PatchCode",
    "PatchError",
    "PatchLine",
    "Replacement",
    "Snapshot",
    "Undo",
    "apply_patch",
    "check_target",
    "parse_patch",
    "read_snapshot",
    "resolve_inside",
    "sha256_of",
    "undo_change",
    "write_text",
]
