"""What the parser takes for a declaration, Lean takes for one."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ekiden_blueprint import parse
from ekiden_config import default_settings
from ekiden_lean import read_diagnostics
from ekiden_lean.wasm import find_wasm

if TYPE_CHECKING:
    from pathlib import Path

# In each, `#` stands for a number of its own, and `e#` is what may or may not be declared.
SNIPPETS = r"""
def d# := 0axiom e# : Nat
def f# (a : Nat) (b : Nat := 1) := a + b
def d# := f# 1 ..axiom e# : Nat

def d# := "s"axiom e# : Nat

def «x#» := 1
def d# := «x#»axiom e# : Nat

def d# := '"'
axiom e# : Nat
def g# := '"'

def d# : Id Int := do let x <-- 1
axiom e# : Nat

def d# (s : {x : Int//-1 < x}) := s -- -/
axiom e# : Nat

def d# := `axiom
def e# := d#

theorem d# : True := by
  exact (trivial axiom e# : Nat

theorem d# : True := by
  exact trivial
     private axiom f# : Nat axiom e# : Nat

theorem d# : let x := 1; x = 1 := by intro x; rfl
def e# := 1

theorem d# : let f : Nat → Nat | 0 => 1 | n => n; f = f := rfl
def e# := 1

theorem d# : ∀ n : Nat, n = n
  |0 => rfl
  |_+1 => rfl axiom e# : Nat

def d# := 'a'axiom e# : Nat

def d# := s!"a {"b"} c"axiom e# : Nat

def d# := r"\"axiom e# : Nat

def d# := 1 /-- doc -/ axiom e# : Nat

def d# := 1 /-! doc -/ axiom e# : Nat

def d# := unsafe 1 axiom e# : Nat

def d# := open Nat in 1 axiom e# : Nat

def d# := 1 open Nat in axiom e# : Nat

theorem d# : True := trivial set_option maxRecDepth 100 in axiom e# : Nat

structure S# where
  /-- x -/ protected x : Nat
def e# := 1

/--/ def d# := 1 -/ def e# := 1

/-/ axiom e# : Nat -/

/- /- -/ axiom e# : Nat -/

def d# := "\
  axiom e# : Nat"

def «axiom e# : Nat» := 1

def d# := 0x1faxiom e# : Nat

def d# := 1e5axiom e# : Nat

theorem d# : (if let some x := some 1 then x = 1 else True) := rfl axiom e# : Nat
"""


@pytest.mark.lean
@pytest.mark.timeout(300)
def test_lean_declares_what_the_parser_says_and_nothing_else(tmp_path: Path) -> None:
    toolchain = find_wasm(default_settings().lean)
    if toolchain is None:
        pytest.skip("no Lean for WebAssembly is installed: ekiden lean install --wasm")
    snippets = [part.replace("#", str(number)) for number, part in enumerate(SNIPPETS.strip().split("\n\n"))]
    asked = "".join(f"#check e{number}\n" for number in range(len(snippets)))
    text = "\n\n".join(snippets) + "\n\n" + asked
    (tmp_path / "A.lean").write_text(text, encoding="utf-8")
    done = subprocess.run(
        toolchain.check_command(tmp_path / "A.lean", writes=[]),
        env=toolchain.environment(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    lines = text.split("\n")
    answered = {
        lines[message.line - 1].removeprefix("#check ")
        for message in read_diagnostics(done.stdout.decode().splitlines())
        if lines[message.line - 1].startswith("#check ") and message.severity == "information"
    }
    declared = {
        name for command in parse(text).commands for name in command.names if command.keyword in ("axiom", "def")
    }
    assert len(answered) > 20
    assert {name for name in declared if name.startswith("e")} == answered
