"""A place to run small solvers in, under short limits."""

import io
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from rich.console import Console

from ekiden_config import BudgetSettings, MarathonSettings, Settings
from ekiden_orchestrator.marathon.display import Display
from ekiden_orchestrator.marathon.request import Request
from ekiden_orchestrator.marathon.run import start_run
from ekiden_orchestrator.marathon.served_model import CONTEST_MODEL
from ekiden_orchestrator.marathon.summary import Summary

SOLVERS = Path(__file__).parent / "data" / "solvers"
PROBLEMS = Path(__file__).parent / "data" / "problems"


@dataclass
class Bed:
    """A place to run solvers in, with short limits."""

    root: Path
    settings: Settings
    output: io.StringIO

    @property
    def run_folder(self) -> Path:
        return self.root / "run"

    @property
    def display(self) -> Display:
        return Display(Console(file=self.output, width=120))

    @property
    def printed(self) -> str:
        return self.output.getvalue()

    def solver(self, source: str) -> str:
        """Write a solver folder; the source finds `manifest`, `output`, `scratch` and `answer` ready."""
        folder = self.root / "somebody"
        folder.mkdir()
        (folder / "solver.py").write_text(PRELUDE + source, encoding="utf-8")
        return str(folder)

    def manifest(self, *numbers: int) -> str:
        """Write a manifest of problems of `normal.jsonl`, by number."""
        lines = (PROBLEMS / "normal.jsonl").read_text(encoding="utf-8").splitlines()
        path = self.root / "chosen.jsonl"
        path.write_text("".join(lines[number - 1] + "\n" for number in numbers), encoding="utf-8")
        return str(path)

    def run(
        self,
        solver: str,
        *,
        manifest: str | None = None,
        seconds: float = 30,
        tokens: int | None = None,
        usd: Decimal | None = None,
        model: str | None = None,
        score: bool = True,
    ) -> Summary:
        request = Request(
            solver=solver,
            manifest=manifest or self.manifest(1, 2, 3, 4, 5),
            budget_seconds=seconds,
            budget_tokens=tokens,
            budget_usd=usd,
            output_dir=self.run_folder,
            model=model,
        )
        return start_run(request, self.settings, self.display, score=score)

    def change(self, **settings: object) -> None:
        marathon = MarathonSettings.model_validate({**self.settings.marathon.model_dump(), **settings})
        self.settings = self.settings.model_copy(update={"marathon": marathon})

    def connect(self, url: str, **budget: object) -> None:
        """Have the runs here ask their models at an address, with the key in `SCRIPTED_API_KEY`."""
        upstream = {
            "base_url": url,
            "key_env": "SCRIPTED_API_KEY",
            "dialects": ["chat", "messages"],
            "openrouter": True,
            "models": [CONTEST_MODEL, "*"],
        }
        given = {**self.settings.budget.model_dump(), "upstreams": {"scripted": upstream}, **budget}
        self.settings = self.settings.model_copy(update={"budget": BudgetSettings.model_validate(given)})

    def again(self) -> "Bed":
        """Make another bed like this one."""
        root = self.root / "again"
        root.mkdir()
        return Bed(root, self.settings, self.output)

    def scratch_report(self, attempt: int = 1) -> dict[str, object]:
        return json.loads((self.run_folder / "attempts" / str(attempt) / "scratch" / "report.json").read_text("utf-8"))


PRELUDE = """\
import json, os, signal, sys, time
manifest = os.environ["JUDGE_MARATHON_MANIFEST"]
output = os.environ["JUDGE_MARATHON_OUTPUT"]
scratch = os.environ["JUDGE_MARATHON_SCRATCH_DIR"]
ids = [json.loads(line)["id"] for line in open(manifest, encoding="utf-8")]
def write(text):
    with open(output, "a", encoding="utf-8") as file:
        file.write(text + "\\n")
def answer(id, verdict="maybe", code="x"):
    write(json.dumps({"id": id, "verdict": verdict, "code": code}))
REFUTATION = '''import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "%s" }
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
'''
def report(**fields):
    with open(os.path.join(scratch, "report.json"), "w", encoding="utf-8") as file:
        json.dump(fields, file)
"""


def processes_of(path: Path) -> list[int]:
    """Find the processes whose command line or environment names a path."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if str(path).encode() in text:
                found.append(int(entry.name))
    return found
