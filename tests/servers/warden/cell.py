"""A folder to run small Python programs in, confined."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ekiden_warden import Completed, ConfinedProcess, python_folders, run_confined


@dataclass
class Cell:
    """A folder that the program may write, and a folder beside it that it does not see."""

    root: Path

    @property
    def inside(self) -> Path:
        return self.root / "inside"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def needs(self) -> list[Path]:
        """What Python needs to see."""
        return python_folders()

    def run(self, source: str, *arguments: object, time_limit_s: float = 30, **options: Any) -> Completed:
        argv = [sys.executable, "-c", source, *map(str, arguments)]
        return run_confined(argv, time_limit_s=time_limit_s, **self._options(options))

    def ask(self, source: str, *arguments: object, **options: Any) -> Any:
        """Run a program that prints one JSON value, and return that."""
        done = self.run(source, *arguments, **options)
        assert (done.exit_code, done.ended, done.stderr_tail) == (0, "exit", "")
        return json.loads(done.stdout)

    def start(self, source: str, *arguments: object, **options: Any) -> ConfinedProcess:
        return ConfinedProcess([sys.executable, "-c", source, *map(str, arguments)], **self._options(options))

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        usual = {
            "environment": {"PATH": os.defpath},
            "directory": self.inside,
            "writes": [self.inside],
            "shows": self.needs,
        }
        return usual | given
