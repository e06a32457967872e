"""The hostile and honest answers under `attacks/`; its README says what the fields of a case mean."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ekiden_judge import ErrorCode, Problem
from ekiden_judge.policy import TRACKS
from ekiden_judge.verdict import Claim

FOLDER = Path(__file__).parent / "servers" / "judge" / "attacks"
GROUPS = ("challenger", "fixtures", "weaknesses", "ours", "controls")


@dataclass(frozen=True, slots=True)
class Case:
    """One answer and what must come of it.

    Attributes:
        name: The group and the case's name.
        problem: What is answered.
        claim: The verdict that the answer gives.
        answer: The answer as bytes of JSON.
        code: The Lean file; None where the answer's JSON holds none.
        text: The refusal by the checks of the text, or None if they let it pass.
        lean: What Lean and the policy may say without those checks.
        axioms: Axioms that must show.
        like: The case that is the same attack once the checks of the text are off, or None.
    """

    name: str
    problem: Problem
    claim: Claim
    answer: bytes
    code: str | None
    text: ErrorCode | None
    lean: frozenset[str]
    axioms: tuple[str, ...]
    like: str | None

    @property
    def is_attack(self) -> bool:
        """Tell whether nothing may ever accept this answer."""
        return "ACCEPTED" not in self.lean

    def __str__(self) -> str:
        return self.name


def read_cases() -> list[Case]:
    """Return all cases, group by group."""
    problems = _problems()
    cases: list[Case] = []
    for group in GROUPS:
        table = tomllib.loads((FOLDER / f"{group}.toml").read_text(encoding="utf-8"))
        cases += [_case(group, fields, problems) for fields in cast("list[dict[str, object]]", table["case"])]
    return cases


def _problems() -> dict[str, tuple[Problem, Claim]]:
    table = tomllib.loads((FOLDER / "problems.toml").read_text(encoding="utf-8"))
    found: dict[str, tuple[Problem, Claim]] = {}
    for key, fields in table.items():
        problem = Problem.read(fields["problem"], where=f"problems.toml, {key}")
        if fields.get("policy") == "tracks":
            problem = problem.model_copy(update={"proof_policy": TRACKS})
        found[key] = problem, fields["claim"]
    return found


def _case(group: str, fields: Mapping[str, object], problems: Mapping[str, tuple[Problem, Claim]]) -> Case:
    problem, claim = problems[str(fields.get("problem", "T"))]
    code = None if fields.keys() & {"raw", "raw_hex"} else _code(group, fields)
    if "raw_hex" in fields:
        answer = bytes.fromhex(str(fields["raw_hex"]))
    else:
        answer = str(fields.get("raw") or json.dumps({"verdict": claim, "code": code})).encode()
    lean = fields.get("lean", [])
    return Case(
        name=f"{group}/{fields['name']}",
        problem=problem,
        claim=claim,
        answer=answer,
        code=code,
        text=cast("ErrorCode | None", fields.get("text")),
        lean=frozenset([lean] if isinstance(lean, str) else cast("list[str]", lean)),
        axioms=tuple(cast("list[str]", fields.get("axioms", []))),
        like=f"{group}/{fields['like']}" if "like" in fields else None,
    )


def _code(group: str, fields: Mapping[str, object]) -> str:
    if "whole" in fields:
        part, times = cast("tuple[str, int]", fields["whole"])
        return part * times
    code = (FOLDER / group / f"{fields.get('code', fields['name'])}.lean").read_text(encoding="utf-8")
    if "replace" in fields:
        old, new = cast("tuple[str, str]", fields["replace"])
        assert old in code
        levels = cast("int", fields.get("nest", 0))
        code = code.replace(old, "(" * levels + new + ")" * levels)
    code += str(fields.get("append", ""))
    while len(code.encode()) < cast("int", fields.get("pad", 0)):
        code += "-- and so on\n"
    return code
