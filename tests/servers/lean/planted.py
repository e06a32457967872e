"""What can be planted before a statement, or behind a proof, so that the same words say another thing."""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """Two contexts in which the same statement is read."""

    one: str
    other: str
    statement: str


COMMON = """
class Bit where
  bit : Nat
instance usual : Bit := ⟨1⟩
namespace P
def v := 1
end P
namespace Q
def v := 2
end Q
"""
_F = "theorem t : f 1 = f 1 := rfl"
_V = "theorem t : v = v := rfl"
_BIT = "theorem t : Bit.bit = Bit.bit := rfl"
MEANINGS = {
    "an instance of a higher priority": Planted("", "local instance (priority := high) other : Bit := ⟨2⟩", _BIT),
    "an instance that is removed": Planted("", "attribute [-instance] usual\nlocal instance other : Bit := ⟨2⟩", _BIT),
    "an attribute that makes an instance": Planted(
        "def other : Bit := ⟨2⟩", "def other : Bit := ⟨2⟩\nattribute [local instance] other", _BIT
    ),
    "an instance for a literal": Planted(
        "", "local instance : OfNat Nat 4 := ⟨5⟩", "theorem t (n : Nat) (h : n = 4) : n = 4 := h"
    ),
    "an instance for an operator": Planted(
        "local instance : HAdd Nat Nat Nat := ⟨Nat.add⟩",
        "local instance : HAdd Nat Nat Nat := ⟨Nat.mul⟩",
        "theorem t (n : Nat) (h : n + n = 0) : n + n = 0 := h",
    ),
    "an instance that is derived": Planted(
        "inductive C | a | b\nderiving DecidableEq, Inhabited",
        "inductive C | a | b\nderiving DecidableEq\ninstance : Inhabited C := ⟨.b⟩",
        "theorem t : (default : C) = default := rfl",
    ),
    "a namespace opened": Planted("open P", "open Q", _V),
    "a name hidden": Planted("open P\nopen Q hiding v", "open Q\nopen P hiding v", _V),
    "a name exported": Planted("export P (v)", "export Q (v)", _V),
    "a short name of another namespace": Planted("open P", "namespace Inner\ndef v := 7\nend Inner\nopen Inner", _V),
    "a private name": Planted("private def v := 1", "private def v := 2", _V),
    "a notation": Planted('local notation "v" => 2', 'local notation "v" => 3', _V),
    "an operator that binds otherwise": Planted(
        'local infixl:60 " ⋆ " => Nat.sub',
        'local infixr:60 " ⋆ " => Nat.sub',
        "theorem t : 3 ⋆ 2 ⋆ 1 = 3 ⋆ 2 ⋆ 1 := rfl",
    ),
    "letters that look alike": Planted("def ο := 2\ndef v := ο", "def ο := 2\ndef o := 1\ndef v := o", _V),
    "an implicit variable": Planted("def n := 3", "set_option autoImplicit true", "theorem t : n + 0 = n := rfl"),
    "a variable of another type": Planted("variable (n : Nat)", "variable (n : Fin 3)", "theorem t : n = n := rfl"),
    "a premise": Planted(
        "variable (h : 1 = 2)", "variable (h : 1 = 2)\ninclude h", "theorem t : 1 = 1 := by exact rfl"
    ),
    "a universe": Planted(
        "universe u\nabbrev Kind := Type u", "abbrev Kind := Type", "theorem t : ∀ α : Kind, ∀ a : α, a = a := by simp"
    ),
    "a coercion": Planted(
        "local instance : Coe Bool Nat := ⟨fun b => b.toNat⟩",
        "local instance : Coe Bool Nat := ⟨fun _ => 0⟩",
        "theorem t (b : Bool) : (b : Nat) = b := rfl",
    ),
    "an opaque value": Planted("def f (n : Nat) := n", "opaque f (n : Nat) : Nat", _F),
    "a value that is left out": Planted(
        "structure S where\n  y : Nat := 1", "structure S where\n  y : Nat := 2", "theorem t : ({} : S) = {} := rfl"
    ),
    "an argument that is left out": Planted(
        "def f (n : Nat) (m : Nat := 1) := n + m", "def f (n : Nat) (m : Nat := 2) := n + m", _F
    ),
    "a local function": Planted(
        "def f (n : Nat) := g n\nwhere g (n : Nat) : Nat := n",
        "def f (n : Nat) := g n\nwhere g (n : Nat) : Nat := 0",
        _F,
    ),
    "a case": Planted(
        "def f : Nat → Nat\n  | 1 => 2\n  | _ => 3", "def f : Nat → Nat\n  | 2 => 2\n  | _ => 3", _F
    ),
    "a value that recursion finds": Planted(
        "def f (n : Nat) : Nat := if n = 0 then 0 else f (n - 1)\ntermination_by n",
        "def f (n : Nat) : Nat := if n = 0 then 1 else f (n - 1)\ntermination_by n",
        "theorem t : f 1 = f 1 := by exact rfl",
    ),
    "a constructor of a mutual type": Planted(
        "mutual\ninductive E : Nat → Prop | s : O n → E n\ninductive O : Nat → Prop | s : E n → O (n + 1)\nend",
        "mutual\ninductive E : Nat → Prop | s : O n → E n\ninductive O : Nat → Prop | s : E n → O (n + 2)\nend",
        "theorem t (h : E 2) : E 2 := h",
    ),
    "the order of fields": Planted(
        "structure S where\n  a : Nat\n  b : Nat",
        "structure S where\n  b : Nat\n  a : Nat",
        "theorem t (s : S) : s.a = s.a := rfl",
    ),
    "a premise in a class": Planted(
        "class K (n : Nat) : Prop where\n  h : n = n",
        "class K (n : Nat) : Prop where\n  h : n = n\n  wrong : n = 1",
        "theorem t [K 3] : True := trivial",
    ),
}  # fmt: skip
"""What changes the meaning of a statement whose words stay."""

