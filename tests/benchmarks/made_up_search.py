"""A made-up search of any size, the same rows for the same size: for benchmarks of the trajectory store."""

import random
from collections.abc import Iterator

from ekiden_store import Step, Store
from ekiden_store.checksums import with_checksum

ATTEMPT_ROWS = 40
ATTEMPTS = 3
BATCH_ROWS = 4_000
SHARE_ROWS = 500_000
HYPOTHESES = ("Group G", "CommRing R", "TopologicalSpace X", "Fintype ι", "LinearOrder α", "MeasurableSpace Ω")
TACTICS = ("simp [mul_assoc, lemma_{}] at h", "rw [← foo_{}]", "nlinarith [sq_nonneg (a - {})]", "exact bar_{} h₁ h₂")


def attempt(number: int, attempts: int, share: int = 0) -> list[Step]:
    """Return the rows of one attempt of so many; the same ones for the same numbers."""
    theorems = max(1, attempts // ATTEMPTS)
    theorem = number * 7_919 % theorems
    draw = random.Random(number)
    proved = number % 7 == 0
    path = {0, 1, 4, 13, ATTEMPT_ROWS - 1} if proved else set[int]()
    return [_row(node, theorem, f"{share}x{number}", path, draw.random()) for node in range(ATTEMPT_ROWS)]


def _row(node: int, theorem: int, name: str, path: set[int], chance: float) -> Step:
    share, _, told = name.partition("x")
    number = int(told)
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
        attempt_id=f"iteration-{number % 5}/{name}",
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


def _state(share: str, theorem: int, node: int) -> str:
    lines = [f"inst✝{place} : {HYPOTHESES[(theorem + place) % 6]}" for place in range(2 + theorem % 4)]
    lines += [f"h{place} : f{place} (a + {theorem % 977}) ≤ g (b * {place})" for place in range(1 + node % 4)]
    return "\n".join((*lines, f"⊢ f{share}x{node} (a * {theorem}) + b ^ {node} ≤ c⁻¹ * (g b + {theorem % 89})"))


def batches(rows: int, share: int = 0) -> Iterator[list[Step]]:
    """Yield so many rows, some thousands at a time; those of another share tell of other theorems."""
    attempts = rows // ATTEMPT_ROWS
    each = BATCH_ROWS // ATTEMPT_ROWS
    for first in range(0, attempts, each):
        numbers = range(first, min(attempts, first + each))
        yield [step for number in numbers for step in attempt(number, attempts, share)]


def fill(store: Store, rows: int) -> int:
    """Put all shares of a search into a store but the last; return the number of that one.

    All but the first are copies of its segments, in which names and states are other ones: that is soon done.
    """
    last = rows // share_rows(rows) - 1
    if last > 0:
        with store.writer(producer="benchmark") as writer:
            for steps in batches(share_rows(rows)):
                writer.append(steps)
    segments = sorted((store.folder / "wal").glob("*/*.jsonl"))
    for share in range(1, last):
        folder = store.folder / "wal" / f"share-{share}"
        folder.mkdir()
        for segment in segments:
            (folder / segment.name).write_bytes(_of_share(segment.read_bytes(), share))
    return last


def _of_share(lines: bytes, share: int) -> bytes:
    """Return the lines of the first share as those of another."""
    for place in (b".theorem_", b"/", "⊢ f".encode()):
        lines = lines.replace(place + b"0x", place + b"%dx" % share)
    lines = lines.replace(b'"row_id":"', b'"row_id":"%dx' % share)
    return b"".join(with_checksum(line[: line.rindex(b',"crc32":')] + b"}\n") for line in lines.split(b"\n")[:-1])


def share_rows(rows: int) -> int:
    """Return how many rows a share has."""
    return SHARE_ROWS if rows > SHARE_ROWS else rows


def whole_shares(rows: int) -> int:
    """Return how many rows the search has that has so many at least."""
    unit = SHARE_ROWS if rows > SHARE_ROWS else ATTEMPT_ROWS
    return -(-rows // unit) * unit


def positives(rows: int) -> int:
    """Return how many rows are labelled positive."""
    shares = rows // share_rows(rows)
    return shares * 5 * -(-(share_rows(rows) // ATTEMPT_ROWS) // 7)
