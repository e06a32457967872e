"""Reading certificates back from answers, without Lean.

What is read, is read exactly as Lean would: a text that Lean might refuse or understand differently is left undecided.
Read are

- Ekiden's JSON form of a certificate;
- every text that `lean_answer` prints;
- false answers in the judge's standard shape: an instance of `Magma (Fin n)` by `finOpTable`, closed by `decideFin!`;
- true answers whose proof term is made of instances, `Eq.trans`, `Eq.symm`, `congrArg`, `calc` and the like.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Literal, cast

from ekiden_magma.certificate import Certificate, EquationalProof, Refutation, from_json
from ekiden_magma.check import check
from ekiden_magma.errors import CertificateError, MagmaError
from ekiden_magma.lean import lean_answer
from ekiden_magma.lean_cursor import Cursor
from ekiden_magma.lean_read_proof import ProofReader
from ekiden_magma.lean_table import read_table_answer
from ekiden_magma.lean_tokens import Undecided, tokens
from ekiden_magma.natural import ResidueModel
from ekiden_magma.program import straight_line
from ekiden_magma.table import Assignment, CayleyTable

if TYPE_CHECKING:
    from ekiden_magma.law import Law

MAX_CODE = 1_000_000
MAX_READ_ORDER = 256
MAX_PRODUCTS = 2_000_000
MAX_TRIALS = 5_000

_TABLE_MODULE = "JudgeFinOp.MemoFinOp"
_IMPORTS = {"JudgeProblem", "JudgeDecide.DecideBang", _TABLE_MODULE}
_MODEL = re.compile(r"import JudgeProblem\n\n-- (\{.*\})\n")


def read_answer(code: str, law1: Law, law2: Law, verdict: Literal["true", "false"]) -> Certificate | None:
    """Read the certificate that an answer holds, or None if only Lean can decide the answer.

    The certificate is not checked: a wrong table gives a refutation that `check` refuses. It may even claim the
    opposite of the verdict, which is then wrong.
    """
    if len(code) > MAX_CODE:
        return None
    if code.lstrip(" \n").startswith("{"):
        try:
            return from_json(code, law1, law2)
        except CertificateError:
            return None
    try:
        readers = [_read_proof, _read_refutation] if verdict == "true" else [_read_refutation, _read_proof]
        for reader in readers:
            if certificate := reader(code, law1, law2):
                return certificate
    except RecursionError:
        return None
    return None


def _read_refutation(code: str, law1: Law, law2: Law) -> Refutation | None:
    if match := _MODEL.match(code):
        return _printed_model(code, match[1], law1, law2)
    try:
        if refutation := read_table_answer(code, law1, law2):
            return refutation
        table = _standard_table(code)
    except (MagmaError, Undecided):
        return None
    assignment = _breaking(table, law2)
    return None if assignment is None else Refutation(law1, law2, table, assignment)


def _printed_model(code: str, text: str, law1: Law, law2: Law) -> Refutation | None:
    """Read an infinite model from the comment that comes with it, if the rest is what is printed for it."""
    try:
        certificate = from_json(text, law1, law2)
        if isinstance(certificate, Refutation) and isinstance(certificate.model, ResidueModel):
            check(certificate)
            return certificate if lean_answer(certificate) == code else None
    except MagmaError:
        pass
    return None


def _breaking(table: CayleyTable, law: Law) -> Assignment | None:
    """Return an assignment that breaks a law, any assignment if none does, or None if it takes too long to tell."""
    products = table.order ** len(law.variables) * max(1, len(straight_line(law).steps))
    if products <= MAX_PRODUCTS:
        return table.counterexample(law) or dict.fromkeys(law.variables, 0)
    random = Random(0)
    for _ in range(MAX_TRIALS):
        assignment = {name: random.randrange(table.order) for name in law.variables}
        left, right = table.evaluate(law, assignment)
        if left != right:
            return assignment
    return None


def _read_proof(code: str, law1: Law, law2: Law) -> EquationalProof | None:
    try:
        cursor = Cursor(tokens(code))
        _header(cursor)
        reader = ProofReader(cursor, law1, law2)
        proof = reader.read()
        cursor.expect_end()
    except Undecided:
        return None
    if reader.is_coherent:
        return proof
    # Lean refuses this proof; it is only returned if the checker refuses it too.
    try:
        check(proof)
    except CertificateError:
        return proof
    return None


def _header(cursor: Cursor) -> set[str]:
    """Read what stands before the tactic block; return the imports, and "open" if the table module is opened."""
    found: set[str] = set()
    while cursor.accept("import"):
        name = cursor.take("name").text
        if name not in _IMPORTS - found:
            raise Undecided
        found.add(name)
    if cursor.accept("open"):
        cursor.expect("MemoFinOp")
        found.add("open")
    cursor.expect("def", "theorem")
    cursor.expect_words("submission", ":", "Goal", ":=", "by")
    if "JudgeProblem" not in found or found & {"open", _TABLE_MODULE} == {"open"}:
        raise Undecided
    return found


def _standard_table(code: str) -> CayleyTable:
    """Read the table of an answer in the standard shape.

    Raises:
        Undecided: The answer has another shape.
        MagmaError: The table is none.
    """
    cursor = Cursor(tokens(code))
    if _header(cursor) != _IMPORTS | {"open"}:
        raise Undecided
    name = ""
    table: CayleyTable | None = None
    refined = closed = False
    for _ in cursor.items():
        if not name and not refined and cursor.accept("let", "letI"):
            name = cursor.new_name()
            cursor.expect_words(":", "Magma")
            if not cursor.next.spaced:
                raise Undecided
            cursor.expect_words("(", "Fin")
            order = _order(cursor)
            cursor.expect_words(")", ":=")
            table = _instance(cursor, order)
        elif not refined and cursor.sees("refine", "exact"):
            refined, closed, table = True, cursor.next.text == "exact", _triple(cursor, name, table)
        elif refined and not closed:
            cursor.expect("decideFin!")
            closed = True
        else:
            raise Undecided
    cursor.expect_end()
    if not closed or table is None:
        raise Undecided
    return table


def _triple(cursor: Cursor, name: str, bound: CayleyTable | None) -> CayleyTable:
    """Read `refine ⟨Fin n, instance, ?_⟩` or `exact ⟨Fin n, instance, by decideFin!⟩`."""
    ending = ["?_"] if cursor.take().text == "refine" else ["by", "decideFin!"]
    cursor.expect_words("⟨", "Fin")
    order = _order(cursor)
    cursor.expect(",")
    if bound is not None:
        cursor.expect(name)
        table = bound
        if bound.order != order:
            raise Undecided
    else:
        table = _instance(cursor, order)
    cursor.expect_words(",", *ending, "⟩")
    return table


def _order(cursor: Cursor) -> int:
    token = cursor.take("number")
    if len(token.text) > 3 or not 1 <= int(token.text) <= MAX_READ_ORDER:
        raise Undecided
    return int(token.text)


def _instance(cursor: Cursor, order: int) -> CayleyTable:
    """Read `{ op := finOpTable "[[0,1],[1,0]]" }` or `⟨finOpTable "[[0,1],[1,0]]"⟩`."""
    if cursor.accept("{"):
        with cursor.item():  # what follows the field's name stands to the right of it
            cursor.expect_words("op", ":=")
            text = _table_text(cursor)
        cursor.expect_brace()
    else:
        cursor.expect("⟨")
        text = _table_text(cursor)
        cursor.expect("⟩")
    # Lean collects the digits one by one; only where these are the table's entries is there nothing to doubt.
    try:
        rows = cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        raise Undecided from error
    digits = [int(digit) for digit in text if digit.isdigit()]
    table = CayleyTable.from_value(rows)
    if table.order != order or digits != [value for row in table.rows for value in row] or not text.startswith("[["):
        raise Undecided
    return table


def _table_text(cursor: Cursor) -> str:
    in_parentheses = cursor.accept("(")
    cursor.expect("finOpTable")
    if not cursor.next.spaced:
        raise Undecided
    text = cursor.take("string").text[1:-1]
    if in_parentheses:
        cursor.expect(")")
    return text
