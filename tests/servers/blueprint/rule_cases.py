"""Golden cases of the rules: blueprint files, each with what it needs besides in a JSON file of its name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ekiden_blueprint import Project, parse
from ekiden_blueprint.rules import Allowances, Diagnostic, check, read_build_log

if TYPE_CHECKING:
    from ekiden_blueprint.findings import Finding

FOLDER = Path(__file__).parents[2] / "data" / "blueprints"
CASES = sorted(path.stem for path in FOLDER.glob("BP*.lean"))


@dataclass(frozen=True)
class Declaration:
    name: str
    kind: str = "theorem"
    axioms: tuple[str, ...] = ()
    sorry: bool = False
    own_sorry: bool = False
    uses_type: tuple[str, ...] = ()
    uses_value: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class Facts:
    declarations: list[Declaration] = field(default_factory=list[Declaration])
    outcome: str = "complete"
    message: str = ""


@dataclass(frozen=True)
class Case:
    project: Project
    allowances: Allowances
    facts: Facts | None
    diagnostics: list[Diagnostic]

    def findings(self) -> list[Finding]:
        return check(self.project, allowances=self.allowances, facts=self.facts, diagnostics=self.diagnostics)

    def with_text(self, text: str) -> Case:
        return replace(self, project=Project([parse(text, "Main.lean")]))


@cache
def load(name: str) -> Case:
    text = (FOLDER / f"{name}.lean").read_bytes().decode("utf-8")
    beside = FOLDER / f"{name}.json"
    given: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    diagnostics = [TypeAdapter(Diagnostic).validate_python(one) for one in given.get("diagnostics", [])]
    if "log" in given:
        diagnostics += read_build_log(given["log"], exit_code=given.get("exit_code"))
    facts = TypeAdapter(Facts).validate_python(given["facts"]) if "facts" in given else None
    allowances = TypeAdapter(Allowances).validate_python(given.get("allowances", {}))
    return Case(Project([parse(text, "Main.lean")]), allowances, facts, diagnostics)
