"""Infinite models: the exact decision against brute force on a box, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ekiden_magma import AffineRule, Law, MagmaError, ResidueModel, named_models, parse_law
from servers.magma.strategies import holds_below, laws, models, points, sides


@given(models(), laws(5))
@settings(max_examples=300, deadline=None)
def test_the_decision_agrees_with_brute_force(model: ResidueModel, law: Law):
    witness = model.counterexample(law)
    if witness is None:
        assert holds_below(law, model.product, 9)
    else:
        left, right = sides(law, model.product, witness)
        assert left != right
        assert model.evaluate(law, witness) == (left, right)


@given(models(), laws(5))
@settings(max_examples=200, deadline=None)
def test_without_small_assignments_the_cells_alone_decide_the_same(model: ResidueModel, law: Law):
    # Each cell holds a corner, and on it both sides are affine: the law holds on the cell exactly if it holds at the
    # corner and one step from it in each direction.
    fails = False
    for cell in model.cells(law):
        for moved in range(-1, len(cell)):
            values = [low + (step if place == moved else 0) for place, (low, step) in enumerate(cell)]
            left, right = sides(law, model.product, dict(zip(law.variables, values, strict=True)))
            fails = fails or left != right
    assert fails == (not model.satisfies(law))


@given(models(), laws(5), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
@settings(deadline=None)
def test_the_cells_partition_all_assignments(model: ResidueModel, law: Law, x: int, y: int, z: int):
    point = {"x": x, "y": y, "z": z}
    values = [point[name] for name in law.variables]
    holding = [
        cell
        for cell in model.cells(law)
        if all(
            v == low or (step and v >= low and (v - low) % step == 0)
            for v, (low, step) in zip(values, cell, strict=True)
        )
    ]
    assert len(holding) == 1


@pytest.mark.parametrize(
    ("model", "law", "witness"),
    [
        # The law first fails where truncation ends, far from zero.
        (ResidueModel.uniform(1, 0, -40), "x ◇ x = (x ◇ x) ◇ x", {"x": 41}),
        (ResidueModel.uniform(1, 0, -40), "(x ◇ x) ◇ x = (y ◇ x) ◇ x", {"x": 81, "y": 0}),
        (
            ResidueModel(2, tuple(AffineRule(*r) for r in ((1, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)))),
            "x ◇ y = x",
            None,
        ),
    ],
)
def test_the_decision_sees_beyond_any_small_box(model: ResidueModel, law: str, witness: dict[str, int] | None):
    found = model.counterexample(parse_law(law))
    assert (found is None) == (witness is None)
    if witness is not None and found is not None:
        left, right = model.evaluate(parse_law(law), witness)
        assert left != right
        assert max(found.values()) > 20


@given(models(), laws(4))
def test_the_dual_model_satisfies_the_dual_law(model: ResidueModel, law: Law):
    assert model.dual().dual() == model
    for point in points(law, 4):
        assert model.evaluate(law, point) == model.dual().evaluate(law.dual(), point)


@given(models(4))
def test_a_model_reads_back_from_json_data(model: ResidueModel):
    assert ResidueModel.from_value(model.to_value()) == model


def test_every_named_model_is_read_by_its_name():
    for name, model in named_models().items():
        assert ResidueModel.from_value(name) == model


def test_too_many_cases_are_refused_with_advice():
    with pytest.raises(MagmaError, match=r"takes more than 100000 cases; use smaller offsets or a smaller modulus"):
        ResidueModel.uniform(1, 0, -900_000).satisfies(parse_law("x ◇ y = (x ◇ z) ◇ w"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no such", "No model is named 'no such'; the names are sum, "),
        ({"modulus": 1}, "A model is a name or an object"),
        ({"modulus": 1, "rules": [[1, 0, 0]], "more": 1}, "A model is a name or an object"),
        (
            {"modulus": 2, "rules": [[1, 0, 0]]},
            "A model of modulus 2 needs 4 rules, one for each pair of residues; found 1.",
        ),
        ({"modulus": True, "rules": [[1, 0, 0]]}, "The modulus is True; it must be 1..64."),
        ({"modulus": 0, "rules": []}, "The modulus is 0; it must be 1..64."),
        ({"modulus": 10**5000, "rules": []}, "The modulus is a huge number; it must be 1..64."),
        ({"modulus": 1, "rules": [[1, 0]]}, "Rule 0 of the model must be a list of three whole numbers [a, b, c]."),
        ({"modulus": 1, "rules": [[1, 0, True]]}, "Rule 0 of the model must hold whole numbers of at most 1000000."),
        (
            {"modulus": 1, "rules": [[1, 0, 10**5000]]},
            "Rule 0 of the model must hold whole numbers of at most 1000000.",
        ),
        ({"modulus": 1, "rules": [[1, -1, 0]]}, "Rule 0 is (1, -1, 0); its factors a and b must not be negative."),
    ],
)
def test_what_is_no_model_is_refused(value: object, message: str):
    with pytest.raises(MagmaError) as caught:
        ResidueModel.from_value(value)
    assert str(caught.value).startswith(message)
