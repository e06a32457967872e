"""Certificates: evidence that law 1 implies law 2, or that it does not.

A `Refutation` is a magma that satisfies law 1, and an assignment under which law 2 fails in it. An `EquationalProof`
is a chain of rewriting steps from the left side of law 2 to its right side. Both are plain data; `check` decides them.

The JSON form of a refutation has the keys

- `certificate`: `"refutation"`, and `version`: 1;
- `law1`, `law2`: the law texts. They may be left out; if given, they must be the laws in question;
- `table`: a list of rows, or `model`: a name or `{"modulus": m, "rules": [[a, b, c], ...]}`;
- `assignment`: a number for each variable of law 2.

That of a proof has `certificate`: `"proof"`, `version`, `law1` and `law2` as above, and

- `steps`: a list of `{"rule": 0, "terms": ["x", "y ◇ x"], "at": "lr", "reverse": false}`. Rule 0 is law 1, rule k is
  lemma k. `terms` are the values of the rule's variables in order of first appearance. `at` is the path to the
  rewritten subterm ("l" left argument, "r" right argument, default "": the whole term). `reverse` (default false)
  rewrites from the rule's right side to its left side;
- `lemmas` (default none): a list of `{"law": ..., "steps": [...]}`; each may use law 1 and the lemmas before it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, cast

from ekiden_magma.errors import CertificateError, MagmaError, shown
from ekiden_magma.natural import ResidueModel
from ekiden_magma.parse import parse_law, parse_term
from ekiden_magma.table import Assignment, CayleyTable

if TYPE_CHECKING:
    from collections.abc import Set

    from ekiden_magma.law import Law
    from ekiden_magma.term import Term

VERSION = 1
MAX_TEXT = 4_000_000
MAX_ORDER = 256
MAX_DIGITS = 30


@dataclass(frozen=True, slots=True)
class Refutation:
    """Law 1 does not imply law 2: a magma satisfies law 1, and law 2 fails in it under an assignment."""

    law1: Law
    law2: Law
    model: CayleyTable | ResidueModel
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Step:
    """Rewrite one subterm by one instance of a rule.

    Attributes:
        rule: 0 for law 1, k for lemma k (counted from 1).
        arguments: The terms put for the rule's variables, in the order of `Law.variables`.
        path: Where the rewritten subterm is: "l" and "r" lead to the left and right argument.
        reverse: Rewrite from the rule's right side to its left side.
    """

    rule: int
    arguments: tuple[Term, ...]
    path: str = ""
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Lemma:
    """A law with the steps from its left side to its right side."""

    law: Law
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class EquationalProof:
    """Law 1 implies law 2: steps from the left side of law 2 to its right side, with lemmas proved first."""

    law1: Law
    law2: Law
    steps: tuple[Step, ...]
    lemmas: tuple[Lemma, ...] = ()


Certificate = Refutation | EquationalProof


def to_json(certificate: Certificate) -> str:
    """Return the certificate's JSON form on one line; `from_json` reads it back."""
    head: dict[str, object] = {
        "certificate": "refutation" if isinstance(certificate, Refutation) else "proof",
        "version": VERSION,
        "law1": str(certificate.law1),
        "law2": str(certificate.law2),
    }
    if isinstance(certificate, EquationalProof):
        lemmas = [{"law": str(lemma.law), "steps": _steps_value(lemma.steps)} for lemma in certificate.lemmas]
        return _dump(head | ({"lemmas": lemmas} if lemmas else {}) | {"steps": _steps_value(certificate.steps)})
    if isinstance(certificate.model, CayleyTable):
        head["table"] = certificate.model.rows
    else:
        head["model"] = certificate.model.to_value()
    return _dump(head | {"assignment": certificate.assignment})


def from_json(text: str, law1: Law, law2: Law) -> Certificate:
    """Read a certificate about two laws from its JSON form. It is read only, not checked.

    Raises:
        CertificateError: The text is no certificate about these laws; the message says where and why.
    """
    value = _load(text)
    kind = cast("dict[str, object]", value).get("certificate") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in ("refutation", "proof"):
        raise CertificateError('A certificate is a JSON object with "certificate": "refutation" or "proof".')
    if kind == "refutation":
        needed, optional = {"certificate", "version", "assignment"}, {"law1", "law2", "table", "model"}
    else:
        needed, optional = {"certificate", "version", "steps"}, {"law1", "law2", "lemmas"}
    entries = _entries(cast("object", value), "the certificate", needed, optional)
    if type(entries["version"]) is not int or entries["version"] != VERSION:
        raise CertificateError(
            f"The certificate has version {shown(entries['version'])}; this program reads {VERSION}."
        )
    for key, law in (("law1", law1), ("law2", law2)):
        if key in entries and _law(entries[key], key) != law:
            raise CertificateError(f"The certificate is about {key} {shown(entries[key])}, not {str(law)!r}.")
    if kind == "refutation":
        return Refutation(law1, law2, _model(entries), _assignment(entries["assignment"]))
    lemmas = tuple(
        Lemma(_law(lemma["law"], f"lemma {k}"), _steps(lemma["steps"], f"lemma {k}"))
        for k, entry in enumerate(_list(entries.get("lemmas", []), "lemmas"), start=1)
        for lemma in [_entries(entry, f"lemma {k}", {"law", "steps"}, set())]
    )
    return EquationalProof(law1, law2, _steps(entries["steps"], "the proof"), lemmas)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _steps_value(steps: tuple[Step, ...]) -> list[dict[str, object]]:
    values: list[dict[str, object]] = []
    for step in steps:
        value: dict[str, object] = {"rule": step.rule, "terms": [str(term) for term in step.arguments]}
        if step.path:
            value["at"] = step.path
        if step.reverse:
            value["reverse"] = True
        values.append(value)
    return values


