"""baseline: refute with the magmas on two and three elements; no language model.

A marathon's problems are taken in the manifest's order, and only refutations are written. Without a manifest the solver
speaks the Solo protocol on its standard streams; there it also proves what Ekiden can prove without search, and then
asks a model.

The contract allows one file, and it must run where Ekiden is not. So what `baseline`, `triage` and `fewshot` all need
stands in each of them, below the line that says so, word for word the same (a test compares them), and is kept short:
Python's own parser reads the laws, and big integers search all tables at once. What Ekiden does better, proofs without
search and the exact judge, is imported where it is installed, and done without elsewhere.
"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import math
import os
import re
import sys
import textwrap
import time
from typing import NamedTuple, TextIO, TypeAlias, cast

LEAST_SEARCH_S = 2.0
TAIL_MARGIN_S = 5.0
"""Seconds before the end of the budget in which nothing is begun any more; a quarter of a short budget."""


def marathon() -> None:
    """Work through the manifest, as long as there is time."""
    budget_s = float(os.environ["JUDGE_MARATHON_BUDGET_SECONDS"])
    deadline = time.monotonic() + budget_s - min(TAIL_MARGIN_S, budget_s / 4)
    questions = read_manifest(os.environ["JUDGE_MARATHON_MANIFEST"])
    search_s = max(LEAST_SEARCH_S, budget_s / max(1, len(questions)))
    with open(os.environ["JUDGE_MARATHON_OUTPUT"], "a", encoding="utf-8") as output:  # noqa: PTH123
        for question in questions:
            if time.monotonic() >= deadline:
                break
            try:
                limit = min(deadline, time.monotonic() + search_s)
                if rows := first_refutation(question.law1, question.law2, limit):
                    append(output, {"id": question.id, **false_answer(rows)._asdict()})
            except (TimeoutError, RecursionError) as error:
                sys.stderr.write(f"{question.id}: given up: {type(error).__name__}\n")


# --- The part that baseline, triage and fewshot share: laws, search, answers, replies, streams, the Solo mode. ---

MAX_INSTANCES = 100_000
MAX_ROUNDS = 50
SOLO_SEARCH_SHARE = 0.25
NAMES = "xyzwuvrstabcdefgijklmnopq"  # without h, the name of law A

PROMPT = """\
This is an equational implication over magmas (one binary operation ◇, no axioms), to be settled in Lean 4.
{solver.examples}
Law A ({problem.eq1_name}): {problem.equation1}
Law B ({problem.eq2_name}): {problem.equation2}

Does every magma that satisfies law A satisfy law B? Decide. A `*` in a law means ◇.

If TRUE, prove it. Your text is put in the place of BODY, so write the tactic body alone:

    def submission : Goal := by
      intro G _ h
      BODY

Here h is law A: applied to terms for its variables, in order of first appearance, it gives an equation. The goal is
law B, whose variables are still to be introduced by `intro`. Useful tactics: exact, rw, simp [h], intro, apply, have,
calc. No imports, no theorem statement.

If FALSE, give a counterexample: the table of an operation on 0, ..., n - 1 with 2 <= n <= 4, as a list of rows (row i,
column j is i ◇ j), which satisfies law A and breaks law B.
{solver.searched}
{history.attempts}
{solver.note}

Answer with exactly one JSON object and no Markdown, either
{"verdict": "true", "proof": "..."}
or
{"verdict": "false", "counterexample_table": [[0, 1], [1, 0]]}
"""

SEARCHED = "No magma on 2 or 3 elements satisfies law A and breaks law B: all were tried."

TABLE_ANSWER = """\
import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin %d) := { op := finOpTable "%s" }
  refine ⟨Fin %d, m, ?_⟩
  decideFin!
"""

PROOF_ANSWER = """\
import JudgeProblem

def submission : Goal := by
  intro G _ h
%s
"""

Record: TypeAlias = dict[str, object]
Term: TypeAlias = "str | tuple[Term, Term]"
Rows: TypeAlias = list[list[int]]


class Law(NamedTuple):
    """An equation between terms; its variables are named anew, in order of first appearance."""

    left: Term
    right: Term
    variables: tuple[str, ...]


class Question(NamedTuple):
    """One problem: its id, its record, and its laws."""

    id: str
    record: Record
    law1: Law
    law2: Law


class Answer(NamedTuple):
    """What is submitted."""

    verdict: str
    code: str


def read_law(text: str) -> Law:
    """Read a law by Python's own parser: `*` and `◇` are one sign, and a chain associates to the left.

    Raises:
        ValueError: The text is no law.
    """
    if not re.fullmatch(r"[a-z\s()*◇]+=[a-z\s()*◇]+", text):
        raise ValueError(f"{text!r} is no law")
    names = dict(zip(dict.fromkeys(re.findall("[a-z]", text)), NAMES, strict=False))
    try:
        sides = [ast.parse(f"({side.replace('◇', '*')})", mode="eval") for side in text.split("=")]
        left, right = (read_term(side.body, names) for side in sides)
    except (SyntaxError, ValueError, RecursionError, MemoryError, KeyError) as error:
        raise ValueError(f"{text!r} is no law") from error
    return Law(left, right, tuple(names.values()))


def read_term(node: ast.expr, names: dict[str, str]) -> Term:
    """Read a term from Python's syntax tree."""
    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return read_term(left, names), read_term(right, names)
        case _:
            raise ValueError(f"a {type(node).__name__} is no term")


