"""What queries of a store must return, in the plainest Python: all rows in a list, and every definition spelt out."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from ekiden_store import Step

Row = dict[str, Any]
_STATES = ("⊢ a", "⊢ b", "h : p\r\n⊢ a", "⊢ \u2028x", "⊢ ∀ n, n = n", " ", "")
_TACTICS = ("simp", "  simp ", "intro h", "exact sorry", "ring", "exact h", "")
_THEOREMS = ("a", "b", "é", "e\u0301", "A")
_NAMES = tuple(each.name for each in fields(Step))


def random_steps(seed: int) -> list[Step]:
    """Return rows that nobody tidied: forests with colliding numbers, cycles, doubles, lost parents and sound trees."""
    dice = random.Random(seed)
    steps: list[Step] = []
    for number in range(60):
        steps.append(dice.choice(steps) if steps and dice.random() < 0.08 else _stray(dice, number))
    for number in range(10):
        steps += _search(dice, f"{dice.choice('rst')}/{number % 5}")
    dice.shuffle(steps)
    return steps


def _stray(dice: random.Random, number: int) -> Step:
    is_state = dice.random() < 0.9
    is_root = dice.random() < 0.15
    run = dice.choice(("r", "s", "t"))
    has_before = dice.random() < 0.2
    state = dice.choice(_STATES)
    return Step(
        theorem_name=dice.choice(_THEOREMS) if is_state or number % 2 else "",
        kind=dice.choice(("search_node", "tactic")) if is_state else dice.choice(("model_call", "verdict")),
        run_id=run,
        attempt_id=f"{run}/{dice.choice('xy')}",
        step=dice.choice((0, number)),
        state_id=dice.randrange(7),
        parent_state_id=None if is_root else dice.randrange(8),
        tactic_applied="" if is_root else dice.choice(_TACTICS),
        state_pp=state,
        state_before=(state if dice.random() < 0.5 else dice.choice(_STATES)) if has_before else None,
        state_after=dice.choice(_STATES) if dice.random() < 0.1 else None,
        depth_from_root=0 if is_root else dice.randrange(1, 4),
        is_proof_complete=dice.random() < 0.2,
        verdict="" if is_state else dice.choice(("accepted", "rejected")),
        cost_nanodollars=dice.choice((None, 3)),
        tokens_in=dice.choice((None, 5)),
        duration_ms=dice.choice((None, 7)),
        **_marks(dice),
    )


def _search(dice: random.Random, attempt: str) -> list[Step]:
    """Return a sound search; some of its states are those of others."""
    depths: list[int] = []
    found: list[Step] = []
    theorem = dice.choice(_THEOREMS)
    run = attempt.partition("/")[0]
    for number in range(12):
        parent = dice.randrange(number) if number else None
        depths.append(0 if parent is None else depths[parent] + 1)
        is_end = number > 4 and dice.random() < 0.25
        row = Step(
            theorem_name=theorem,
            kind="search_node",
            run_id=run,
            attempt_id=attempt,
            step=number,
            state_id=number,
            parent_state_id=parent,
            tactic_applied=f"t {dice.randrange(6)}" if number else "",
            state_pp="" if is_end or (number and dice.random() < 0.1) else f"⊢ {dice.randrange(40)}",
            depth_from_root=depths[-1],
            is_proof_complete=is_end,
            **_marks(dice),
        )
        found.append(row)
    return found


def _marks(dice: random.Random) -> dict[str, Any]:
    return {
        "label": dice.choice(("positive", "negative", "negative", "unknown")),
        "remaining_depth": dice.choice((-1, 0, 2)),
        "outcome": dice.choice(("", "ok", "ok", "ok", "failed")),
        "origin": dice.choice(("search", "search", "harvest", "ground_truth", "probe")),
        "llm_log_prob": dice.choice((0.0, -1.5, -10.0)),
        "ebm_score": dice.choice((0.0, 0.25, float("nan"))),
        "scored": dice.random() < 0.5,
        "iteration": dice.choice((None, 0, 1)),
    }


def rows_of(steps: list[Step]) -> list[Row]:
    """Return rows as dictionaries."""
    return [{name: getattr(step, name) for name in _NAMES} for step in steps]


def attempts(rows: list[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Return the states and tactics of each attempt, in order: as theorems, runs and attempts are called."""
    found: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] in ("search_node", "tactic"):
            found[row["theorem_name"], row["run_id"], row["attempt_id"]].append(row)
    return {key: sorted(found[key], key=_place) for key in sorted(found)}


