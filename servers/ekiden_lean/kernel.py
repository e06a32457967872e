"""The trusted phase: the kernel's check of exported declarations, in a process that never runs what they come from."""

from dataclasses import replace

from ekiden_lean.elaboration import Elaborated, Prepared, ended_badly
from ekiden_lean.submission import Checked
from ekiden_lean.toolchain import Toolchain
from ekiden_lean.worker import Worker, unescaped

AXIOMS_OF_LEAN = frozenset(
    {
        "propext",
        "Classical.choice",
        "Quot.sound",
        "sorryAx",
        "Lean.ofReduceBool",
        "Lean.ofReduceNat",
        "Lean.trustCompiler",
    }
)
"""The axioms that Lean's own library declares; where it comes without proofs its theorems look like axioms too."""


def check_by_kernel(prepared: Prepared, elaborated: Elaborated, worker: Worker, toolchain: Toolchain) -> Checked:
    """Have the kernel check what a submission's elaboration exported.

    Raises:
        LeanError: The worker cannot work, whatever the submission is.
    """
    key = prepared.submission.key
    job = replace(prepared.job, modules=prepared.goal_modules, text=elaborated.export)
    finished = worker.work(job)
    if finished.ending == "failed":
        return Checked(key, "crashed", f"The kernel's check gave up: {finished.detail}", elaborated.diagnostics)
    if finished.ending != "done":
        return replace(
            ended_badly(key, finished, "The kernel's check of it"),
            diagnostics=elaborated.diagnostics,
            seconds=elaborated.seconds + finished.seconds,
        )
    opening = f"report {job.nonce} "
    report = [line.removeprefix(opening) for line in finished.lines if line.startswith(opening)]
    return replace(
        _read_report(key, report, toolchain),
        diagnostics=elaborated.diagnostics,
        seconds=elaborated.seconds + finished.seconds,
    )


def _read_report(key: str, report: list[str], toolchain: Toolchain) -> Checked:
    if not report or report[-1] != "proved":
        last = report[-1] if report else "it said nothing"
        return Checked(key, "refused", f"The kernel refuses it: {unescaped(last.removeprefix('refused '))}")
    axioms: set[str] = set()
    unproved: set[str] = set()
    declarations: list[str] = []
    for line in report[:-1]:
        word, _, name = line.partition(" ")
        name = unescaped(name)
        if word == "uses":
            declarations.append(name)
        elif word == "own" or name in AXIOMS_OF_LEAN or toolchain.has_proofs:
            axioms.add(name)
        else:
            unproved.add(name)
    return Checked(
        key,
        "proved",
        "The kernel accepts it.",
        axioms=tuple(sorted(axioms)),
        unproved=tuple(sorted(unproved)),
        declarations=tuple(dict.fromkeys(declarations)),
    )
