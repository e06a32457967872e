"""A place to run the model-using solvers in, as any runner of the Marathon contract would."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ekiden_orchestrator.marathon.folder import HELPER
from ekiden_orchestrator.marathon.submission import BUILT_IN_SOLVERS
from model_server import Answer, Heard, ModelServer, echo

Json = dict[str, object]


@dataclass
class Ended:
    """What a solver left behind."""

    answers: list[Json]
    output: bytes
    stderr: str
    scratch: dict[str, list[Json]]
    heard: list[Heard]

    @property
    def ids(self) -> list[object]:
        return [answer["id"] for answer in self.answers]


@dataclass
class Contract:
    """The variables, files and helper of the Marathon contract, without Ekiden's runner; `respond` is the model."""

    root: Path
    respond: Callable[[Heard], Answer] = echo
    problems: list[Json] = field(default_factory=list[Json])

    def add(self, name: str, equation1: str, equation2: str) -> None:
        """Add a problem."""
        record: Json = {"id": name, "eq1_id": 1, "eq2_id": 2, "equation1": equation1, "equation2": equation2}
        self.problems.append(record)

    def helper(self, source: str) -> str:
        """Write a helper in the place of Ekiden's; return its folder, for `JUDGE_MARATHON_LIB_DIR`."""
        folder = self.root / "lib"
        folder.mkdir()
        (folder / HELPER.name).write_text(source, encoding="utf-8")
        return str(folder)

    def run(self, solver: str, *, tokens: int = -1, seconds: int = 60, ekiden: bool = True, **extra: str) -> Ended:
        """Run a solver; without `ekiden` its Python has the standard library alone."""
        folder = self.root / f"run{len(list(self.root.iterdir()))}"
        scratch = folder / "scratch"
        scratch.mkdir(parents=True)
        manifest, output = scratch / "manifest.jsonl", folder / "answers.jsonl"
        manifest.write_text("".join(json.dumps(problem) + "\n" for problem in self.problems), encoding="utf-8")
        output.touch()
        environment = {
            "PATH": os.defpath,
            "HOME": str(folder),
            "PYTHONIOENCODING": "utf-8",
            "JUDGE_MARATHON_MANIFEST": str(manifest),
            "JUDGE_MARATHON_OUTPUT": str(output),
            "JUDGE_MARATHON_SCRATCH_DIR": str(scratch),
            "JUDGE_MARATHON_BUDGET_SECONDS": str(seconds),
            "JUDGE_MARATHON_BUDGET_TOKENS": str(tokens),
            "JUDGE_MARATHON_LIB_DIR": str(HELPER.parent),
            "OPENAI_API_KEY": "any",
        }
        program = str(BUILT_IN_SOLVERS / solver / "solver.py")
        switches = [] if ekiden else ["-S"]
        with ModelServer(responder=self.respond) as server:
            done = subprocess.run(
                [sys.executable, *switches, program],
                env=environment | {"OPENAI_BASE_URL": server.url} | extra,
                capture_output=True,
                timeout=60,
                check=True,
            )
        files = {path.name: _lines(path) for path in scratch.iterdir() if path != manifest}
        return Ended(_lines(output), output.read_bytes(), done.stderr.decode(), files, server.heard)


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@pytest.fixture
def contract(tmp_path: Path) -> Contract:
    return Contract(tmp_path)
