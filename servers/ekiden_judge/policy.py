"""Which axioms and constants a proof may rest on, and whether it keeps to them."""

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, cast

from ekiden_judge.problem import STANDARD_AXIOMS, TRACK_PREFIXES, Problem, ProofPolicy
from ekiden_judge.verdict import CheckCode
from ekiden_magma import CayleyTable, Certificate, Refutation

DefaultPolicy = Literal["tracks", "strict"]
"""The rules for a problem without a policy of its own: `TRACKS`, or `STRICT`."""

TRACKS = ProofPolicy(
    allowed_axioms=tuple(sorted(STANDARD_AXIOMS)),
    allowed_declarations=("letFun",),
    allowed_declaration_prefixes=tuple(sorted(TRACK_PREFIXES)),
)
"""What the tracks substitute for a missing policy: the standard axioms and their own list of constants."""

STRICT = ProofPolicy()
"""What the judge itself does without a policy: no axiom at all, any constant."""

NEVER_ALLOWED = frozenset({"sorryAx"})
"""Axioms that no policy can allow: with them there is no proof."""

_LAW_CONSTANT = re.compile(r"Equation[0-9]+", re.ASCII)
_PROOF_NUMBER = re.compile(r"\._proof_[0-9]+$", re.ASCII)
_SHOWN = 5


def policy_of(problem: Problem, default: DefaultPolicy) -> ProofPolicy:
    """Return the policy that holds for a problem."""
    if problem.proof_policy is not None:
        return problem.proof_policy
    return TRACKS if default == "tracks" else STRICT


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a proof that the kernel accepts rests on.

    Attributes:
        axioms: The axioms that the toolchain can show.
        unproved: Theorems of Lean's own library that the proof uses and whose axioms the toolchain cannot show.
        declarations: The constants that `submission` names itself.
    """

    axioms: Sequence[str]
    unproved: Sequence[str]
    declarations: Sequence[str]


class Ruling(NamedTuple):
    """What a policy says of a proof: the code, and the reason in words."""

    error_code: CheckCode
    message: str


def rule_on(policy: ProofPolicy, proof: Dependencies) -> Ruling:
    """Say whether a proof keeps to a policy: axioms first, then declarations.

    A theorem of Lean's library whose axioms cannot be shown may need the standard axioms and no others: the axioms of
    compiled evaluation are never hidden. So it passes where the policy allows the standard ones; elsewhere it passes
    only if it is known to need no more than is allowed, and what is not known is left undecided.
    """
    allowed = frozenset(policy.allowed_axioms) - NEVER_ALLOWED
    if refusal := _refused_axioms(allowed, proof):
        return Ruling("DISALLOWED_AXIOMS", refusal)
    if refusal := _refused_declarations(policy, proof.declarations):
        return Ruling("DISALLOWED_DECLARATIONS", refusal)
    if not allowed >= STANDARD_AXIOMS and (unknown := _unknown(proof.unproved)):
        return Ruling(
            "NEEDS_LEAN",
            f"The kernel accepts the proof, but {_allowing(allowed)}, and this Lean has no proofs of its library: it "
            f"cannot show which axioms {_listed(unknown)} need. A native Lean can tell.",
        )
    return Ruling("ACCEPTED", _resting_on(proof))


def axioms_of(proof: Dependencies) -> tuple[str, ...]:
    """Return the axioms that a proof is known to need, those of known library theorems included."""
    found = set(proof.axioms)
    for name in proof.unproved:
        found |= library_axioms(name) or frozenset()
    return tuple(sorted(found))


def may_name(policy: ProofPolicy, constant: str) -> bool:
    """Tell whether `submission` may name a constant.

    Listed constants pass, and those that a prefix allows: one that ends in '.' stands for the namespace and its root,
    any other for all names that begin with it.
    """
    if policy.allowed_declarations is None or constant in policy.allowed_declarations:
        return True
    if _LAW_CONSTANT.fullmatch(constant):
        return True
    return any(
        constant.startswith(prefix) or (prefix.endswith(".") and constant == prefix[:-1])
        for prefix in policy.allowed_declaration_prefixes
    )


def library_axioms(theorem: str) -> frozenset[str] | None:
    """Return the axioms that a theorem of Lean's own library needs, or None if that is not known here."""
    return _library().get(_PROOF_NUMBER.sub("._proof", theorem))


def policy_gap(policy: ProofPolicy, certificate: Certificate) -> str | None:
    """Return why a policy may refuse what a certificate prints as in Lean, or None if it cannot.

    For checkers that do not run Lean. An equational proof needs no axiom; which axioms and constants Lean's evaluation
    of a table brings, only Lean knows.
    """
    if isinstance(certificate, Refutation) and not set(policy.allowed_axioms) >= STANDARD_AXIOMS:
        what = "table" if isinstance(certificate.model, CayleyTable) else "infinite model"
        return f"which axioms the {what} takes, only Lean can tell, and the policy does not allow the standard ones"
    if policy.allowed_declarations is not None and not set(policy.allowed_declaration_prefixes) >= TRACK_PREFIXES:
        return "which constants it names, only Lean can tell, and the problem's policy allows fewer than the tracks do"
    return None


@cache
def library_digest() -> str:
    """Return what changes when the known axioms of library theorems do."""
    return hashlib.sha256(_library_text().encode()).hexdigest()[:12]


def _library_text() -> str:
    return (files("ekiden_judge") / "data" / "library_theorems.toml").read_text(encoding="utf-8")


@cache
def _library() -> dict[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for group in cast("list[dict[str, list[str]]]", tomllib.loads(_library_text())["group"]):
        for name in group["names"]:
            known[name] = frozenset(group["axioms"])
    return known


def _refused_axioms(allowed: frozenset[str], proof: Dependencies) -> str | None:
    holes = NEVER_ALLOWED.intersection(proof.axioms)
    if holes:
        return f"The proof has a hole: it rests on {_listed(sorted(holes))}, which nothing allows."
    if refused := sorted(set(proof.axioms) - allowed):
        return f"The proof rests on {_axioms(refused)}, but {_allowing(allowed)}."
    for name in proof.unproved:
        if refused := sorted((library_axioms(name) or frozenset()) - allowed):
            return f"The proof uses {name!r}, which rests on {_axioms(refused)}, but {_allowing(allowed)}."
    return None


def _refused_declarations(policy: ProofPolicy, declarations: Sequence[str]) -> str | None:
    refused = [constant for constant in declarations if not may_name(policy, constant)]
    if not refused:
        return None
    return (
        f"`submission` names {_listed(refused)}, which the problem's policy does not allow. A helper may be called "
        "'submission.NAME': only the constants that `submission` names itself are looked at."
    )


def _unknown(theorems: Sequence[str]) -> list[str]:
    return [name for name in theorems if library_axioms(name) is None]


def _allowing(allowed: frozenset[str]) -> str:
    return f"the policy allows only {_listed(sorted(allowed))}" if allowed else "the policy allows no axiom"


def _resting_on(proof: Dependencies) -> str:
    axioms, unknown = axioms_of(proof), _unknown(proof.unproved)
    message = "Lean's kernel accepts `submission : Goal`"
    if not unknown:
        return f"{message}; it rests on {_axioms(axioms) if axioms else 'no axiom'}."
    known = f"it rests on {_axioms(axioms)}, and " if axioms else ""
    return (
        f"{message}; {known}on theorems of Lean's library whose axioms this Lean cannot show, at most the standard "
        f"three: {_listed(unknown)}."
    )


def _axioms(names: Sequence[str]) -> str:
    return f"the axiom{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 80 else name[:77] + "...") for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
