"""Explaining a verdict: which check it comes from, which place of the code, and what would help."""

import re
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ekiden_judge.certificate import is_json
from ekiden_judge.diagnostics import cut
from ekiden_judge.tokens import find_banned_token
from ekiden_judge.verdict import ErrorCode, Verdict

MAX_SOURCE_LINE = 160


class Explanation(BaseModel):
    """Why a verdict is what it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: Annotated[str, Field(description="The check that decided, by number and name, in the judge's order.")]
    message: Annotated[str, Field(description="The reason in words.")]
    line: Annotated[int | None, Field(description="Line of the code, from 1.")] = None
    column: Annotated[int | None, Field(description="Column of the line, from 1.")] = None
    source: Annotated[str | None, Field(description="The line itself, and a caret below the place.")] = None
    help: Annotated[tuple[str, ...], Field(description="What would help.")] = ()

    @property
    def place(self) -> str:
        """Line, column and the line itself as text; empty without a place."""
        if self.line is None:
            return ""
        named = f"line {self.line}, column {self.column}"
        return named if self.source is None else f"{named}\n{self.source}"

    def __str__(self) -> str:
        """Render for people, over several lines."""
        place = [self.place] if self.place else []
        return "\n".join([f"Check {self.check}", self.message, *place, *(f"- {text}" for text in self.help)])


class _Check(NamedTuple):
    name: str
    help: str


_CHECKS: dict[ErrorCode, _Check] = {
    "UNPARSED_JSON": _Check("1 JSON", "Write the answer with a JSON encoder, in UTF-8, with nothing before or after."),
    "DUPLICATE_JSON_KEYS": _Check("2 repeated keys", "Give each key once."),
    "ANSWER_NOT_OBJECT": _Check("3 object", 'Write {"verdict": ..., "code": ...}.'),
    "ANSWER_SCHEMA_ERROR": _Check("4 keys", "Give exactly the keys 'verdict' and 'code', both with strings."),
    "INVALID_VERDICT": _Check("5 verdict", "Write the string 'true' or 'false', not a boolean."),
    "INVALID_CODE_FIELD": _Check("6 code", "Give the whole Lean file as one string."),
    "CODE_TOO_LONG": _Check("7 size", "Shorten the proof: share repeated steps as lemmas, or take a shorter path."),
    "BANNED_PLACEHOLDER": _Check(
        "8 banned words",
        "Take the word out; it counts in comments, strings and longer dotted names too, so rename what holds it.",
    ),
    "FALSE_CERT_TOO_LARGE": _Check(
        "9 size of a false answer",
        "Use a smaller table, print the table as digits, or write the operation as a formula over `Fin n`.",
    ),
    "LEAN_REJECTED": _Check("10 proof", "Correct the proof at the place named."),
    "LEAN_TIMEOUT": _Check(
        "10 proof",
        "Make it cheaper for Lean: a smaller table, fewer variables to decide over, plain terms in place of tactics.",
    ),
    "DISALLOWED_AXIOMS": _Check(
        "11 axioms", "Prove it by terms: Eq.trans, Eq.symm, congrArg and `decide` need no axiom."
    ),
    "DISALLOWED_DECLARATIONS": _Check(
        "12 declarations",
        "Move what uses the constant into `def submission.NAME`, or write it with `Nat.add`, `Nat.mul`, `Nat.mod`.",
    ),
    "ACCEPTED": _Check("13 all passed", "Nothing is left to do."),
    "NEEDS_LEAN": _Check("10 proof", "Ask a judge that runs Lean, or write the answer in one of the standard shapes."),
    "NOT_ATTEMPTED": _Check("0 answer", "Write an answer."),
    "HARNESS_ERROR": _Check("0 judge", "This is no fault of the answer: try again, and report it if it stays."),
}


class _Hint(NamedTuple):
    """What helps where a message matches."""

    pattern: re.Pattern[str]
    help: str


def _hint(pattern: str, text: str) -> _Hint:
    return _Hint(re.compile(pattern, re.IGNORECASE | re.DOTALL), text)


_HINTS = (
    _hint(
        r"unknown (identifier|constant|namespace)|function expected",
        "A name is unknown: check its spelling, `open` its namespace, and import the module that has it. Only "
        "`JudgeProblem`, `JudgeMagma.Magma`, `JudgeFinOp.MemoFinOp`, `JudgeDecide.DecideBang` and Lean's own library "
        "are sure to be there.",
    ),
    _hint(
        r"unknown (module|package)|not offered|object file .* does not exist",
        "Leave the import out, or ask a judge whose Lean has that library.",
    ),
    _hint(
        r"unexpected (token|identifier|end of input)|expected (command|token)|<input>",
        "The text is no Lean at this place: look for a missing bracket, a wrong indentation or an unknown tactic.",
    ),
    _hint(
        r"type mismatch|has type.*but is expected to have type|argument.*expected",
        "The term proves something else than what is asked here: compare both sides letter by letter, and turn the "
        "equation round with `Eq.symm` where the sides are exchanged. `h` takes its terms in the order in which the "
        "variables appear in law 1, left side first.",
    ),
    _hint(
        r"unsolved goals|no goals",
        "The tactics do not fit the goal: introduce all of `G _ h` and the variables of law 2, and end each branch.",
    ),
    _hint(
        r"decide.*(is )?false|proposition\s+.*\s+is false|evaluated.*to.*false",
        "Lean evaluated the claim and found it false: the table breaks law 1, or law 2 holds in it.",
    ),
    _hint(
        r"failed to reduce to 'true|did not reduce|stuck|failed to synthesize.*Decidable",
        "`decide` got stuck: it needs a finite type such as `Fin n` and an operation that computes by itself.",
    ),
    _hint(
        r"maximum recursion depth",
        "Put `set_option maxRecDepth 100000 in` before the declaration, nest long chains of `Eq.trans` as a balanced "
        "tree, or write them with `calc`.",
    ),
    _hint(
        r"deterministic\) timeout|maximum number of heartbeats",
        "Lean's own step limit was reached: put `set_option maxHeartbeats 0 in` before the declaration, or make the "
        "evaluation cheaper, for example with the table as one number in base n.",
    ),
    _hint(r"sorry", "A hole was left, by the text or by an error before: complete the proof."),
    _hint(
        r"failed to synthesize",
        "An instance is missing: give the `Magma` instance by name, or with `letI`, before it is used.",
    ),
    _hint(r"already been declared", "A name is defined twice: give the second one another name."),
    _hint(
        r"motive is not type correct|did not find instance of the pattern|rewrite.*failed",
        "`rw` found nothing to rewrite: give the terms of `h` explicitly, or use `congrArg` on the subterm.",
    ),
    _hint(r"law 1 fails", "The table breaks law 1 at the values named: it is no model of it."),
    _hint(r"law 2 holds", "Law 2 holds in the table, so it refutes nothing: look for another table."),
)

_AXIOM_HINTS = {
    "Classical.choice": "`Classical.choice` usually comes from `by_cases`, `by_contra`, `omega` or `grind`.",
    "propext": "`propext` usually comes from `simp`, `rw` with an equivalence, `omega` or `norm_num`.",
    "Quot.sound": "`Quot.sound` usually comes from `funext`, `ext` or `simp` under a binder.",
    "Lean.ofReduceBool": "`Lean.ofReduceBool` comes from `native_decide` or `bv_decide`: use plain `decide`.",
    "Lean.trustCompiler": "`Lean.trustCompiler` comes from `native_decide`: use plain `decide`.",
    "sorryAx": "`sorryAx` stands for a hole, or for a part of the proof in which Lean found an error.",
}


def explain(verdict: Verdict, code: str | None = None) -> Explanation:
    """Explain a verdict.

    Args:
        verdict: What the judge said.
        code: The code it said it about, to show the place; without it places have no source line.
    """
    check = _CHECKS[verdict.error_code]
    line, column = _place(verdict, code)
    shown = code is not None and line is not None and not (is_json(code) and verdict.diagnostics)
    return Explanation(
        check=check.name,
        message=verdict.message,
        line=line,
        column=column,
        source=_source(code, line, column) if code is not None and shown else None,
        help=_help(verdict, check),
    )


def _place(verdict: Verdict, code: str | None) -> tuple[int | None, int | None]:
    if verdict.error_code == "BANNED_PLACEHOLDER" and code is not None:
        if banned := find_banned_token(code):
            return banned.line, banned.column
    elif verdict.error_code not in {"ACCEPTED", "DISALLOWED_AXIOMS", "DISALLOWED_DECLARATIONS"}:
        errors = [diagnostic for diagnostic in verdict.diagnostics if diagnostic.severity == "error"]
        if errors:
            first = min(errors, key=lambda diagnostic: (diagnostic.line, diagnostic.column))
            return first.line, first.column
    return None, None


def _source(code: str, line: int | None, column: int | None) -> str | None:
    """Show a line and a caret below a column; of a long line, the part around it."""
    lines = code.split("\n")
    if line is None or column is None or not 1 <= line <= len(lines):
        return None
    text = lines[line - 1].rstrip("\r")
    start = max(0, min(column - 1, len(text)) - MAX_SOURCE_LINE // 2)
    part = "".join(sign if sign.isprintable() else "\ufffd" for sign in text[start : start + MAX_SOURCE_LINE])
    before, after = "..." if start else "", "..." if start + MAX_SOURCE_LINE < len(text) else ""
    return f"{before}{part}{after}\n{' ' * (len(before) + min(column - 1, len(text)) - start)}^"


def _help(verdict: Verdict, check: _Check) -> tuple[str, ...]:
    if verdict.error_code == "ACCEPTED":
        return ()
    text = " ".join((verdict.message, *(d.message for d in verdict.diagnostics if d.severity == "error")))
    found: list[str] = []
    match verdict.error_code:
        case "LEAN_REJECTED" | "LEAN_TIMEOUT" | "NEEDS_LEAN":
            found += [hint.help for hint in _HINTS if hint.pattern.search(text)]
        case "DISALLOWED_AXIOMS":
            found += [hint for axiom, hint in _AXIOM_HINTS.items() if f"'{axiom}'" in verdict.message]
        case _:
            pass
    return (*(cut(text, 400) for text in found[:3]), check.help)
