"""What a proof checker is given and what it says."""

from dataclasses import dataclass
from typing import Literal

from ekiden_lean.diagnostics import Diagnostic

Outcome = Literal["proved", "refused", "timeout", "memory", "crashed", "unavailable"]


@dataclass(frozen=True, slots=True)
class TrustedModule:
    """A module of the caller's own that submissions may import.

    Attributes:
        name: What an `import` calls it.
        text: Its Lean text without a header.
        imports: The trusted modules whose names it uses.
    """

    name: str
    text: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """An untrusted Lean file that should prove a goal.

    Attributes:
        key: The caller's name for it.
        code: The whole file, with its header.
        modules: The trusted modules that it may import, each after those it needs; what many submissions have in common
            comes first, so that it is made once.
        target: The constant it must define.
        goal: The proposition that is to be the constant's type, a constant of `goal_module`.
        goal_module: The trusted module that states the goal.
    """

    key: str
    code: str
    modules: tuple[TrustedModule, ...]
    target: str = "submission"
    goal: str = "Goal"
    goal_module: str = "JudgeProblem"


@dataclass(frozen=True, slots=True)
class LeanLimits:
    """What one submission may use; start-up counts apart.

    Attributes:
        cpu_s: Processor seconds of elaboration, and again of the kernel's check.
        wall_factor: Wall seconds allowed for each of them: a backstop for a program that sleeps.
        memory_bytes: Resident memory of one Lean process.
        start_s: Wall seconds until a Lean process must be ready and have imported its library.
        export_bytes: Size of the declarations that one submission may hand to the kernel.
    """

    cpu_s: float = 120.0
    wall_factor: float = 4.0
    memory_bytes: int = 6 << 30
    start_s: float = 600.0
    export_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found about one submission.

    Attributes:
        key: The submission's key.
        outcome: `proved`: the kernel accepts the target as a proof of the goal, resting on what the fields below say.
            `refused`: Lean or the kernel does not. `timeout`, `memory`, `crashed`: its process ended that way.
            `unavailable`: it imports a library that this toolchain does not have, so nothing was decided.
        message: The reason in words; what is amiss first.
        diagnostics: Lean's messages, at places of the submission's own text.
        axioms: All axioms that the target rests on.
        unproved: Library theorems that it rests on and whose axioms this toolchain cannot show, for its library comes
            without proofs.
        declarations: The constants that the target's own type and value name.
        seconds: Wall seconds that both phases took, start-up left out.
    """

    key: str
    outcome: Outcome
    message: str
    diagnostics: tuple[Diagnostic, ...] = ()
    axioms: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    declarations: tuple[str, ...] = ()
    seconds: float = 0.0