def _place(row: Row) -> tuple[Any, ...]:
    rest = str(tuple(value for name, value in _as_a_tree_has_them(row) if name != "row_id"))
    return row["step"], row["depth_from_root"], row["state_id"], rest


def _as_a_tree_has_them(row: Row) -> list[tuple[str, Any]]:
    from ekiden_store.queries.trees import COLUMNS

    return [(name, row[name]) for name in COLUMNS]


def after(row: Row) -> str | None:
    """Return the state that a row led to."""
    if row["state_after"] is not None or row["outcome"] == "failed":
        return row["state_after"]
    holds_before = row["tactic_applied"] and row["state_before"] is not None and row["state_before"] == row["state_pp"]
    return None if holds_before else row["state_pp"]


def is_end(row: Row) -> bool:
    return row["is_proof_complete"] and row["outcome"] != "failed"


class PlainTree:
    """An attempt: for each row its parent, or why it has none."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.begun = self._begun()
        self.parent: list[int | None] = []
        self.fault: list[str | None] = []
        for number in range(len(rows)):
            parent, fault = self._parent(number)
            self.parent.append(parent)
            self.fault.append(fault)
        for number in [number for number in range(len(rows)) if number in self._above(number)]:
            self.fault[number] = "cycle"
        for number, fault in enumerate(self.fault):
            if fault:
                self.parent[number] = None
        complete = [number for number, row in enumerate(rows) if is_end(row)]
        self.gave_up = [end for end in complete if any("sorry" in rows[at]["tactic_applied"] for at in self.path(end))]
        self.ends = [end for end in complete if end not in self.gave_up]
        self.good = {number for end in self.ends for number in self.path(end)}

    def _begun(self) -> list[int]:
        found: list[int] = []
        for number, row in enumerate(self.rows):
            is_root = row["parent_state_id"] is None and not row["tactic_applied"]
            since = [
                other["state_id"]
                for other, begun in zip(self.rows[:number], found, strict=True)
                if begun == found[-1] and other["outcome"] != "failed"
            ]
            found.append((found[-1] if found else 0) + (is_root and row["state_id"] in since))
        return found

    def _parent(self, number: int) -> tuple[int | None, str | None]:
        wanted = self.rows[number]["parent_state_id"]
        if wanted is None:
            return None, None
        anywhere = [
            other for other, row in enumerate(self.rows) if row["state_id"] == wanted and row["outcome"] != "failed"
        ]
        here = [other for other in anywhere if self.begun[other] == self.begun[number]]
        found = here or anywhere
        if not found:
            return None, "unknown_parent"
        states = [after(self.rows[other]) for other in found]
        if len(found) > 1 and (states[0] is None or any(state != states[0] for state in states)):
            return None, "ambiguous_parent"
        return found[0], None

    def _above(self, number: int) -> list[int]:
        found: list[int] = []
        at = self.parent[number]
        while at is not None and at not in found:
            found.append(at)
            at = self.parent[at]
        return found

    def path(self, number: int) -> list[int]:
        """Return the rows from the root to one."""
        return [*self._above(number)[::-1], number]

    def before(self, number: int) -> str | None:
        """Return the state before a row's tactic."""
        row, parent = self.rows[number], self.parent[number]
        if not row["tactic_applied"]:
            return None
        if row["state_before"] is not None:
            return row["state_before"]
        return None if parent is None else after(self.rows[parent])

    def reason(self, number: int, *, failed: bool = False) -> str | None:
        """Return why a row is no example."""
        row, before = self.rows[number], self.before(number)
        if not row["tactic_applied"].strip():
            return "root"
        if row["outcome"] == "failed" and not failed:
            return "failed_tactic"
        if "sorry" in row["tactic_applied"]:
            return "sorry"
        if before is None:
            return self.fault[number] or "state_before_unknown"
        return None if before.strip() else "finished_before"

    def paths(self) -> Iterator[list[tuple[str | None, str]]]:
        """Yield completed proofs of which all is known."""
        for end in self.ends:
            path = self.path(end)
            steps = [number for number in path if self.rows[number]["tactic_applied"]]
            if steps and not self.fault[path[0]] and not any(map(self.reason, steps)):
                yield [(self.before(number), self.rows[number]["tactic_applied"]) for number in steps]


