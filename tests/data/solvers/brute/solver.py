"""A solver as contestants write them: tries all tables on two elements, in manifest order, standard library only."""

import itertools
import json
import os
from pathlib import Path

ANSWER = """import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin 2) := {{ op := finOpTable "{table}" }}
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
"""


def compiled(equation: str):
    """Turn a law into a Python function of a table that tells whether the law holds."""
    names = list(dict.fromkeys(sign for sign in equation if sign.isalpha()))

    def term(text: str) -> str:
        text = text.strip()
        depth = 0
        for place in range(len(text) - 1, -1, -1):
            depth += (text[place] == ")") - (text[place] == "(")
            if text[place] == "◇" and depth == 0:
                return f"t[{term(text[:place])}][{term(text[place + 1 :])}]"
        return term(text[1:-1]) if text.startswith("(") else text

    left, right = equation.split("=")
    code = (
        f"lambda t: all({term(left)} == {term(right)} for {', '.join(names)}, in product((0, 1), repeat={len(names)}))"
    )
    return eval(code, {"product": itertools.product})


def main() -> None:
    with Path(os.environ["JUDGE_MARATHON_MANIFEST"]).open(encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    with Path(os.environ["JUDGE_MARATHON_OUTPUT"]).open("a", encoding="utf-8") as output:
        for problem in problems:
            first, second = compiled(problem["equation1"]), compiled(problem["equation2"])
            for cells in itertools.product((0, 1), repeat=4):
                table = [list(cells[:2]), list(cells[2:])]
                if first(table) and not second(table):
                    code = ANSWER.format(table=json.dumps(table, separators=(",", ":")))
                    record = {"id": problem["id"], "verdict": "false", "code": code}
                    output.write(json.dumps(record, ensure_ascii=False) + "\n")
                    output.flush()
                    os.fsync(output.fileno())
                    break


if __name__ == "__main__":
    main()
