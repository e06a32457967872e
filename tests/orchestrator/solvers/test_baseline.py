"""The solver that needs no model, and what all three have in common."""

import ast
import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Sequence
from types import ModuleType

import pytest
from hypothesis import given, settings

from ekiden_judge import ExactChecker, Problem, judge_answer
from ekiden_magma import CayleyTable, Law, Term, Variable
from ekiden_orchestrator.marathon.submission import BUILT_IN_SOLVERS
from ekiden_orchestrator.solo.prompt import read_prompt
from marathon_bed import PROBLEMS
from orchestrator.solvers.conftest import Contract, Ended, Json
from servers.magma.strategies import laws

DEMOS = ("baseline", "triage", "fewshot")
SHARED_BY_ALL = "# --- The part that baseline, triage and fewshot share"
SHARED_BY_TWO = "# --- The part that triage and fewshot share"


def source(solver: str) -> bytes:
    return (BUILT_IN_SOLVERS / solver / "solver.py").read_bytes()


def load(solver: str) -> ModuleType:
    """Load a solver as a module; it runs only where it is the main one."""
    name = f"solver_{solver}"
    spec = importlib.util.spec_from_file_location(name, BUILT_IN_SOLVERS / solver / "solver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


BASELINE = load("baseline")


def statuses(problems: Sequence[Json], ended: Ended) -> list[str]:
    """Judge what a solver answered."""
    by_id = {problem["id"]: Problem.read(problem) for problem in problems}
    checker = ExactChecker()
    return [
        judge_answer(by_id[each["id"]], each["verdict"], each["code"], checker=checker).status for each in ended.answers
    ]


def test_what_the_solvers_share_is_the_same_text_in_each() -> None:
    texts = {solver: source(solver).decode() for solver in DEMOS}
    assert len({text[text.index(SHARED_BY_ALL) :] for text in texts.values()}) == 1
    assert len({texts[each][texts[each].index(SHARED_BY_TWO) :] for each in ("triage", "fewshot")}) == 1


@pytest.mark.parametrize("solver", DEMOS)
def test_a_solver_is_one_file_that_both_tracks_take(solver: str) -> None:
    assert [path.name for path in (BUILT_IN_SOLVERS / solver).iterdir() if path.name != "__pycache__"] == ["solver.py"]
    assert len(source(solver)) <= 500_000
    assert "{history.attempts}" in read_prompt(source(solver))


@pytest.mark.parametrize("solver", DEMOS)
def test_a_solver_imports_nothing_but_the_standard_library_before_it_runs(solver: str) -> None:
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.parse(source(solver)).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


def as_pairs(term: Term, names: dict[str, str]) -> object:
    if isinstance(term, Variable):
        return names[term.name]
    return as_pairs(term.left, names), as_pairs(term.right, names)


@given(law=laws(max_leaves=5, names="xyzh"))
def test_laws_are_read_as_ekiden_reads_them(law: Law) -> None:
    for text in (str(law), str(law).replace("◇", "*")):
        read = BASELINE.read_law(text)
        names = dict(zip(law.variables, read.variables, strict=True))
        assert (read.left, read.right) == (as_pairs(law.left, names), as_pairs(law.right, names))


def test_a_chain_associates_to_the_left() -> None:
    assert BASELINE.read_law("x * y ◇ z = x") == BASELINE.read_law("(x ◇ y) ◇ z = x")


@pytest.mark.parametrize(
    "text",
    ["", "x", "x = ", "x = y = z", "x ** y = x", "x(y) = x", "xy = x", "x = not y", "x + y = x", "(" * 300 + "x = x"],
)
def test_what_is_no_law_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no law"):
        BASELINE.read_law(text)


def first_by_counting(law1: Law, law2: Law) -> list[list[int]] | None:
    """Search as the contract's demos do: cell (i, j) is digit i * n + j of a number that counts up."""
    for order in (2, 3):
        for digits in itertools.product(range(order), repeat=order * order):
            cells = digits[::-1]
            table = CayleyTable.from_flat(cells)
            if table.satisfies(law1) and not table.satisfies(law2):
                return [list(row) for row in table.rows]
    return None


@settings(max_examples=30)
@given(law1=laws(max_leaves=3), law2=laws(max_leaves=3))
def test_the_first_table_of_the_documented_order_is_found(law1: Law, law2: Law) -> None:
    found = BASELINE.first_refutation(BASELINE.read_law(str(law1)), BASELINE.read_law(str(law2)), math.inf)
    assert found == first_by_counting(law1, law2)


@given(law1=laws(max_leaves=4), law2=laws(max_leaves=4))
def test_a_models_table_is_evaluated(law1: Law, law2: Law) -> None:
    rows = [[0, 3, 1, 2], [1, 2, 0, 3], [2, 1, 3, 0], [3, 0, 2, 1]]
    table = CayleyTable.from_value(rows)
    expected = table.satisfies(law1) and not table.satisfies(law2)
    assert BASELINE.refutes(rows, BASELINE.read_law(str(law1)), BASELINE.read_law(str(law2))) == expected


def test_all_small_refutations_of_a_problem_set_are_found_and_right(contract: Contract) -> None:
    lines = (PROBLEMS / "normal_100.jsonl").read_text("utf-8").splitlines()
    contract.problems = [{key: value for key, value in json.loads(line).items() if key != "answer"} for line in lines]
    ended = contract.run("baseline", tokens=0)
    labels = {record["id"]: record["answer"] for record in map(json.loads, lines)}
    assert ended.ids == [name for name, answer in labels.items() if not answer]
    assert set(statuses(contract.problems, ended)) == {"accepted"}
    assert contract.run("baseline", tokens=-1, ekiden=False).output == ended.output
    assert ended.heard == []


def test_a_law_with_a_star_is_refuted_and_a_broken_record_costs_itself(contract: Contract) -> None:
    contract.problems = [{"id": "broken"}, {"id": "odd", "equation1": "x =", "equation2": "x = x"}]
    contract.add("star", "x = x * y", "x * y = y ◇ x")
    ended = contract.run("baseline", tokens=0)
    assert ended.ids == ["star"]
    assert statuses(contract.problems[2:], ended) == ["accepted"]
    assert ended.stderr.count("skipped a record") == 2


def test_no_answer_is_written_when_there_is_no_time(contract: Contract) -> None:
    contract.add("easy", "x = x ◇ y", "x = y")
    assert contract.run("baseline", seconds=0).answers == []


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("exact h x", "exact h x"),
        ("by\n  intro x\n  exact h x", "intro x\nexact h x"),
        ("import Mathlib\n\ntheorem t (G : Type) : a = b := by\n  intro x\n  exact h x", "intro x\nexact h x"),
        ("intro G _ h\nintro x\nexact h x", "intro x\nexact h x"),
        ("intro x\nhave k : x = x := by rfl\nexact k", "intro x\nhave k : x = x := by rfl\nexact k"),
    ],
)
def test_the_tactic_body_is_taken_out_of_a_models_proof(text: str, body: str) -> None:
    assert BASELINE.proof_body(text) == body


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "false"}',
        '<think>{"verdict": "true"}</think>{"verdict": "false"}',
        '```json\n{"verdict": "false"}\n```',
        'Here it is: {"verdict": "false"} as asked.',
    ],
)
def test_a_reply_is_read_wherever_its_object_stands(text: str) -> None:
    assert BASELINE.read_reply(text) == {"verdict": "false"}


@pytest.mark.parametrize("text", ["", "no", "{", "[1]", "<think>{}", "{" * 100_000, '{"a": 1} {"b": 2}'])
def test_a_reply_without_an_object_is_empty(text: str) -> None:
    assert BASELINE.read_reply(text) == {}


@pytest.mark.parametrize(
    "rows", [None, [], [[0]], [[0, 1]], [[0, 2], [0, 0]], [[0, True], [0, 0]], [[0, 1], 3], [[0.0, 1], [1, 0]]]
)
def test_what_is_no_table_is_refused(rows: object) -> None:
    assert BASELINE.read_rows(rows) is None
