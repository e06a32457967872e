"""Verdicts: what the judge says about one answer."""

from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ekiden_judge.diagnostics import Diagnostic

Status = Literal[
    "accepted",
    "unparsed",
    "malformed",
    "incomplete_proof",
    "incorrect",
    "undecided",
    "not_attempted",
    "harness_error",
]
ErrorCode = Literal[
    "ACCEPTED",
    "UNPARSED_JSON",
    "DUPLICATE_JSON_KEYS",
    "ANSWER_NOT_OBJECT",
    "ANSWER_SCHEMA_ERROR",
    "INVALID_VERDICT",
    "INVALID_CODE_FIELD",
    "CODE_TOO_LONG",
    "FALSE_CERT_TOO_LARGE",
    "BANNED_PLACEHOLDER",
    "DISALLOWED_AXIOMS",
    "DISALLOWED_DECLARATIONS",
    "LEAN_REJECTED",
    "LEAN_TIMEOUT",
    "NEEDS_LEAN",
    "NOT_ATTEMPTED",
    "HARNESS_ERROR",
]
CheckCode = Literal[
    "ACCEPTED",
    "DISALLOWED_AXIOMS",
    "DISALLOWED_DECLARATIONS",
    "LEAN_REJECTED",
    "LEAN_TIMEOUT",
    "NEEDS_LEAN",
    "HARNESS_ERROR",
]
Claim = Literal["true", "false"]
CertificateKind = Literal["table", "residue_model", "equational_proof"]

STATUSES: tuple[Status, ...] = get_args(Status)
STATUS_OF: dict[ErrorCode, Status] = {
    "ACCEPTED": "accepted",
    "UNPARSED_JSON": "unparsed",
    "DUPLICATE_JSON_KEYS": "malformed",
    "ANSWER_NOT_OBJECT": "malformed",
    "ANSWER_SCHEMA_ERROR": "malformed",
    "INVALID_VERDICT": "malformed",
    "INVALID_CODE_FIELD": "malformed",
    "CODE_TOO_LONG": "malformed",
    "FALSE_CERT_TOO_LARGE": "malformed",
    "BANNED_PLACEHOLDER": "incomplete_proof",
    "DISALLOWED_AXIOMS": "incomplete_proof",
    "DISALLOWED_DECLARATIONS": "incomplete_proof",
    "LEAN_REJECTED": "incorrect",
    "LEAN_TIMEOUT": "incorrect",
    "NEEDS_LEAN": "undecided",
    "NOT_ATTEMPTED": "not_attempted",
    "HARNESS_ERROR": "harness_error",
}


class Verdict(BaseModel):
    """What the judge says about one answer; status and code always belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Annotated[
        Status,
        Field(
            description="accepted, unparsed, malformed, incomplete_proof or incorrect, as in the SAIR judge; "
            "undecided: the checker at hand cannot decide this answer, so it does not count; "
            "not_attempted: there is no answer; "
            "harness_error: the judge itself failed."
        ),
    ]
    error_code: Annotated[ErrorCode, Field(description="The reason as a code; ACCEPTED for an accepted answer.")]
    message: Annotated[str, Field(description="The reason in words: what is wrong and where.")]
    verdict: Annotated[
        Claim | None, Field(description="What the answer claims: 'true' or 'false'; null if it claims neither.")
    ] = None
    checker: Annotated[
        str | None,
        Field(description="The checker that looked at the code; null if an earlier check ended the matter."),
    ] = None
    certificate: Annotated[
        CertificateKind | None, Field(description="What the checker found in the code; null if it recognised nothing.")
    ] = None
    axioms: Annotated[
        tuple[str, ...], Field(description="The axioms that the proof rests on; empty if none or not looked at.")
    ] = ()
    declarations: Annotated[
        tuple[str, ...], Field(description="The constants that `submission` names itself; empty if not looked at.")
    ] = ()
    diagnostics: Annotated[
        tuple[Diagnostic, ...], Field(description="Messages about places of the code, errors first.")
    ] = ()
    left_out: Annotated[
        int, Field(ge=0, description="How many axioms, declarations and diagnostics are not listed.")
    ] = 0
    seconds: Annotated[float, Field(ge=0, description="Seconds of wall time the judging took.")] = Field(
        default=0.0, repr=False
    )

    @model_validator(mode="after")
    def _require_status_of_code(self) -> Self:
        if self.status != STATUS_OF[self.error_code]:
            raise ValueError(
                f"the code {self.error_code!r} belongs to {STATUS_OF[self.error_code]!r}, not to {self.status!r}"
            )
        return self

    @classmethod
    def of(
        cls,
        error_code: ErrorCode,
        message: str,
        *,
        verdict: Claim | None = None,
        checker: str | None = None,
        certificate: CertificateKind | None = None,
        axioms: tuple[str, ...] = (),
        declarations: tuple[str, ...] = (),
        diagnostics: tuple[Diagnostic, ...] = (),
        left_out: int = 0,
        seconds: float = 0.0,
    ) -> Self:
        """Build the verdict with the status that belongs to a code."""
        return cls(
            status=STATUS_OF[error_code],
            error_code=error_code,
            message=message,
            verdict=verdict,
            checker=checker,
            certificate=certificate,
            axioms=axioms,
            declarations=declarations,
            diagnostics=diagnostics,
            left_out=left_out,
            seconds=seconds,
        )


def not_attempted() -> Verdict:
    """Return the summary-only verdict on a problem without an answer."""
    return Verdict.of("NOT_ATTEMPTED", "There is no answer to this problem.")


def harness_error(error: Exception) -> Verdict:
    """Return the summary-only verdict for a judge that failed; it is no statement about the answer."""
    return Verdict.of("HARNESS_ERROR", f"The judge failed, which says nothing about the answer: {error}")
