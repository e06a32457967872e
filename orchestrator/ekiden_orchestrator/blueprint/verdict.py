"""What verifying comes to, as the record that reports and later jobs are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER = "<!-- verify-blueprint:report -->"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FixRecord(_Record):
    """A change that removes a finding; offsets count characters."""

    start: int
    end: int
    replacement: str


class FindingRecord(_Record):
    """One finding; lines and columns count from 1, offsets count characters."""

    rule: str
    check: str
    severity: Literal["error", "warning", "note"]
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int
    fix: FixRecord | None = None


class CheckRecord(_Record):
    """The outcome of one check."""

    name: str
    passed: bool
    failures: tuple[str, ...]


class TargetRecord(_Record):
    """A theorem, and what it rests on; `axioms` is None where Lean was not there to say.

    `taken_as_they_are` names the library theorems that it rests on and whose own axioms this Lean cannot show.
    """

    name: str
    state: str
    axioms: tuple[str, ...] | None = None
    rests_on_sorry: bool | None = None
    taken_as_they_are: tuple[str, ...] = ()


class AssumptionRecord(_Record):
    """An axiom that the project declares; `used_by` is None where Lean was not there to say."""

    name: str
    present: bool
    used_by: tuple[str, ...] | None = None


class LeanRecord(_Record):
    """Lean's part: whether it looked at everything, which one, and otherwise why not."""

    used: bool
    identity: str = ""
    message: str = ""


class ChangeRecord(_Record):
    """What was merged for the verdict, and by whose rules it was judged."""

    role: str
    node: str
    base: str
    head: str
    tree: str
    changed: tuple[str, ...]


class Verdict(_Record):
    """The whole report."""

    files: tuple[str, ...]
    overall_pass: bool
    results: tuple[CheckRecord, ...]
    findings: tuple[FindingRecord, ...]
    states: dict[str, int]
    targets: tuple[TargetRecord, ...]
    assumptions: tuple[AssumptionRecord, ...]
    lean: LeanRecord
    change: ChangeRecord | None = None

    def errors(self) -> Sequence[FindingRecord]:
        """Give the findings that make it fail."""
        return [finding for finding in self.findings if finding.severity == "error"]
