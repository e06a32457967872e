"""fewshot: a model sees proofs from this very run as examples for the next problem.

The first pass needs no model: magmas on two and three elements, and proofs without search. Then each problem gets one
call, easy-looking ones first. Proofs that a checker has accepted go into a pool, and the two that fit a problem best
go into its prompt, each in the very form in which an answer is wanted. The checker is Ekiden's exact judge: a proof
that it cannot decide is submitted, but is no example for others, and without Ekiden no proof is one.
`FEWSHOT_VERIFY_BEFORE_CACHE=0` is content with a look at the text; `FEWSHOT_K` is the number of examples.

The contract allows one file, and it must run where Ekiden is not: what `baseline` and `triage` need as well stands in
each of them, below the lines that say so. `baseline` says why.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib
import itertools
import json
import math
import os
import re
import sys
import textwrap
import time
from typing import NamedTuple, TextIO, TypeAlias, cast

OUTPUT_TOKENS = 8192
MAX_EXAMPLE_PROOF_CHARS = 800
CLOSING = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "›": "‹"}


class Example(NamedTuple):
    """A proof in the pool."""

    question: Question
    body: str


def marathon() -> None:
    """Work through the manifest in two passes, and let proofs of the one help with the other."""
    with open(os.environ["JUDGE_MARATHON_OUTPUT"], "a", encoding="utf-8") as output:  # noqa: PTH123
        run = Marathon(output)
        pool = Pool(run)
        for question, answer in run.first_pass():
            pool.offer(question, answer)
        models = Models()
        for question in run.by_difficulty():
            if run.is_over or models.closed or models.left < LEAST_CALL_TOKENS:
                break
            try:
                ask_about(question, run, models, pool)
            except Exception as error:  # noqa: BLE001 - the loop over problems: one must not take the others along
                sys.stderr.write(f"{question.id}: {type(error).__name__}: {error}\n")


def ask_about(question: Question, run: Marathon, models: Models, pool: Pool) -> None:
    """Ask once about a problem, with examples; submit what comes, and offer a proof to the pool."""
    prompt = run.prompt(question, pool.examples_for(question))
    text = models.ask(prompt, effort="low", output_tokens=OUTPUT_TOKENS, deadline=run.deadline)
    answer = None if text is None else worth_submitting(question, text)
    if answer is None:
        return
    run.submit(question, answer)
    if answer.verdict == "true":
        pool.offer(question, answer)


class Pool:
    """The proofs of this run that may serve as examples."""

    def __init__(self, run: Marathon) -> None:
        self._run = run
        self._examples: list[Example] = []
        self._size = int(os.environ.get("FEWSHOT_K", "2"))
        wanted = os.environ.get("FEWSHOT_VERIFY_BEFORE_CACHE", "1").strip().lower()
        self._verifies = wanted not in ("0", "false", "no", "off")

    def offer(self, question: Question, answer: Answer) -> None:
        """Take a submitted proof in if it passes."""
        body = tactic_body(answer)
        if not body or not (status_of(question, answer) == "accepted" if self._verifies else looks_whole(body)):
            return
        self._examples.append(Example(question, body))
        known = {key: question.record.get(key) for key in ("eq1_id", "eq2_id", "equation1", "equation2")}
        self._run.keep("proof_lib.jsonl", {"id": question.id, **known, "proof_body": body})

    def examples_for(self, question: Question) -> str:
        """Return the examples that fit a problem best, as they go into its prompt; "" if there are none.

        A proof that would have to be cut is left out: half a proof shows nothing. Equals stay in the order of the pool.
        """
        fitting = [example for example in self._examples if len(example.body) <= MAX_EXAMPLE_PROOF_CHARS]
        best = sorted(fitting, key=lambda example: -relevance(example.question, question))[: self._size]
        if not best:
            return ""
        origin = "were checked and accepted" if self._verifies else "were submitted, though not checked,"
        shown = [f"Examples that {origin} in this run, as references of style:"]
        for number, (known, body) in enumerate(best, start=1):
            laws = (str(known.record[key]).replace("*", "◇") for key in ("equation1", "equation2"))
            answer = json.dumps({"verdict": "true", "proof": body}, ensure_ascii=False)
            shown.append("Example {}\nLaw A: {}\nLaw B: {}\n{}".format(number, *laws, answer))
        return "\n" + "\n\n".join(shown) + "\n\nNow the problem.\n"


def looks_whole(body: str) -> bool:
    """Tell whether a proof looks complete: some text beside comments, no gap, and brackets that match."""
    code = re.sub(r"/-.*?-/|--[^\n]*", "", body, flags=re.DOTALL)
    if not code.strip() or re.search(r"\b(?:sorry|admit)\b|\bunreachable!", code):
        return False
    waiting: list[str] = []
    for sign in code:
        if sign in CLOSING.values():
            waiting.append(sign)
        elif sign in CLOSING and (not waiting or waiting.pop() != CLOSING[sign]):
            return False
    return not waiting


def relevance(known: Question, question: Question) -> float:
    """Tell how much a solved problem resembles another one: by letters, by length, and by how alike the texts are.

    Nearly all problems have the same letters; the likeness of the texts tells them apart.
    """
    texts = [f"{each.record['equation1']}, {each.record['equation2']}".replace("*", "◇") for each in (known, question)]
    first, second = (set(re.findall("[a-z]", text)) for text in texts)
    likeness = 10 * difflib.SequenceMatcher(None, *texts, autojunk=False).ratio()
    lengths = abs(len(texts[0]) - len(texts[1])) / 50
    return 10 * len(first & second) - 3 * abs(len(first) - len(second)) - lengths + likeness


# --- The part that triage and fewshot share: the first pass, a model's replies, the exact judge. ---

SEARCH_S = 4.0
TAIL_MARGIN_S = 15.0
"""Seconds before the end of the budget in which nothing is begun any more; a quarter of a short budget."""

MODEL = "openai/gpt-oss-120b"
PROVIDER = "deepinfra/bf16"
CALL_TIMEOUT_S = 600.0
LEAST_CALL_TOKENS = 2048
REFUSALS_IN_A_ROW = 3


class Marathon:
    """The problems of a run, its clock, its answers file and its scratch folder."""

    def __init__(self, output: TextIO) -> None:
        budget_s = float(os.environ["JUDGE_MARATHON_BUDGET_SECONDS"])
        self.deadline = time.monotonic() + budget_s - min(TAIL_MARGIN_S, budget_s / 4)
        self.open = {question.id: question for question in read_manifest(os.environ["JUDGE_MARATHON_MANIFEST"])}
        self.searched: set[str] = set()
        self._output = output

    @property
    def is_over(self) -> bool:
        """Whether nothing may be begun any more."""
        return time.monotonic() >= self.deadline

    def submit(self, question: Question, answer: Answer) -> None:
        """Write an answer; its problem is never tried again, since the last line of a problem counts."""
        append(self._output, {"id": question.id, **answer._asdict()})
        self.open.pop(question.id, None)

    def keep(self, name: str, record: Record) -> None:
        """Append a line to a file of the scratch folder."""
        path = os.path.join(os.environ["JUDGE_MARATHON_SCRATCH_DIR"], name)  # noqa: PTH118 - the contract gives a text
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            append(file, record)

    def by_difficulty(self) -> list[Question]:
        """Return the open problems, the easy-looking ones first."""
        return sorted(self.open.values(), key=difficulty)

    def first_pass(self) -> list[tuple[Question, Answer]]:
        """Do what needs no model: submit refutations, and proofs without search; return the latter."""
        proved: list[tuple[Question, Answer]] = []
        for question in list(self.open.values()):
            if self.is_over:
                break
            try:
                limit = min(self.deadline, time.monotonic() + SEARCH_S)
                if rows := first_refutation(question.law1, question.law2, limit):
                    self.submit(question, false_answer(rows))
                    continue
                self.searched.add(question.id)
            except (TimeoutError, RecursionError) as error:
                sys.stderr.write(f"{question.id}: search given up: {type(error).__name__}\n")
            if answer := direct_answer(question):
                self.submit(question, answer)
                proved.append((question, answer))
        return proved

    def prompt(self, question: Question, examples: str = "") -> str:
        """Fill the prompt for a problem."""
        record = {key: str(value).replace("*", "◇") for key, value in question.record.items()}
        names = {f"eq{number}_name": f"Equation{record.get(f'eq{number}_id', '')}" for number in (1, 2)}
        searched = SEARCHED if question.id in self.searched else ""
        known = {"problem": record | names, "solver": {"examples": examples, "searched": searched}}
        return re.sub(r"\{(problem|history|solver)\.(\w+)\}", lambda m: known.get(m[1], {}).get(m[2], ""), PROMPT)


class Models:
    """The calls of a model through the contract's helper, and whether more of them make sense."""

    def __init__(self) -> None:
        sys.path.insert(0, os.environ["JUDGE_MARATHON_LIB_DIR"])
        self._helper = importlib.import_module("marathon_llm")
        self._refusals = 0
        self.cap = int(os.environ["JUDGE_MARATHON_BUDGET_TOKENS"])
        self.closed = self.cap == 0

    @property
    def used(self) -> int:
        """The tokens used."""
        return int(self._helper.tokens_used())

    @property
    def left(self) -> float:
        """The tokens left; infinite without a cap."""
        return math.inf if self.cap < 0 else int(self._helper.budget_remaining())

    def ask(self, prompt: str, *, effort: str, output_tokens: int, deadline: float) -> str | None:
        """Return a model's reply, or None if there is none."""
        config: Record = {
            "model": os.environ.get("JUDGE_MARATHON_MODEL") or MODEL,
            "provider": PROVIDER,
            "max_output_tokens": output_tokens,
            "temperature": 0.0,
            "reasoning_effort": effort,
            "use_seed": True,
            "seed": 0,
            "http_timeout_seconds": CALL_TIMEOUT_S,
        }
        limit = max(1.0, min(CALL_TIMEOUT_S, deadline - time.monotonic()))
        reply = cast("Record", self._helper.call_llm(prompt, config=config, max_seconds=limit))
        if "error" not in reply:
            self._refusals = 0
            return str(reply.get("response", ""))
        self._take_error(str(reply["error"]))
        return None

    def _take_error(self, error: str) -> None:
        """Stop asking when the budget is used up, or the upstream refuses each call.

        A call that alone is too large, or is no good, says nothing about the next one; several in a row do.
        """
        sys.stderr.write(f"no reply: {error[:500]}\n")
        is_refused = "exhausted" in error and "would be exhausted" not in error
        is_refused = is_refused or bool(re.search(r"\b(?:HTTP|code:) 40[0-4]\b", error))
        self._refusals = self._refusals + 1 if is_refused else 0
        used_up = self._refusals == REFUSALS_IN_A_ROW or (is_refused and self.left < LEAST_CALL_TOKENS)
        self.closed = used_up or "budget is zero" in error or "not set" in error