def _load(text: str) -> object:
    if len(text) > MAX_TEXT:
        raise CertificateError(f"The certificate has {len(text)} characters; at most {MAX_TEXT} are read.")
    try:
        return cast(
            "object",
            json.loads(
                text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_no_number, parse_constant=_no_number
            ),
        )
    except CertificateError:
        raise
    except RecursionError as error:
        raise CertificateError("The certificate is nested too deeply.") from error
    except ValueError as error:
        raise CertificateError(f"The certificate is not JSON: {error}.") from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries: dict[str, object] = {}
    for key, value in pairs:
        if key in entries:
            raise CertificateError(f"The certificate holds the key {shown(key)} twice in one object.")
        entries[key] = value
    return entries


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise CertificateError(
            f"The certificate holds a number of {len(digits)} digits; at most {MAX_DIGITS} are read."
        )
    return int(digits)


def _no_number(text: str) -> NoReturn:
    raise CertificateError(f"The certificate holds the number {shown(text)}; all its numbers are whole numbers.")


def _entries(value: object, where: str, needed: Set[str], optional: Set[str]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise CertificateError(f"Expected a JSON object for {where}, found {shown(value)}.")
    entries = cast("dict[str, object]", value)
    if missing := sorted(needed - entries.keys()):
        raise CertificateError(f"The key {missing[0]!r} is missing in {where}.")
    if unknown := [key for key in entries if key not in needed | optional]:
        raise CertificateError(f"Unknown key {shown(unknown[0])} in {where}; known are {sorted(needed | optional)}.")
    return entries


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise CertificateError(f"Expected a list for {where}, found {shown(value)}.")
    return cast("list[object]", value)


def _law(value: object, where: str) -> Law:
    if not isinstance(value, str):
        raise CertificateError(f"Expected the text of a law for {where}, found {shown(value)}.")
    try:
        return parse_law(value)
    except MagmaError as error:
        raise CertificateError(f"In {where}: {error}") from error


def _term(value: object, where: str) -> Term:
    if not isinstance(value, str):
        raise CertificateError(f"Expected the text of a term in {where}, found {shown(value)}.")
    try:
        return parse_term(value)
    except MagmaError as error:
        raise CertificateError(f"In {where}: {error}") from error


def _steps(value: object, where: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for number, entry in enumerate(_list(value, f"the steps of {where}"), start=1):
        here = f"step {number} of {where}"
        fields = _entries(entry, here, {"rule", "terms"}, {"at", "reverse"})
        rule, path, reverse = fields["rule"], fields.get("at", ""), fields.get("reverse", False)
        if type(rule) is not int or rule < 0:
            raise CertificateError(f"The rule of {here} is {shown(rule)}; it is 0 for law 1 or the number of a lemma.")
        if not isinstance(path, str) or path.strip("lr"):
            raise CertificateError(f"The path of {here} is {shown(path)}; it is a word of the letters l and r.")
        if not isinstance(reverse, bool):
            raise CertificateError(f"The value of 'reverse' in {here} is {shown(reverse)}; it is true or false.")
        terms = tuple(_term(term, here) for term in _list(fields["terms"], f"the terms of {here}"))
        steps.append(Step(rule, terms, path, reverse))
    return tuple(steps)


def _model(entries: dict[str, object]) -> CayleyTable | ResidueModel:
    if ("table" in entries) == ("model" in entries):
        raise CertificateError("A refutation has either a 'table' or a 'model'.")
    try:
        if "model" in entries:
            return ResidueModel.from_value(entries["model"])
        rows = _list(entries["table"], "the table")
        if len(rows) > MAX_ORDER:
            raise CertificateError(f"The table has {len(rows)} rows; orders up to {MAX_ORDER} are read.")
        if not all(isinstance(row, list) for row in rows):
            raise CertificateError("The table must be a list of rows such as [[0,1],[1,0]].")
        return CayleyTable.from_value(rows)
    except CertificateError:
        raise
    except MagmaError as error:
        raise CertificateError(f"In the refutation: {error}") from error


def _assignment(value: object) -> Assignment:
    if not isinstance(value, dict):
        raise CertificateError(f"Expected an object such as {{'x': 0}} for the assignment, found {shown(value)}.")
    for name, number in cast("dict[str, object]", value).items():
        if type(number) is not int or number < 0:
            raise CertificateError(
                f"The assignment gives {shown(name)} the value {shown(number)}; it needs a natural number."
            )
    return cast("Assignment", value)
