import pytest

from certificates import equational_proofs, item, refutations
from ekiden_lean.plain import is_plain


def test_whatever_ekiden_prints_may_share_a_process():
    for number, certificate in enumerate([*refutations(30, seed=3), *equational_proofs(30, seed=3)]):
        assert is_plain(item(number, certificate).code)


@pytest.mark.parametrize(
    "text",
    [
        "theorem a : 1 = 1 := rfl",
        "-- a comment\ndef a := 1",
        "set_option maxRecDepth 10000 in\ntheorem a : 1 = 1 := rfl",
        "@[simp] theorem a : 1 = 1 := rfl",
        "attribute [local instance] Nat.decidableForallFin",
        "theorem a (x : Nat) : x % 2 < 2 := Nat.mod_lt _ (by decide)",
        "example := @Eq.trans",
        "theorem elaborate : 1 = 1 := rfl".replace("elaborate", "collaborate"),
    ],
)
def test_proofs_may_share_a_process(text: str):
    assert is_plain(text)


@pytest.mark.parametrize(
    "text",
    [
        "run_cmd pure ()",
        'def a := "--"; run_cmd pure ()',
        "/- -- -/ run_cmd pure ()",
        "#eval 1",
        "open Lean",
        'elab "a" : term => pure default',
        "elab_rules : term | `(x) => pure default",
        'macro "a" : term => `(1)',
        'notation "Goal" => True',
        'infixl:65 " ◇ " => f',
        "initialize pure ()",
        "@[init f] opaque a : Nat",
        '@[extern "f"] opaque a : Nat',
        "@[simp, implemented_by f] def a := 1",
        "attribute [command_elab f] g",
        "set_option debug.skipKernelTC true",
        "theorem a : 1 = 1 := by native_decide",
        "theorem a : 1 = 1 := by decide +native",
        "example : Nat := eval% 1",
        'example := include_str "file"',
        "unsafe def a := 1",
        "simproc a (1) := fun _ => pure default",
        "dsimproc_decl a (1) := fun _ => pure default",
        "register_option a : Nat := {}",
        "declare_syntax_cat a",
        "by_elab pure default",
        "theorem a : True := by run_tac pure ()",
        "def a : IO Unit := pure ()",
    ],
)
def test_what_could_run_code_gets_a_process_of_its_own(text: str):
    assert not is_plain(text)