def read_question(record: Record) -> Question:
    """Read a problem.

    Raises:
        ValueError: It has no id, or a law cannot be read.
    """
    name, equation1, equation2 = (record.get(key) for key in ("id", "equation1", "equation2"))
    if not (isinstance(name, str) and isinstance(equation1, str) and isinstance(equation2, str)):
        raise ValueError(f"the record {name!r} has no id or no laws")
    return Question(name, record, read_law(equation1), read_law(equation2))


class Tables:
    """Many magmas on 0, ..., order - 1 at once: each bit of a number stands for one of them.

    So an operation on two numbers is one in all magmas. `cells[i * order + j][k]` are those where `i ◇ j` is k.
    """

    def __init__(self, order: int, every: int, cells: list[list[int]]) -> None:
        self.order = order
        self.every = every
        self.cells = cells
        self.known: dict[Law, int] = {}

    def holding(self, law: Law, deadline: float) -> int:
        """Return the magmas in which a law holds; kept, for other problems with that law.

        Raises:
            TimeoutError: The deadline has come.
        """
        if law not in self.known:
            found = self.every
            for values in itertools.product(range(self.order), repeat=len(law.variables)):
                if time.monotonic() > deadline:
                    raise TimeoutError
                at = dict(zip(law.variables, values, strict=True))
                equal = 0
                for left, right in zip(self.values(law.left, at), self.values(law.right, at), strict=True):
                    equal |= left & right
                found &= equal
                if not found:
                    break
            self.known[law] = found
        return self.known[law]

    def values(self, term: Term, at: dict[str, int]) -> list[int]:
        """Return for each element the magmas in which a term has it as its value."""
        if isinstance(term, str):
            return [self.every if value == at[term] else 0 for value in range(self.order)]
        left, right = self.values(term[0], at), self.values(term[1], at)
        found = [0] * self.order
        for place, cell in enumerate(self.cells):
            if both := left[place // self.order] & right[place % self.order]:
                for value, magmas in enumerate(cell):
                    found[value] |= both & magmas
        return found


@functools.cache
def all_tables(order: int) -> Tables:
    """Return all magmas of an order: the cells of magma t are the digits of t in base `order`, the first cell least."""
    cells = order * order
    every = (1 << order**cells) - 1

    def magmas(cell: int, value: int) -> int:
        run = order**cell  # runs of magmas with the same digit, in periods of `order` runs
        return (((1 << run) - 1) << value * run) * (every // ((1 << run * order) - 1))

    return Tables(order, every, [[magmas(cell, value) for value in range(order)] for cell in range(cells)])


def first_refutation(law1: Law, law2: Law, deadline: float) -> Rows | None:
    """Return the first magma on two or three elements that satisfies law 1 and breaks law 2; None if there is none.

    Raises:
        TimeoutError: The deadline has come first.
    """
    for order in (2, 3):
        tables = all_tables(order)
        held = tables.holding(law1, deadline)
        if found := held and held & ~tables.holding(law2, deadline):
            first = (found & -found).bit_length() - 1
            digits = [first // order**cell % order for cell in range(order * order)]
            return [digits[start : start + order] for start in range(0, len(digits), order)]
    return None


def refutes(rows: Rows, law1: Law, law2: Law) -> bool:
    """Tell whether a table satisfies law 1 and breaks law 2; no, if that takes too long to tell."""
    order = len(rows)
    if order ** max(len(law1.variables), len(law2.variables)) > MAX_INSTANCES:
        return False
    table = Tables(order, 1, [[int(cell == value) for value in range(order)] for row in rows for cell in row])
    return bool(table.holding(law1, math.inf)) and not table.holding(law2, math.inf)


def direct_answer(question: Question) -> Answer | None:
    """Return a proof that needs no search, by Ekiden where it is installed."""
    try:
        from ekiden_magma import lean_answer, parse_law
        from ekiden_magma.direct import direct_proof
    except ImportError:
        return None
    proof = direct_proof(*(parse_law(str(question.record[key])) for key in ("equation1", "equation2")))
    return None if proof is None else Answer("true", lean_answer(proof))


def false_answer(rows: Rows) -> Answer:
    """Write a refutation by a table."""
    order = len(rows)
    return Answer("false", TABLE_ANSWER % (order, json.dumps(rows, separators=(",", ":")), order))


def true_answer(body: str) -> Answer:
    """Write a proof from its tactic body."""
    return Answer("true", PROOF_ANSWER % textwrap.indent(body, "  "))


def read_reply(text: str) -> Record:
    """Return the JSON object of a model's reply, the whole text or from its first `{` to its last `}`; else nothing."""
    text = re.sub(r"<think>.*?(?:</think>|\Z)", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*```.*$", "", text, flags=re.MULTILINE)
    for part in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return cast("Record", value)
    return {}


def read_rows(value: object) -> Rows | None:
    """Return a table on 2 to 10 elements from what a model wrote, or None if it is none."""
    rows = cast("list[object]", value) if isinstance(value, list) else []
    order = len(rows)
    square = [cast("list[object]", row) for row in rows if isinstance(row, list)]
    cells = [cell for row in square for cell in row if type(cell) is int and 0 <= cell < order]
    if not 2 <= order <= 10 or [len(row) for row in square] != [order] * order or len(cells) != order * order:
        return None
    return cast("Rows", square)


def proof_body(text: str) -> str:
    """Return the tactic body of what a model wrote, without imports, statement, leading `by`, the frame's `intro`."""
    text = re.sub(r"^\s*import\s.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\A\s*(?:theorem|lemma|def|example)\b.*?:=\s*by\b", "", text, flags=re.DOTALL)
    text = re.sub(r"\A\s*(?::=\s*)?by\b", "", text)
    text = textwrap.dedent(text.strip("\n")).strip()
    return textwrap.dedent(re.sub(r"\Aintro G _ h\s*\n", "", text))


def answer_in(reply: Record, question: Question) -> Answer | str:
    """Return the answer that a model's reply holds, or why there is none worth submitting."""
    match str(reply.get("verdict")).lower():
        case "false":
            rows = read_rows(reply.get("counterexample_table"))
            if rows is None:
                return "The last reply held no table."
            if not refutes(rows, question.law1, question.law2):
                return f"The table {json.dumps(rows)} does not satisfy law A and break law B."
            return false_answer(rows)
        case "true":
            proof = reply.get("proof")
            body = proof_body(proof) if isinstance(proof, str) else ""
            return true_answer(body) if body else "The last reply held no proof."
        case _:
            return "The last reply was no JSON object with a verdict."


def read_manifest(path: str) -> list[Question]:
    """Read the problems of a manifest; one that cannot be read costs only itself."""
    questions: list[Question] = []
    with open(path, encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - the contract gives a text
        for line in file:
            try:
                questions.append(read_question(json.loads(line)))
            except (ValueError, AttributeError, RecursionError) as error:
                sys.stderr.write(f"skipped a record: {error}\n")
    return questions


def append(output: TextIO, record: Record) -> None:
    """Append a line to a file and see it onto the disk."""
    output.write(json.dumps(record) + "\n")
    output.flush()
    os.fsync(output.fileno())


def call(request: Record) -> Record:
    """Send a request to the Solo runner, and return its reply."""
    sys.stdout.write(json.dumps(request) + "\n")
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        sys.exit("The runner has left.")
    return cast("Record", json.loads(line))


def accepted(answer: Answer) -> bool:
    """Have the Solo runner judge an answer."""
    return call({"call": "judge", **answer._asdict()}).get("status") == "accepted"


def solo() -> None:
    """Settle the one problem that the Solo runner gives: search, prove, then ask a model until a call fails."""
    start = cast("dict[str, dict[str, object]]", json.loads(sys.stdin.readline()))
    question = read_question(start["problem"])
    seconds = SOLO_SEARCH_SHARE * cast("float", start["budget"]["timeout_seconds"])
    try:
        rows = first_refutation(question.law1, question.law2, time.monotonic() + seconds)
        searched = "" if rows else SEARCHED
    except TimeoutError:
        rows, searched = None, ""
    if rows is not None and accepted(false_answer(rows)):
        return
    direct = direct_answer(question)
    if direct is not None and accepted(direct):
        return
    note = ""
    for number in range(1, MAX_ROUNDS + 1):
        reply = call({"call": "llm", "context": {"round": number, "searched": searched, "note": note}})
        if "error" in reply:
            return
        answer = answer_in(read_reply(str(reply.get("response", ""))), question)
        if answer == note or (isinstance(answer, Answer) and accepted(answer)):
            return  # after the same fault twice, the model would get the same prompt again
        note = answer if isinstance(answer, str) else "The last answer was refused."


if __name__ == "__main__":
    if "JUDGE_MARATHON_MANIFEST" in os.environ:
        marathon()
    else:
        solo()
