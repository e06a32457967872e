"""A made-up search of any size, always the same one: for benchmarks of the trajectory store."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ekiden_store import Step, Store
from ekiden_store.checksums import with_checksum

ATTEMPT_ROWS = 40
ATTEMPTS = 3
BATCH_ROWS = 4_000
_PROOF = frozenset({0, 1, 4, 13, ATTEMPT_ROWS - 1})
_PROVED_EACH = 7
HYPOTHESES = ("Group G", "CommRing R", "TopologicalSpace X", "Fintype ι", "LinearOrder α", "MeasurableSpace Ω")
TACTICS = ("simp [mul_assoc, lemma_{}] at h", "rw [← foo_{}]", "nlinarith [sq_nonneg (a - {})]", "exact bar_{} h₁ h₂")


@dataclass(frozen=True)
class Search:
    """A search of some theorems: each is attempted three times, far apart in time.

    Attributes:
        rows: How many rows there are: a multiple of a share's.
        share_rows: How many rows tell of the same theorems: a multiple of an attempt's.
    """

    rows: int
    share_rows: int

    @classmethod
    def at_least(cls, rows: int, *, share_rows: int = 500_000) -> "Search":
        """Return the search that has so many rows at least, in shares of at most so many."""
        unit = share_rows if rows > share_rows else ATTEMPT_ROWS
        rows = -(-rows // unit) * unit
        return cls(rows, min(rows, share_rows))

    @property
    def shares(self) -> int:
        """How many shares there are."""
        return self.rows // self.share_rows

    @property
    def positives(self) -> int:
        """How many rows are labelled positive."""
        return self.shares * len(_PROOF) * -(-(self.share_rows // ATTEMPT_ROWS) // _PROVED_EACH)

    def attempt(self, number: int, share: int) -> list[Step]:
        """Return the rows of one attempt of a share."""
        theorems = max(1, self.share_rows // ATTEMPT_ROWS // ATTEMPTS)
        draw = random.Random(number)
        path = _PROOF if number % _PROVED_EACH == 0 else frozenset[int]()
        place = _Place(share, number * 7_919 % theorems, number)
        return [_row(node, place, path, draw.random()) for node in range(ATTEMPT_ROWS)]

    def batches(self, share: int) -> Iterator[list[Step]]:
        """Yield the rows of a share, some thousands at a time."""
        attempts = self.share_rows // ATTEMPT_ROWS
        each = BATCH_ROWS // ATTEMPT_ROWS
        for first in range(0, attempts, each):
            numbers = range(first, min(attempts, first + each))
            yield [step for number in numbers for step in self.attempt(number, share)]

    def fill(self, store: Store) -> None:
        """Put all shares but the last into a store.

        All but the first are copies of its segments, in which names and states are other ones: that is soon done.
        """
        if self.shares == 1:
            return
        with store.writer(producer="benchmark") as writer:
            for steps in self.batches(0):
                writer.append(steps)
        segments = sorted((store.folder / "wal").glob("*/*.jsonl"))
        for share in range(1, self.shares - 1):
            folder = store.folder / "wal" / f"share-{share}"
            folder.mkdir()
            for segment in segments:
                (folder / segment.name).write_bytes(_of_share(segment.read_bytes(), share))


def _of_share(lines: bytes, share: int) -> bytes:
    """Return the lines of the first share as those of another."""
    for place in (b".theorem_", b"/", "⊢ f".encode()):
        lines = lines.replace(place + b"0x", place + b"%dx" % share)
    lines = lines.replace(b'"row_id":"', b'"row_id":"%dx' % share)
    return b"".join(with_checksum(line[: line.rindex(b',"crc32":')] + b"}\n") for line in lines.split(b"\n")[:-1])


class _Place(NamedTuple):
    share: int
    theorem: int
    attempt: int


def _row(node: int, place: _Place, path: frozenset[int], chance: float) -> Step:
    share, theorem, number = place
    is_end = node == ATTEMPT_ROWS - 1 and node in path
    is_failure = chance < 0.1 and node > 0 and node not in path
    depth = 0 if not node else 4 if is_end else len(f"{node:b}") // 2 + 1
    return Step(
        theorem_name=f"Mathlib.Algebra.Module{theorem % 61}.theorem_{share}x{theorem}_of_{theorem % 13}",
        kind="search_node",
        state_id=node,
        state_pp="" if is_end or is_failure else _state(share, theorem, node),
        tactic_applied=TACTICS[node % 4].format((theorem + node) % 3_000) if node else "",
        parent_state_id=13 if is_end else (node - 1) // 3 if node else None,
        label="positive" if node in path else "negative",
        depth_from_root=depth,
        remaining_depth=4 - depth if node in path else -1,
        llm_log_prob=-20 * chance,
        ebm_score=round(chance, 3),
        is_proof_complete=is_end,
        timestamp_ms=1_760_000_000_000 + number * 1_000,
        run_id=f"iteration-{number % 5}",
        attempt_id=f"iteration-{number % 5}/{share}x{number}",
        step=node,
        iteration=number % 5,
        outcome="failed" if is_failure else "ok" if node else "",
        failure_kind="lean_error" if is_failure else "",
        lean_messages=("linarith failed to find a contradiction",) if is_failure else (),
        model="prover-7b",
        settings_sha256="5e" * 32,
        temperature=0.8,
        duration_ms=int(chance * 900),
        scored=node > 0,
    )


def _state(share: int, theorem: int, node: int) -> str:
    lines = [f"inst✝{place} : {HYPOTHESES[(theorem + place) % 6]}" for place in range(2 + theorem % 4)]
    lines += [f"h{place} : f{place} (a + {theorem % 977}) ≤ g (b * {place})" for place in range(1 + node % 4)]
    return "\n".join((*lines, f"⊢ f{share}x{node} (a * {theorem}) + b ^ {node} ≤ c⁻¹ * (g b + {theorem % 89})"))
