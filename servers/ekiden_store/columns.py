"""The columns of a step: what their names, types and defaults are. It imports nothing but the standard library."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Label: TypeAlias = Literal["positive", "negative", "unknown"]
Kind: TypeAlias = Literal["search_node", "tactic", "tool_call", "model_call", "message", "verdict"]
Outcome: TypeAlias = Literal["", "ok", "failed"]
Origin: TypeAlias = Literal["search", "harvest", "ground_truth", "probe", "agent", "solver", "import"]
StatePpIs: TypeAlias = Literal["after", "before", "mixed"]
ColumnType: TypeAlias = Literal["text", "texts", "bool", "float64", "int32", "int64", "uint32", "uint64"]

STATE_KINDS: tuple[Kind, ...] = ("search_node", "tactic")
"""Rows that tell of a proof state or a tactic; others have no label."""
NOT_ATTEMPTED: tuple[Origin, ...] = ("ground_truth",)
"""Where rows come from that are copied proofs, and no attempt at one."""
LAST_STEP = 2**32 - 1
"""The step of what ends an attempt: behind all else, however much a resumed run adds."""

SCHEMA_VERSION = 1
INTEGER_RANGES: dict[ColumnType, range] = {
    "int32": range(-(2**31), 2**31),
    "int64": range(-(2**63), 2**63),
    "uint32": range(2**32),
    "uint64": range(2**64),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a step.

    Attributes:
        name: What it is called, in files and in `Step`.
        type: What it holds.
        default: What it holds where nothing was said; None: it may hold nothing.
        choices: What a text may be; empty: anything.
    """

    name: str
    type: ColumnType
    default: object
    choices: tuple[str, ...] = ()

    @property
    def is_nullable(self) -> bool:
        """Whether it may hold nothing."""
        return self.default is None


REFERENCE_COLUMNS = (
    Column("theorem_name", "text", ""),
    Column("state_id", "uint64", 0),
    Column("state_pp", "text", ""),
    Column("tactic_applied", "text", ""),
    Column("parent_state_id", "uint64", None),
    Column("label", "text", "unknown", get_args(Label)),
    Column("depth_from_root", "uint32", 0),
    Column("remaining_depth", "int32", -1),
    Column("llm_log_prob", "float64", 0.0),
    Column("ebm_score", "float64", 0.0),
    Column("is_proof_complete", "bool", False),
    Column("timestamp_ms", "uint64", 0),
    Column("q_value", "float64", 0.0),
    Column("visits", "uint32", 0),
)
"""What trajectory files of expert iteration hold; older ones lack the last two."""

COLUMNS = (
    *REFERENCE_COLUMNS,
    Column("row_id", "text", ""),
    Column("run_id", "text", ""),
    Column("attempt_id", "text", ""),
    Column("step", "uint32", 0),
    Column("kind", "text", "search_node", get_args(Kind)),
    Column("iteration", "int32", None),
    Column("state_before", "text", None),
    Column("state_after", "text", None),
    Column("outcome", "text", "", get_args(Outcome)),
    Column("failure_kind", "text", ""),
    Column("lean_messages", "texts", ()),
    Column("verdict", "text", ""),
    Column("tool", "text", ""),
    Column("tool_input", "text", ""),
    Column("tool_output", "text", ""),
    Column("model", "text", ""),
    Column("prompt_sha256", "text", ""),
    Column("settings_sha256", "text", ""),
    Column("temperature", "float64", None),
    Column("tokens_in", "uint64", None),
    Column("tokens_out", "uint64", None),
    Column("cost_nanodollars", "int64", None),
    Column("duration_ms", "uint64", None),
    Column("scored", "bool", False),
    Column("origin", "text", "search", get_args(Origin)),
    Column("source", "text", ""),
    Column("producer", "text", ""),
)
"""What a step holds: the reference's columns first, then ours."""
