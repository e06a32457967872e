"""Problem records: exact keys, exact types, laws that parse."""

import pytest

from ekiden_judge import JudgeConfigurationError, Problem, ProofPolicy
from ekiden_magma import parse_law

RECORD: dict[str, object] = {
    "id": "p1",
    "eq1_id": 4,
    "eq2_id": 65,
    "equation1": "x = x * y",
    "equation2": "x = y ◇ (x ◇ (y ◇ x))",
}


def test_a_full_record_is_read():
    policy = {"allowed_axioms": ["propext"], "allowed_declarations": [], "allowed_declaration_prefixes": ["Eq."]}
    problem = Problem.read({**RECORD, "answer": False, "index": 7, "difficulty": "normal", "proof_policy": policy})
    assert problem == Problem(
        id="p1",
        eq1_id=4,
        eq2_id=65,
        equation1="x = x * y",
        equation2="x = y ◇ (x ◇ (y ◇ x))",
        answer=False,
        index=7,
        difficulty="normal",
        proof_policy=ProofPolicy(
            allowed_axioms=("propext",), allowed_declarations=(), allowed_declaration_prefixes=("Eq.",)
        ),
    )
    assert (problem.law1, problem.law2) == (parse_law("x = x ◇ y"), parse_law("x = y ◇ (x ◇ (y ◇ x))"))


def test_a_changed_copy_has_the_laws_of_its_own_texts():
    problem = Problem.read(RECORD)
    assert problem.law1 == parse_law("x = x ◇ y")
    assert problem.model_copy(update={"equation1": "x = y"}).law1 == parse_law("x = y")


def test_a_solver_sees_every_key_but_the_label():
    full = {
        **RECORD,
        "answer": True,
        "index": 7,
        "difficulty": "normal",
        "proof_policy": {"allowed_axioms": ["propext"]},
    }
    seen = {key: value for key, value in full.items() if key != "answer"}
    assert Problem.read(full).unlabelled() == seen
    assert Problem.read(RECORD).unlabelled() == RECORD


REFUSED: dict[str, tuple[object, str]] = {
    # The four organizer errors of the challenger suite.
    "unknown key": (
        {**RECORD, "note": 1},
        "manifest:3: the problem 'p1' is refused. The key 'note' is unknown; known keys are id, eq1_id, eq2_id, "
        "equation1, equation2, answer, index, difficulty, proof_policy.",
    ),
    "missing key": (
        {key: value for key, value in RECORD.items() if key != "eq1_id"},
        "manifest:3: the problem 'p1' is refused. The key 'eq1_id' is missing.",
    ),
    "wrong type": (
        {**RECORD, "eq1_id": "4"},
        "manifest:3: the problem 'p1' is refused. The key 'eq1_id' is '4': input should be a valid integer.",
    ),
    "empty equation": (
        {**RECORD, "equation1": ""},
        "manifest:3: the problem 'p1' is refused. The key 'equation1' is '': string should have at least 1 character.",
    ),
    # More of the same kind.
    "boolean as integer": (
        {**RECORD, "eq2_id": True},
        "manifest:3: the problem 'p1' is refused. The key 'eq2_id' is True: input should be a valid integer.",
    ),
    "integer as boolean": (
        {**RECORD, "answer": 1},
        "manifest:3: the problem 'p1' is refused. The key 'answer' is 1: input should be a valid boolean.",
    ),
    "negative number": (
        {**RECORD, "eq2_id": -1},
        "manifest:3: the problem 'p1' is refused. The key 'eq2_id' is -1: input should be greater than or equal to 0.",
    ),
    "null": (
        {**RECORD, "answer": None},
        "manifest:3: the problem 'p1' is refused. The key 'answer' is None: leave the key out instead of writing null.",
    ),
    "no law": (
        {**RECORD, "equation2": "x = sorry"},
        "manifest:3: the problem 'p1' is refused. The key 'equation2' holds no law. Cannot read the law 'x = sorry': "
        "a variable is one lower-case letter; write 'x ◇ y' for a product (character 6 of 9).",
    ),
    "policy with an unknown key": (
        {**RECORD, "proof_policy": {"axioms": []}},
        "manifest:3: the problem 'p1' is refused. The key 'proof_policy.axioms' is unknown; known keys are "
        "allowed_axioms, allowed_declarations, allowed_declaration_prefixes.",
    ),
    "policy with an empty name": (
        {**RECORD, "proof_policy": {"allowed_axioms": ["propext", ""]}},
        "manifest:3: the problem 'p1' is refused. The key 'proof_policy.allowed_axioms.1' is '': "
        "string should have at least 1 character.",
    ),
    "no object": ([1, 2], "manifest:3: a problem is a JSON object, not [1, 2]."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_organizer_error_names_the_key_the_value_and_the_record(case: str):
    record, message = REFUSED[case]
    with pytest.raises(JudgeConfigurationError) as caught:
        Problem.read(record, where="manifest:3")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text", ["x", "x = y = z", "x ◇ = y", "x = y\x00", "X = x", "x = xy", "(x = y", "x = y; z = w", "x + y = x"]
)
def test_text_that_only_looks_like_a_law_is_refused(text: str):
    with pytest.raises(JudgeConfigurationError, match="The key 'equation1' holds no law"):
        Problem.read({**RECORD, "equation1": text})
