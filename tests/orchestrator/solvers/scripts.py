"""A model's replies by problem: what the scripted model answers depends on the laws in the prompt alone."""

import json
import re
from collections.abc import Callable, Mapping
from typing import cast

from model_formats import Answer, Heard, Json, refusal

COMMUTES = "x ◇ y = y ◇ x"
TURNED = "(x ◇ y) ◇ z = z ◇ (y ◇ x)"
TURNED_PROOF = "intro x y z\nexact Eq.trans (h (x ◇ y) z) (congrArg (fun t => z ◇ t) (h x y))"
TWISTED = "x ◇ (y ◇ z) = (z ◇ y) ◇ x"
DEEPER = "((x ◇ y) ◇ z) ◇ w = w ◇ (z ◇ (y ◇ x))"
NEEDS_FOUR = ("x = (y ◇ ((x ◇ x) ◇ y)) ◇ y", "(x ◇ y) ◇ z = (x ◇ z) ◇ w")
FOUR = [[0, 3, 1, 2], [1, 2, 0, 3], [2, 1, 3, 0], [3, 0, 2, 1]]
ALSO_FOUR = ("x = (y ◇ ((x ◇ y) ◇ z)) ◇ z", "x ◇ (y ◇ y) = (x ◇ z) ◇ z")
"""Refuted by no table on two or three elements: `FOUR` refutes the first, and not the second."""

LAW = re.compile(r"^Law ([AB]) \((Equation\d*)\): (.*)$", re.MULTILINE)


def proof(body: str) -> str:
    return json.dumps({"verdict": "true", "proof": body})


def table(rows: object) -> str:
    return json.dumps({"verdict": "false", "counterexample_table": rows})


def asked(heard: Heard) -> str:
    """Return law B of the problem that a prompt asks about."""
    return {letter: law for letter, _, law in LAW.findall(heard.prompt)}["B"]


def effort(heard: Heard) -> object:
    reasoning = heard.json.get("reasoning")
    return cast("Json", reasoning).get("effort") if isinstance(reasoning, dict) else None


def by_law(replies: Mapping[str, str | int]) -> Callable[[Heard], Answer]:
    """Answer by law B; a number is the status of an error, and an unknown law gets a reply without any answer."""

    def respond(heard: Heard) -> Answer:
        reply = replies.get(asked(heard), "I do not know.")
        return refusal(reply, "price unknown") if isinstance(reply, int) else Answer(reply)

    return respond
