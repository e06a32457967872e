"""A store of several iterations, runs and models, with names that are hard to show."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ekiden_store import Step

AWKWARD = ('Nat.<add> & "zero"', "定理 ∀ε>0 — Ünïcödé", "$\\alpha$ </table><script>alert(1)</script>", "a" * 90)
RUNS = ("first <run> & co", "zweiter-Lauf-ü", "third", "")
MODELS = ("prover-7b", "big & <bold>", "")
FAILURES = ("lean_error", "timeout", "unknown identifier <x> & $y$", "")
START_MS, DAY_MS = 1_767_225_600_000, 86_400_000
KEY = "ghp_" + "a1B2" * 9


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a store is.

    Attributes:
        theorems: How many theorems each iteration attempts.
        iterations: Their numbers; None: its rows name none.
        seed: Another seed makes other rows.
        costs: Whether calls of models bear a cost.
    """

    theorems: int = 60
    iterations: tuple[int | None, ...] = (0, 1, 2, None)
    seed: int = 1
    costs: bool = True


def attempts(shape: Shape) -> Iterator[Step]:
    """Yield the rows: searches, calls of models, verdicts, copied proofs, and one proof by `sorry`."""
    chance = random.Random(shape.seed)
    for place, iteration in enumerate(shape.iterations):
        run = RUNS[place % len(RUNS)]
        blank = Step(
            theorem_name="", kind="message", run_id=run, iteration=iteration, timestamp_ms=START_MS + place * DAY_MS
        )
        yield replace(
            blank, kind="model_call", attempt_id="whole", model=MODELS[0], cost_nanodollars=7_000_000, tokens_in=10
        )
        for number in range(shape.theorems):
            model = MODELS[(place + number) % len(MODELS)]
            theorem = AWKWARD[number] if number < len(AWKWARD) else f"theorem_{number}"
            mine = replace(blank, theorem_name=theorem, model=model, attempt_id=f"{run}/{number}")
            yield from _attempt(mine, chance, ease=0.15 + 0.12 * place + 0.4 / (1 + number), costs=shape.costs)
    for number in range(shape.theorems // 4):
        yield from _copied(f"copied_{number}")
    yield Step(theorem_name="given up", kind="tool_call", failure_kind=KEY, outcome="failed", timestamp_ms=START_MS)
    yield Step(
        theorem_name="given up", kind="tactic", tactic_applied="exact sorry", is_proof_complete=True, label="positive",
        depth_from_root=1, iteration=0, timestamp_ms=START_MS, outcome="ok",
    )  # fmt: skip


def _attempt(blank: Step, chance: random.Random, *, ease: float, costs: bool) -> Iterator[Step]:
    length = 1 + min(int(chance.expovariate(0.5)), 40)
    is_proved = chance.random() < ease
    label = "positive" if is_proved else "negative"
    node = replace(blank, kind="search_node", origin=chance.choice(("search", "probe", "agent")))
    yield replace(node, state_pp=f"⊢ {blank.theorem_name}", label=label)
    for depth in range(1, length + 1):
        is_last = is_proved and depth == length
        yield replace(
            node, step=depth, state_id=depth, parent_state_id=depth - 1, tactic_applied=f"step{depth}", label=label,
            depth_from_root=depth, is_proof_complete=is_last, outcome="ok", duration_ms=chance.randrange(500),
        )  # fmt: skip
        for other in range(chance.randrange(4)):
            failed = chance.random() < 0.6
            yield replace(
                node, step=100 + other, state_id=100 * depth + other, parent_state_id=depth - 1, label="negative",
                tactic_applied=f"simp {other}", depth_from_root=depth, outcome="failed" if failed else "ok",
                failure_kind=chance.choice(FAILURES) if failed else "",
            )  # fmt: skip
        yield replace(
            blank, kind="model_call", step=1_000 + depth, tokens_in=chance.randrange(2_000), outcome="ok",
            tokens_out=chance.randrange(400) if chance.random() < 0.9 else None, duration_ms=chance.randrange(9_000),
            cost_nanodollars=chance.randrange(20_000_000) if costs and chance.random() < 0.95 else None,
        )  # fmt: skip
    if chance.random() < 0.5:
        yield replace(
            blank, kind="verdict", step=9_999, verdict="accepted" if is_proved else "rejected",
            is_proof_complete=is_proved, outcome="ok" if is_proved else "failed",
            failure_kind="" if is_proved else "not_proved",
        )  # fmt: skip


def _copied(theorem: str) -> Iterator[Step]:
    node = Step(
        theorem_name=theorem,
        kind="tactic",
        origin="ground_truth",
        label="positive",
        run_id="negatives",
        timestamp_ms=START_MS,
    )
    yield replace(node, state_pp=f"⊢ {theorem}")
    yield replace(node, step=1, tactic_applied="simp", depth_from_root=1, is_proof_complete=True)
