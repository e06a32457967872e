"""Which rows of a store something is about, said as data."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ekiden_store.columns import Kind, Label, Origin

_SEARCHED = (
    *("theorem_name", "state_pp", "tactic_applied", "state_before", "state_after", "failure_kind", "verdict"),
    *("tool", "tool_input", "tool_output", "model"),
)


class RowFilter(BaseModel):
    """Which rows: all that is said must hold; what is left out lets everything through."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: tuple[str, ...] = Field(default=(), description="Only rows of these runs.")
    attempts: tuple[str, ...] = Field(default=(), description="Only rows of these attempts.")
    theorems: tuple[str, ...] = Field(default=(), description="Only rows of these theorems.")
    without_theorems: tuple[str, ...] = Field(
        default=(), description="No rows of these theorems, a benchmark's for example."
    )
    kinds: tuple[Kind, ...] = Field(default=(), description="Only rows of these kinds.")
    labels: tuple[Label, ...] = Field(default=(), description="Only rows with these labels.")
    origins: tuple[Origin, ...] = Field(default=(), description="Only rows that come from there.")
    without_origins: tuple[Origin, ...] = Field(default=(), description="No rows that come from there.")
    iterations: tuple[int, ...] = Field(default=(), description="Only rows of these iterations.")
    models: tuple[str, ...] = Field(default=(), description="Only rows of these models.")
    min_depth: int | None = Field(
        default=None, ge=0, description="Only rows at least this many tactics below the root."
    )
    max_depth: int | None = Field(default=None, ge=0, description="Only rows at most this many tactics below the root.")

    def expression(self) -> Any:
        """Return it as a pyarrow expression; None: all rows."""
        return _all_of(
            _among("run_id", self.runs),
            _among("attempt_id", self.attempts),
            _among("theorem_name", self.theorems),
            _among("theorem_name", self.without_theorems, wanted=False),
            _among("kind", self.kinds),
            _among("label", self.labels),
            _among("origin", self.origins),
            _among("origin", self.without_origins, wanted=False),
            _among("iteration", self.iterations),
            _among("model", self.models),
            None if self.min_depth is None else _field("depth_from_root") >= self.min_depth,
            None if self.max_depth is None else _field("depth_from_root") <= self.max_depth,
        )

    def rows_of_attempts(self) -> "RowFilter":
        """Return the filter without what tells rows of one attempt apart: parents are looked up among these."""
        return self.model_copy(
            update={"kinds": (), "labels": (), "origins": (), "without_origins": (), "models": (), "iterations": ()}
            | {"min_depth": None, "max_depth": None}
        )


def both(left: Any, right: Any) -> Any:
    """Return an expression for rows that two expressions let through; None lets all through."""
    return _all_of(left, right)


def mentions(text: str) -> Any:
    """Return an expression for rows of which some text holds this one; small and capital letters are the same."""
    from ekiden_store.arrow import pc

    found: Any = None
    for name in _SEARCHED:
        here = pc.match_substring(_field(name), pattern=text, ignore_case=True)
        found = here if found is None else found | here
    return found


def _field(name: str) -> Any:
    from ekiden_store.arrow import pc

    return pc.field(name)


def _among(name: str, values: tuple[object, ...], *, wanted: bool = True) -> Any:
    if not values:
        return None
    inside = _field(name).isin(list(values))
    return inside if wanted else ~inside


def _all_of(*expressions: Any) -> Any:
    found: Any = None
    for expression in expressions:
        if expression is not None:
            found = expression if found is None else found & expression
    return found
