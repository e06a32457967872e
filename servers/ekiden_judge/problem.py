"""One problem: does law 1 imply law 2 in every magma?"""

from functools import lru_cache
from typing import Annotated, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ekiden_judge.errors import JudgeConfigurationError
from ekiden_magma import Law, MagmaError, parse_law

STANDARD_AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
"""The axioms that the tracks allow where a problem has no policy of its own."""

_TRACK_PREFIXES = """
And. Bool. Classical. Decidable. Eq. EquationLHS EquationRHS Goal Exists. False. Fin. Fintype. Function.
HEq. Iff. Init. Int. Lean. List. Magma. Mathlib. MemoFinOp. Nat. Nonempty. Not. NthRewrites. OfNat.
Option. Or. Prod. PUnit. RewriteCombinations. RewriteGoal. RewriteHypothesis. RewriteHypothesisAndGoal.
SimpleRewrites. Std. Subgraph. Subtype. Sum. Trans. True. Unit. JudgeDecide. JudgeFinOp. JudgeMagma.
inst of_decide_ submission. congrArg congr_arg eq_self of_eq_true id eq_comm eq_mp eq_mpr rfl absurd
"""
TRACK_PREFIXES = frozenset(_TRACK_PREFIXES.split())
"""The prefixes of constants that the tracks allow where a problem has no policy of its own."""

_Text = Annotated[str, Field(min_length=1, strict=True)]
_Texts = Annotated[tuple[_Text, ...], Field(strict=False)]
_Number = Annotated[int, Field(ge=0)]


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Law:
    return parse_law(text)


class ProofPolicy(BaseModel):
    """Which axioms and constants a proof may use.

    Declarations are checked only where `allowed_declarations` is given; no axiom is allowed where `allowed_axioms` is
    not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    allowed_axioms: _Texts = ()
    allowed_declarations: _Texts | None = None
    allowed_declaration_prefixes: _Texts = ()


class Problem(BaseModel):
    """A problem record with exactly the keys of the SAIR judge; `read` takes what comes from outside.

    `answer` is the label, where the record has one: it must not reach a solver, see `unlabelled`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: _Text
    eq1_id: _Number
    eq2_id: _Number
    equation1: _Text
    equation2: _Text
    answer: bool | None = None
    index: _Number | None = None
    difficulty: str | None = None
    proof_policy: ProofPolicy | None = None

    @field_validator("answer", "index", "difficulty", "proof_policy", mode="before")
    @classmethod
    def _refuse_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("leave the key out instead of writing null")
        return value

    @field_validator("equation1", "equation2")
    @classmethod
    def _require_law(cls, text: str) -> str:
        _parsed(text)
        return text

    @classmethod
    def read(cls, record: object, *, where: str = "problem") -> Self:
        """Validate one record.

        Args:
            record: A parsed JSON value.
            where: What the record is called in messages, such as `manifest.jsonl:3`.

        Raises:
            JudgeConfigurationError: A key is missing, unknown or ill-typed, or a law cannot be read; the message
                names the key, the value and the record.
        """
        if not isinstance(record, dict):
            raise JudgeConfigurationError(f"{where}: a problem is a JSON object, not {_shown(record)}.")
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            name = cast("dict[str, object]", record).get("id")
            called = f" {_shown(name)}" if isinstance(name, str) and name else ""
            raise JudgeConfigurationError(f"{where}: the problem{called} is refused. {_faults(error)}") from error

    @property
    def law1(self) -> Law:
        """The premise."""
        return _parsed(self.equation1)

    @property
    def law2(self) -> Law:
        """The conclusion."""
        return _parsed(self.equation2)

    def unlabelled(self) -> dict[str, object]:
        """Return the record as a solver may see it: without `answer`, the other keys as they came."""
        return self.model_dump(mode="json", exclude={"answer"}, exclude_unset=True)


def _faults(error: ValidationError) -> str:
    sentences: list[str] = []
    for fault in error.errors():
        key = ".".join(map(str, fault["loc"]))
        cause = fault.get("ctx", {}).get("error")
        match fault["type"]:
            case "missing":
                sentences.append(f"The key {key!r} is missing.")
            case "extra_forbidden":
                known = ", ".join(Problem.model_fields if len(fault["loc"]) == 1 else ProofPolicy.model_fields)
                sentences.append(f"The key {key!r} is unknown; known keys are {known}.")
            case "value_error" if isinstance(cause, MagmaError):
                sentences.append(f"The key {key!r} holds no law. {cause}")
            case _:
                reason = str(cause) if cause else fault["msg"][:1].lower() + fault["msg"][1:]
                sentences.append(f"The key {key!r} is {_shown(fault['input'])}: {reason}.")
    return " ".join(sentences)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
