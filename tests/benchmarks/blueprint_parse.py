"""Parsing a blueprint of 15,000 lines and 500 nodes: Ekiden against re-lexing the file with Pygments' Lean 4 lexer.

Run: python tests/benchmarks/blueprint_parse.py [--lines N] [--nodes N] [--repeats N]

All sides run in this process, in turns, on the same text. The baseline reads the file and lexes it: what a program that
keeps nothing must do after every edit before it can begin to look for nodes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  # its stub leaves options open

from ekiden_blueprint import parse

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "import Mathlib\nimport Architect\n\nset_option linter.all false\nset_option maxHeartbeats 500000\n\n"


def generated_node(number: int, lines: int, draw: random.Random) -> str:
    earlier = max(0, number - draw.randint(1, 9))
    prose = "\n".join(f'    Line {k} of the prose: $\\alpha_{{{k}}} \\le x$, "quoted" and so on.' for k in range(5))
    head = f"""@[blueprint "lem:node-{number}"
  (statement := /-- For all $n$ we have $x_{{{number}}} \\le y$, see \\cref{{lem:node-{earlier}}}.
{prose} -/)
  (proof := /-- By \\cref{{lem:node-{earlier}}}.
{prose} -/)
  (title := /-- Node {number} -/)
  (latexEnv := "lemma")]
lemma node_{number} (n : Nat) (x y : ℝ) (h : x ≤ y) : let z := y; n * x ≤ n * z := by
  have h' := node_{earlier} n x y h"""
    steps = [
        f"  have h₁' : x * {k} ≤ y * {k} := by nlinarith [h, sq_nonneg (x - {draw.randrange(99)})]  -- step"
        for k in range(max(0, lines - head.count("\n") - 2))
    ]
    return "\n".join([head, *steps]) + "\n\n"


def generated_blueprint(nodes: int, lines: int) -> str:
    draw = random.Random(1)
    return HEADER + "".join(generated_node(number, lines // nodes, draw) for number in range(nodes))


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=15_000)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--repeats", type=int, default=7)
    given = options.parse_args()
    text = generated_blueprint(given.nodes, given.lines)
    before = parse(text, "Main.lean")
    assert len(before.nodes) == given.nodes
    middle = text.index("nlinarith", len(text) // 2)
    edited = text[:middle] + "linarith" + text[middle + len("nlinarith") :]
    print(f"{text.count(chr(10)):,} lines, {len(text):,} characters, {given.nodes} nodes")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "Main.lean")
        path.write_text(edited, encoding="utf-8")

        def lex_with_pygments() -> object:
            return list(get_lexer_by_name("lean4").get_tokens(path.read_text(encoding="utf-8")))

        def read_and_parse() -> object:
            return parse(path.read_text(encoding="utf-8"), "Main.lean").nodes

        def parse_after_the_edit() -> object:
            file = parse(edited, "Main.lean", previous=before)
            return file.nodes, file.commands

        def parse_after_the_edit_with_regions() -> object:
            return parse(edited, "Main.lean", previous=before).regions

        sides = {
            "read, lex with Pygments": lex_with_pygments,
            "read, full parse": read_and_parse,
            "parse after one edit, nodes and commands": parse_after_the_edit,
            "parse after one edit, regions": parse_after_the_edit_with_regions,
        }
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(given.repeats):
            for name, work in sides.items():
                times[name].append(seconds(work))
    baseline = times["read, lex with Pygments"]
    for name, taken in times.items():
        ratio = statistics.median(base / own for base, own in zip(baseline, taken, strict=True))
        print(f"{name:42} {statistics.median(taken) * 1e3:9.2f} ms   {ratio:7.1f} times as fast as the baseline")


if __name__ == "__main__":
    main()
