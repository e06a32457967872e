"""A place to run small Solo solvers in."""

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from ekiden_config import BudgetSettings, MarathonSettings, Settings, load_settings
from ekiden_judge.choice import ChooseJudge, choose_judge
from ekiden_orchestrator.marathon.served_model import CONTEST_MODEL
from ekiden_orchestrator.solo.config import SoloConfig
from ekiden_orchestrator.solo.display import Display
from ekiden_orchestrator.solo.results import LogEntry, Results, SoloRecord
from ekiden_orchestrator.solo.run import SoloRequest, run_solo

Json = dict[str, object]

PRELUDE = '''\
import json, os, signal, subprocess, sys, time
def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
def hear():
    return json.loads(sys.stdin.readline())
def call(kind, **fields):
    say(json.dumps({"call": kind, **fields}))
    return hear()
def tell(value):
    sys.stderr.write(json.dumps(value) + "\\n")
    sys.stderr.flush()
RIGHT = """import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
"""
WRONG = RIGHT.replace("[[0,0],[1,1]]", "[[0,1],[0,1]]")
start = hear()
'''
EASY: Json = {
    "id": "easy",
    "eq1_id": 4,
    "eq2_id": 65,
    "equation1": "x = x * y",
    "equation2": "x ◇ y = y ◇ x",
    "answer": False,
    "difficulty": "normal",
}


@dataclass
class SoloBed:
    """A folder with a solver and problems, and the settings to run them under."""

    root: Path
    settings: Settings
    problems: list[Json] = field(default_factory=lambda: [EASY])
    config: SoloConfig = field(default_factory=SoloConfig)
    output: io.StringIO = field(default_factory=io.StringIO)
    choose: ChooseJudge = choose_judge

    @property
    def results_file(self) -> Path:
        return self.root / "results" / "out.json"

    @property
    def results(self) -> Results:
        return Results.model_validate_json(self.results_file.read_bytes())

    @property
    def record(self) -> SoloRecord:
        """The record of the one problem."""
        [record] = self.results.results.values()
        return record

    def entries(self, kind: str) -> list[LogEntry]:
        """Return the log of the one problem, by type."""
        return [entry for entry in self.record.log if entry.type == kind]

    def told(self) -> list[object]:
        """Return what the solver wrote to its standard error with `tell`."""
        [entry] = self.entries("solver_stderr")
        return [json.loads(line) for line in entry.text.splitlines()]

    @property
    def told_reply(self) -> Json:
        """The one reply that the solver told."""
        [reply] = self.told()
        assert isinstance(reply, dict)
        return cast("Json", reply)

    def solver(self, source: str, *, prompt: str = "") -> str:
        """Write a solver; the source finds `start`, `call`, `tell` and a right answer to `EASY`."""
        folder = self.root / "somebody"
        folder.mkdir(exist_ok=True)
        text = f"{PRELUDE}PROMPT = {prompt!r}\n{source}"
        (folder / "solver.py").write_text(text, encoding="utf-8")
        return str(folder)

    def connect(self, url: str) -> None:
        """Ask models at an address, with the key in `SCRIPTED_API_KEY`."""
        upstream = {"base_url": url, "key_env": "SCRIPTED_API_KEY", "models": [CONTEST_MODEL, "*"]}
        given = {**self.settings.budget.model_dump(), "upstreams": {"scripted": upstream}}
        self.settings = self.settings.model_copy(update={"budget": BudgetSettings.model_validate(given)})

    def change(self, **marathon: object) -> None:
        changed = MarathonSettings.model_validate({**self.settings.marathon.model_dump(), **marathon})
        self.settings = self.settings.model_copy(update={"marathon": changed})

    def configure(self, **sections: Json) -> None:
        self.config = SoloConfig.model_validate(sections)

    @property
    def manifest(self) -> Path:
        """The file of problems, as they are now."""
        path = self.root / "problems" / "problems.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(problem) + "\n" for problem in self.problems), encoding="utf-8")
        return path

    def run(
        self, solver: str, *, ids: tuple[str, ...] = (), tokens: int | None = None, model: str | None = None
    ) -> bool:
        request = SoloRequest(
            solver=solver,
            problems=str(self.manifest),
            ids=ids,
            output=self.results_file,
            judge="exact",
            budget_tokens=tokens,
            model=model,
        )
        display = Display(Console(file=self.output, width=100))
        return run_solo(request, self.settings, self.config, display, choose=self.choose)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SoloBed:
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCRIPTED_API_KEY", "upstream-key")
    return SoloBed(tmp_path, load_settings())
