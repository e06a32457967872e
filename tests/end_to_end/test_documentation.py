"""Every example in the README and the docs runs, and shows what the page says it shows.

A console block whose first line is "```console lean" or "```console coq" needs that checker, and runs with the tests
marked so.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python)(?: (lean|coq))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One fenced block of a page."""

    page: str
    language: str
    needs: str
    text: str


def examples() -> list[Example]:
    return [
        Example(str(page.relative_to(ROOT)), match[1], match[2] or "", match[3])
        for page in PAGES
        for match in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Split a console block into commands and the output lines shown below each."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and "…" not in line:
            found[-1][1].append(line.strip())
    return found


def parameters() -> list[ParameterSet]:
    return [
        pytest.param(
            example,
            id=f"{example.page}:{example.text.splitlines()[0][:50]}",
            marks=[getattr(pytest.mark, example.needs)] if example.needs else [],
        )
        for example in examples()
    ]


@pytest.mark.parametrize("example", parameters())
@pytest.mark.timeout(600)
def test_documented_example_runs(example: Example, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
        "PYTHONUTF8": "1",
    }
    for name in ("equations.txt", "normal_100.jsonl"):
        shutil.copy(ROOT / "tests" / "data" / "problems" / name, tmp_path)
    if example.language == "python":
        runs: list[tuple[list[str], list[str]]] = [([sys.executable, "-W", "error", "-c", example.text], [])]
    else:
        runs = [(["bash", "-c", command], shown) for command, shown in commands(example.text)]
    for argv, shown in runs:
        done = subprocess.run(
            argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{argv[-1]}\n{done.stdout}\n{done.stderr}"
        output = done.stdout + done.stderr
        for line in shown:
            assert line in output, f"{argv[-1]!r} does not print {line!r}; it prints:\n{output}"
