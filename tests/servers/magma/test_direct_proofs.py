"""Proofs that need no search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_magma import Law, Term, check, lean_answer, parse_law, read_answer
from ekiden_magma.direct import direct_proof
from servers.magma.strategies import laws, terms


@pytest.mark.parametrize(
    ("law1", "law2", "steps"),
    [
        ("x ◇ y = y ◇ x", "x ◇ (y ◇ z) = x ◇ (y ◇ z)", 0),
        ("x ◇ y = y ◇ x", "x ◇ (y ◇ z) = (y ◇ z) ◇ x", 1),
        ("x = x ◇ y", "(x ◇ y) ◇ z = x ◇ y", 1),
        ("x = y ◇ y", "x ◇ y = z ◇ w", 2),
        ("y ◇ (y ◇ y) = x", "x = y ◇ x", 2),
    ],
)
def test_what_follows_at_once_is_proved(law1: str, law2: str, steps: int) -> None:
    proof = direct_proof(parse_law(law1), parse_law(law2))
    assert proof is not None
    check(proof)
    assert len(proof.steps) == steps


@pytest.mark.parametrize(
    ("law1", "law2"),
    [
        ("x = x ◇ x", "x = y"),
        ("x ◇ y = y ◇ x", "(x ◇ y) ◇ z = z ◇ (y ◇ x)"),
        ("x ◇ x = y ◇ z", "x = y"),
    ],
)
def test_what_does_not_is_left_alone(law1: str, law2: str) -> None:
    assert direct_proof(parse_law(law1), parse_law(law2)) is None


@given(law=laws(), images=st.tuples(terms(), terms(), terms()), swap=st.booleans())
def test_every_instance_is_proved(law: Law, images: tuple[Term, Term, Term], swap: bool) -> None:
    instance = law.substitute(dict(zip("xyz", images, strict=True)))
    proof = direct_proof(law, instance.swapped() if swap else instance)
    assert proof is not None
    check(proof)


@given(law1=laws(), law2=laws())
def test_every_proof_is_one(law1: Law, law2: Law) -> None:
    proof = direct_proof(law1, law2)
    if proof is not None:
        check(proof)
        assert read_answer(lean_answer(proof), law1, law2, "true") is not None
