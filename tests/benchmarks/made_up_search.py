"""A made-up search of any size, the same rows for the same size: for benchmarks of the trajectory store."""

import random
from collections.abc import Iterator

from ekiden_store import Step

ATTEMPT_ROWS = 40
ATTEMPTS = 3
BATCH_ROWS = 4_000
HYPOTHESES = ("Group G", "CommRing R", "TopologicalSpace X", "Fintype ι", "LinearOrder α", "MeasurableSpace Ω")
TACTICS = ("simp [mul_assoc, lemma_{}] at h", "rw [← foo_{}]", "nlinarith [sq_nonneg (a - {})]", "exact bar_{} h₁ h₂")


def attempt(number: int, attempts: int) -> list[Step]:
    """Return the rows of one attempt; the same ones for the same number."""
    theorems = max(1, attempts // ATTEMPTS)
    theorem = number * 7_919 % theorems
    draw = random.Random(number)
    proved = number % 7 == 0
    path = {0, 1, 4, 13, ATTEMPT_ROWS - 1} if proved else set[int]()
    return [_row(node, theorem, number, path, draw.random()) for node in range(ATTEMPT_ROWS)]


def _row(node: int, theorem: int, number: int, path: set[int], chance: float) -> Step:
    is_end = node == ATTEMPT_ROWS - 1 and node in path
    is_failure = chance < 0.1 and node > 0 and node not in path
    depth = 0 if not node else 4 if is_end else len(f"{node:b}") // 2 + 1
    return Step(
        theorem_name=f"Mathlib.Algebra.Module{theorem % 61}.theorem_{theorem}_of_{theorem % 13}",
        kind="search_node",
        state_id=node,
        state_pp="" if is_end or is_failure else _state(theorem, node),
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
        attempt_id=f"iteration-{number % 5}/{number}",
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


def _state(theorem: int, node: int) -> str:
    lines = [f"inst✝{place} : {HYPOTHESES[(theorem + place) % 6]}" for place in range(2 + theorem % 4)]
    lines += [f"h{place} : f{place} (a + {theorem % 977}) ≤ g (b * {place})" for place in range(1 + node % 4)]
    return "\n".join((*lines, f"⊢ f{node} (a * {theorem}) + b ^ {node} ≤ c⁻¹ * (g b + {theorem % 89})"))


def batches(rows: int) -> Iterator[list[Step]]:
    """Yield all rows, some thousands at a time."""
    attempts = rows // ATTEMPT_ROWS
    each = BATCH_ROWS // ATTEMPT_ROWS
    for first in range(0, attempts, each):
        yield [step for number in range(first, min(attempts, first + each)) for step in attempt(number, attempts)]


def positives(rows: int) -> int:
    """Return how many rows are labelled positive."""
    return 5 * -(-(rows // ATTEMPT_ROWS) // 7)