def plain_trees(rows: list[Row]) -> dict[tuple[str, str, str], PlainTree]:
    """Return all attempts."""
    return {key: PlainTree(found) for key, found in attempts(rows).items()}


def plain_examples(rows: list[Row], **wanted: Any) -> tuple[list[tuple[Any, ...]], Counter[str]]:
    """Return theorem, state before, tactic, depth and state after of some rows, and why others are none."""
    found: list[tuple[Any, ...]] = []
    reasons: Counter[str] = Counter()
    for (theorem, _, _), tree in plain_trees(rows).items():
        for number, row in enumerate(tree.rows):
            if any(row[name] not in values for name, values in wanted.items()):
                continue
            if reason := tree.reason(number):
                reasons[reason] += 1
                continue
            depth = max(row["depth_from_root"] - 1, 0)
            found.append((theorem, tree.before(number), row["tactic_applied"], depth, after(row)))
    return found, reasons


def plain_contrasts(rows: list[Row], *, failed: bool, on_proofs: bool, conflicts: bool) -> list[tuple[Any, ...]]:
    """Return theorem, state, positive and negative tactic and both states after, of children of one parent."""
    labelled = {
        row["state_pp"]
        for row in rows
        if row["kind"] in ("search_node", "tactic") and row["label"] == "positive" and row["state_pp"]
    }
    every = plain_trees(rows)
    found: list[tuple[Any, ...]] = []
    for (theorem, _, _), tree in every.items():
        beside = [other for (name, _, _), other in every.items() if name == theorem]
        for one, row in enumerate(tree.rows):
            if row["label"] != "positive" or tree.reason(one) or (on_proofs and one not in tree.good):
                continue
            for other, rival in enumerate(tree.rows):
                if other == one or tree.parent[one] is None or tree.parent[other] != tree.parent[one]:
                    continue
                has_failed = rival["outcome"] == "failed"
                is_bad = failed if has_failed else rival["label"] == "negative" and after(rival) != ""
                if not is_bad or other in tree.good or tree.reason(other, failed=failed):
                    continue
                if tree.before(other) != tree.before(one) or _words(rival) == _words(row):
                    continue
                if not conflicts and _is_good_elsewhere(tree, other, beside, labelled):
                    continue
                shown = None if has_failed else after(rival)
                found.append(
                    (theorem, tree.before(one), row["tactic_applied"], rival["tactic_applied"], after(row), shown)
                )
    return found


def _is_good_elsewhere(tree: PlainTree, number: int, beside: list[PlainTree], labelled: set[str]) -> bool:
    row = tree.rows[number]
    state = None if row["outcome"] == "failed" else after(row)
    for other in beside:
        for place, good in enumerate(other.rows):
            is_good = good["label"] == "positive" and good["outcome"] != "failed"
            if place in other.good or is_good:
                if (other.before(place), _words(good)) == (tree.before(number), _words(row)):
                    return True
                if state is not None and after(good) == state:
                    return True
    return state in labelled


def _words(row: Row) -> list[str]:
    return row["tactic_applied"].split()