def difficulty(question: Question) -> int:
    """Estimate how hard a problem is: by the lengths of its laws and the number of their letters."""
    laws = f"{question.record['equation1']}{question.record['equation2']}"
    return len(laws) + 5 * len(set(re.findall("[a-z]", laws)))


def status_of(question: Question, answer: Answer) -> str:
    """Return what Ekiden's exact judge says of an answer: `undecided` where it cannot tell, or is not installed."""
    try:
        from ekiden_judge import ExactChecker, Problem, judge_answer
    except ImportError:
        return "undecided"
    record = {key: question.record[key] for key in Problem.model_fields if key in question.record}
    return judge_answer(Problem.read(record), *answer, checker=ExactChecker()).status


def worth_submitting(question: Question, text: str) -> Answer | None:
    """Return the answer in a model's reply, unless it is known to be wrong."""
    answer = answer_in(read_reply(text), question)
    if isinstance(answer, str):
        sys.stderr.write(f"{question.id}: {answer}\n")
        return None
    status = status_of(question, answer)
    if status in ("accepted", "undecided"):
        return answer
    sys.stderr.write(f"{question.id}: the answer is {status}\n")
    return None


def tactic_body(answer: Answer) -> str:
    """Return what a proof puts into the frame."""
    return textwrap.dedent(answer.code.partition("intro G _ h\n")[2]).strip()


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