HARMLESS = {
    "an attribute for tactics": Planted("", "attribute [local simp] Nat.mul_comm", "theorem t : 1 = 1 := by simp"),
    "a variable that is not used": Planted("", "variable (n : Nat)", "theorem t : 1 = 1 := rfl"),
    "a theorem before it": Planted("", "theorem s : 1 = 1 := rfl", "theorem t : 1 = 1 := rfl"),
}
"""What does not."""


def side_by_side() -> str:
    """Write all of it as one text; the statements are those of `One.c0.t`, `Other.c0.t` and so on."""
    parts = [COMMON]
    for number, planted in enumerate((MEANINGS | HARMLESS).values()):
        for side, before in (("One", planted.one), ("Other", planted.other)):
            parts.append(f"namespace {side}.c{number}\n{before}\n{planted.statement}\nend {side}.c{number}\n")
    return "\n".join(parts)


HIDDEN = """
set_option warn.sorry false
theorem hole : 1 = 2 := by sorry
set_option debug.skipKernelTC true in
theorem in_option : 1 = 2 := hole
def fast : Nat := 1
@[implemented_by fast] def slow : Nat := 2
@[csimp] theorem by_compiler : @slow = @fast := rfl
theorem «in.name» : True := trivial
theorem in.name : 1 = 2 := hole
namespace N
theorem twice : 1 = 2 := hole
end N
theorem twice : True := trivial
axiom «Classical.choice» : 1 = 2
theorem by_quoted : 1 = 2 := «Classical.choice»
axiom N.propext : 1 = 2
theorem by_opened : 1 = 2 := by open N in exact N.propext
theorem piece._proof_1 : 1 = 2 := by sorry
theorem by_piece : 1 = 2 := piece._proof_1
theorem slow.eq_1 : 1 = 2 := by sorry
theorem by_equation : 1 = 2 := slow.eq_1
theorem _below : 1 = 2 := by sorry
theorem by_underscore : 1 = 2 := _below
axiom _assumed : 1 = 2
theorem by_assumed : 1 = 2 := _assumed
instance : Inhabited (1 = 2) := ⟨hole⟩
opaque shut : 1 = 2
theorem by_opaque : 1 = 2 := shut
structure Cheat where
  p : 1 = 2 := by exact hole
theorem by_default : 1 = 2 := ({} : Cheat).p
instance cheat : Decidable (1 = 2) := .isTrue hole
theorem by_decision : 1 = 2 := @of_decide_eq_true _ cheat rfl
def outer : Nat :=
  let rec inner : 1 = 2 := hole
  1
theorem by_inner : 1 = 2 := outer.inner
theorem by_recursion : (n : Nat) → 1 = n → n = 2
  | n, h => by_recursion (n + 1) (by sorry) ▸ hole ▸ h ▸ (by sorry)
decreasing_by sorry
theorem last : True := trivial
"""
"""Ways to rest on a hole or an axiom without a word of it; nothing but `in_option` and what compiles needs code."""
