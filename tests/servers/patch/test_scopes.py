"""What the owner of one node may edit: every row of the boundary table, and every attack that is known."""

from pathlib import Path

import pytest

from ekiden_patch import PatchError, sha256_of
from ekiden_patch.workspace import Workspace
from ekiden_policies.edit_scope import HelperRules
from patch_scopes import HELPER, PROVED, TARGET, TEXT, edit, node, open_workspace, refused, text_of

AFTER_TARGET = "lemma target (n : Nat) : n = n := by\n  sorry\n"
HEAD_OF_TARGET = '\n@[blueprint "lem:target"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def desk(folder: Path) -> Workspace:
    return open_workspace(folder)


def proved(folder: Path) -> Workspace:
    return open_workspace(folder, PROVED)


# the rows of the table


@pytest.mark.parametrize(
    "helper",
    [HELPER, node("helper_two", ": Nat", "1", keyword="def"), HELPER + "\n" + node("other_helper", ": 2 = 2")],
    ids=["lemma", "def", "two"],
)
def test_the_blank_line_before_the_node_gives_way_to_helpers(desk: Workspace, folder: Path, helper: str) -> None:
    edit(desk, folder, HEAD_OF_TARGET, f"\n{helper}{HEAD_OF_TARGET}")


def test_a_helper_is_edited_later_and_deleted_with_the_blank_line_restored(desk: Workspace, folder: Path) -> None:
    edit(desk, folder, HEAD_OF_TARGET, f"\n{HELPER}{HEAD_OF_TARGET}")
    changed = HELPER.replace("k + 0 = k", "0 + k = k")
    edit(desk, folder, HELPER, changed)
    edit(desk, folder, f"\n{changed}{HEAD_OF_TARGET}", HEAD_OF_TARGET)
    assert text_of(folder) == TEXT


@pytest.mark.parametrize("old", ["Prose of target.", "How target is proved.", "Title target"])
def test_the_prose_of_the_node_is_edited(desk: Workspace, folder: Path, old: str) -> None:
    edit(desk, folder, f" {old} ", r" Another text with \cref{lem:first}, ∀ ε" + "\nover lines ")


@pytest.mark.parametrize("lines", ["  rfl\n", "  have h : n = n := rfl\n\n  exact h\n", "  sorry_using [first]\n"])
def test_a_placeholder_is_replaced_by_indented_lines(desk: Workspace, folder: Path, lines: str) -> None:
    edit(desk, folder, AFTER_TARGET, AFTER_TARGET.replace("  sorry\n", lines))


def test_a_complete_proof_is_replaced_by_a_placeholder(folder: Path) -> None:
    edit(proved(folder), folder, "  have h : n = n := rfl\n  exact h\n", "  sorry\n", context=1)


def test_several_lines_of_a_proof_are_rewritten(folder: Path) -> None:
    edit(proved(folder), folder, "  have h : n = n := rfl\n  exact h\n", "  intro\n  simp\n  done\n")


def test_the_whole_value_of_a_complete_proof_is_rewritten(folder: Path) -> None:
    edit(proved(folder), folder, "by\n  have h : n = n := rfl\n  exact h\n", "rfl\n")


def test_an_indented_line_is_appended_to_a_complete_proof_by_tactics(folder: Path) -> None:
    edit(proved(folder), folder, "  exact h\n", "  exact h\n  done\n")


def test_the_last_line_of_a_proof_is_deleted(folder: Path) -> None:
    edit(proved(folder), folder, "  exact h\n", "")


def test_a_placeholder_after_a_comment_is_replaced_alone(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.replace(AFTER_TARGET, AFTER_TARGET.replace("  sorry", "  -- note\n  sorry")))
    edit(desk, folder, "  -- note\n  sorry\n", "  -- note\n  rfl\n")


@pytest.mark.parametrize("line", ["  rfl\n", "  -- a comment\n", "  /- a comment -/\n", "    sorry\n"])
def test_nothing_is_appended_after_a_placeholder(desk: Workspace, folder: Path, line: str) -> None:
    assert "appended_after_placeholder" in refused(desk, folder, AFTER_TARGET, AFTER_TARGET + line)


@pytest.mark.parametrize("form", ["{new}  sorry\n", "{new}", "  sorry\n{new}", "  rfl\n{new}"])
@pytest.mark.parametrize("new", ["lemma x : True := trivial\n", "@[simp] def x := 1\n", "axiom x : False\n"])
def test_no_declaration_is_put_before_after_or_in_place_of_the_proof(
    desk: Workspace, folder: Path, form: str, new: str
) -> None:
    body = AFTER_TARGET.replace("  sorry\n", form.format(new=new))
    assert refused(desk, folder, AFTER_TARGET, body) & {"command_in_body", "frozen_changed", "outside_scope"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("target (n : Nat) : n = n", "target (n : Nat) : True"),
        ("target (n : Nat) : n = n", "other (n : Nat) : n = n"),
        ("lemma target", "theorem target"),
        ("lemma target", "private lemma target"),
        ('"lem:target"', '"lem:other"'),
        ('Title target -/)\n  (latexEnv := "lemma")', 'Title target -/)\n  (latexEnv := "theorem")'),
        (AFTER_TARGET, "lemma target (n : Nat) : n = n := rfl\n"),
        (AFTER_TARGET, "lemma target (n : Nat) : n = n := by rfl\n"),
        (AFTER_TARGET, "lemma target (n : Nat) : n = n :=\n  rfl\n"),
    ],
)
def test_signature_label_environment_and_by_are_frozen(desk: Workspace, folder: Path, old: str, new: str) -> None:
    assert refused(desk, folder, old, new) & {"outside_scope", "node_lost", "frozen_changed"}


@pytest.mark.parametrize("separator", ["\n\n", "  \n\n", "\n  \n", "", "  \n", "-- note\n\n"])
def test_the_blank_line_after_the_node_is_frozen(desk: Workspace, folder: Path, separator: str) -> None:
    last = '\n@[blueprint "lem:last"'
    refused(desk, folder, AFTER_TARGET + last, AFTER_TARGET + separator + last[1:])


@pytest.mark.parametrize("old", ["Prose of first.", "first : 1 = 1", "Title last", "last : 3 = 3", "import Mathlib"])
def test_every_other_node_and_the_header_are_frozen(desk: Workspace, folder: Path, old: str) -> None:
    assert refused(desk, folder, old, f"{old} x") == {"outside_scope"}


def test_a_word_of_the_old_proof_does_not_return_at_column_one(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.replace(TARGET, node("target", "(n : Nat) : n = n", "rfl\n  rfl")))
    assert refused(desk, folder, "n = n := rfl\n  rfl\n", "n = n :=\n  f\nrfl\n  rfl\n") == {"unindented_line"}


# changes by others


def change_outside(folder: Path, old: str, new: str) -> str:
    text = text_of(folder)
    assert text.count(old) == 1
    (folder / "Main.lean").write_text(text.replace(old, new), encoding="utf-8")
    return text_of(folder)


REPLACE_PLACEHOLDER = "*** Begin Patch\n@@ lemma target (n : Nat) : n = n := by\n-  sorry\n+  rfl\n*** End Patch"


@pytest.mark.parametrize("old", ["first : 1 = 1", "last : 3 = 3", "import Mathlib"])
def test_a_change_by_others_is_told_and_the_new_hash_goes_on(desk: Workspace, folder: Path, old: str) -> None:
    text = change_outside(folder, old, f"{old} ∧ True")
    with pytest.raises(PatchError, match="changed outside 'target' by somebody else") as caught:
        desk.apply(REPLACE_PLACEHOLDER)
    assert caught.value.code == "changed_outside"
    assert caught.value.details["found_sha256"] == sha256_of(text)
    desk.apply(REPLACE_PLACEHOLDER, sha256=sha256_of(text))
    assert text_of(folder) == text.replace(AFTER_TARGET, AFTER_TARGET.replace("  sorry\n", "  rfl\n"))
    edit(desk, folder, "  rfl\n", "  simp\n")


def test_helpers_stay_editable_when_others_change_the_text_before_them(desk: Workspace, folder: Path) -> None:
    edit(desk, folder, HEAD_OF_TARGET, f"\n{HELPER}{HEAD_OF_TARGET}")
    text = change_outside(folder, "first : 1 = 1", "first : 1 = 1 ∧ True")
    desk.apply(REPLACE_PLACEHOLDER, sha256=sha256_of(text))
    edit(desk, folder, "k + 0 = k", "0 + k = k")


@pytest.mark.parametrize("old", ["target (n : Nat) : n = n", '"lem:target"'])
def test_a_change_of_the_node_itself_by_others_is_not_gone_on_with(desk: Workspace, folder: Path, old: str) -> None:
    before = text_of(folder)
    text = change_outside(folder, old, old.replace("n = n", "n = 0").replace("lem:target", "lem:other"))
    with pytest.raises(PatchError) as caught:
        desk.apply(REPLACE_PLACEHOLDER, sha256=sha256_of(text))
    assert caught.value.code == "node_changed_outside"
    (folder / "Main.lean").write_text(before, encoding="utf-8")
    desk.apply(REPLACE_PLACEHOLDER)


# attacks


def put_before(desk: Workspace, folder: Path, text: str) -> set[str]:
    return refused(desk, folder, HEAD_OF_TARGET, f"\n{text}{HEAD_OF_TARGET}")


def test_an_unclosed_comment_does_not_lock_the_file(desk: Workspace, folder: Path) -> None:
    assert "syntax_problem" in put_before(desk, folder, "/- never closed\n")
    assert "syntax_problem" in put_before(desk, folder, "/-- never closed\n")
    edit(desk, folder, AFTER_TARGET, AFTER_TARGET.replace("  sorry\n", "  rfl\n"))


@pytest.mark.parametrize(
    "declaration", ["  axiom cheat : False", "  instance : Inhabited Nat := ⟨0⟩", "  private def x := 1", "  #eval 1"]
)
def test_an_indented_command_in_a_proof_is_refused(desk: Workspace, folder: Path, declaration: str) -> None:
    body = AFTER_TARGET.replace("  sorry\n", f"  exact rfl\n{declaration}\n")
    assert "command_in_body" in refused(desk, folder, AFTER_TARGET, body)


def test_a_let_in_the_statement_is_no_proof(folder: Path) -> None:
    text = TEXT.replace(TARGET, node("target", "(n : Nat) : let x := n; x = n"))
    desk = open_workspace(folder, text)
    assert "outside_scope" in refused(desk, folder, "let x := n; x = n", "let x := n; True")
    edit(desk, folder, "let x := n; x = n := by\n  sorry", "let x := n; x = n := by\n  intro x\n  rfl")


@pytest.mark.parametrize(
    "command",
    [
        'local notation n " = " m => True',
        'notation:50 a:51 " ~ " b:51 => a = b',
        'macro "cheat" : tactic => `(tactic| sorry)',
        'syntax "cheat" : tactic',
        'elab "cheat" : tactic => pure ()',
        "variable (n : Empty)",
        "include n",
        "universe u",
        "open Classical",
        "open Classical in",
        "set_option autoImplicit true",
        "set_option autoImplicit true in",
        "attribute [local simp] first",
        "axiom cheat : False",
        "opaque hidden : Nat",
        "example : True := trivial",
        "section",
        "namespace Inner",
        "end",
        "mutual",
        "#eval 1",
        "run_cmd pure ()",
        "import Lean",
        "/-! A module doc -/",
        "deriving instance Repr for Nat",
        "export Nat (succ)",
        "initialize pure ()",
        'infixl:65 " + " => Nat.sub',
        "local instance : Add Nat := ⟨Nat.sub⟩",
    ],
)
def test_a_command_that_changes_the_meaning_of_frozen_text_is_refused(
    desk: Workspace, folder: Path, command: str
) -> None:
    assert put_before(desk, folder, f"{command}\n") & {"helper_command", "helper_keyword", "frozen_changed"}
    assert put_before(desk, folder, f"{HELPER}\n  {command}\n") & {"helper_command", "helper_keyword", "frozen_changed"}


@pytest.mark.parametrize("last", ["/-- A doc comment for the next. -/", "@[simp]", "private", "noncomputable"])
def test_what_would_belong_to_the_node_is_no_helper(desk: Workspace, folder: Path, last: str) -> None:
    refused(desk, folder, HEAD_OF_TARGET, f"\n{HELPER}\n{last}{HEAD_OF_TARGET}")


@pytest.mark.parametrize(
    "last",
    ["/-- A doc comment. -/", "@[simp]", "private", "open Nat in", "set_option autoImplicit true in", "include n in"],
)
def test_a_proof_or_a_helper_does_not_reach_into_what_follows(desk: Workspace, folder: Path, last: str) -> None:
    refused(desk, folder, AFTER_TARGET, AFTER_TARGET.replace("  sorry\n", f"  rfl\n  {last}\n"))
    assert put_before(desk, folder, f"{HELPER}  {last}\n")


@pytest.mark.parametrize("line", ["  simp", "  <;> simp", "  -- an indented comment"])
def test_nothing_is_added_to_the_node_before(desk: Workspace, folder: Path, line: str) -> None:
    assert put_before(desk, folder, f"{line}\n") & {"continues_frozen_text", "stray_text"}


@pytest.mark.parametrize("name", ["simp", "reducible", "instance", "coe", "ext", "local simp", "implemented_by first"])
def test_an_attribute_that_acts_elsewhere_is_refused(desk: Workspace, folder: Path, name: str) -> None:
    helper = HELPER.replace("@[blueprint", f"@[{name}, blueprint")
    assert put_before(desk, folder, helper) == {"helper_attribute"}
    split = HELPER.replace("\nlemma", f"\n@[{name}]\nlemma")
    assert put_before(desk, folder, split) == {"helper_attribute"}


@pytest.mark.parametrize(
    "proof",
    [
        "run_tac pure ()\n  rfl",
        'exact by_elab throwError ""',
        "exact unsafe trick n",
        "exact eval% trick",
        'exact f (include_str "/etc/hostname")',
        "linarith (config := { oracle := trick })",
    ],
)
def test_a_proof_that_runs_code_while_it_is_read_is_refused(desk: Workspace, folder: Path, proof: str) -> None:
    assert refused(desk, folder, AFTER_TARGET, AFTER_TARGET.replace("  sorry\n", f"  {proof}\n")) == {"runs_code"}


def test_a_proof_by_unsafe_rules_of_aesop_runs_no_code(desk: Workspace, folder: Path) -> None:
    body = AFTER_TARGET.replace("  sorry\n", "  aesop (add safe f, unsafe 50% g)\n")
    edit(desk, folder, AFTER_TARGET, body)
    assert refused(desk, folder, "unsafe 50% g", "unsafe 50% tactic g") == {"runs_code"}


def test_an_attribute_on_a_local_declaration_of_the_proof_is_refused(desk: Workspace, folder: Path) -> None:
    body = AFTER_TARGET.replace("  sorry\n", "  exact aux n\n  where\n  @[simp] aux (m : Nat) : m = m := rfl\n")
    assert "helper_attribute" in refused(desk, folder, AFTER_TARGET, body)


@pytest.mark.parametrize("keyword", ["theorem", "instance", "class", "axiom", "opaque"])
def test_a_helper_of_another_kind_is_refused(desk: Workspace, folder: Path, keyword: str) -> None:
    assert put_before(desk, folder, HELPER.replace("lemma helper_one", f"{keyword} helper_one")) & {
        "helper_keyword",
        "helper_command",
    }


@pytest.mark.parametrize("modifier", ["unsafe", "partial", "local", "scoped"])
def test_a_helper_with_another_modifier_is_refused(desk: Workspace, folder: Path, modifier: str) -> None:
    assert "helper_modifier" in put_before(desk, folder, HELPER.replace("lemma helper", f"{modifier} lemma helper"))


def test_a_bare_declaration_is_no_helper(desk: Workspace, folder: Path) -> None:
    assert put_before(desk, folder, "lemma bare_one : True := trivial\n") == {"helper_command"}


def test_a_helper_does_not_take_a_name_that_frozen_text_uses(desk: Workspace, folder: Path) -> None:
    for name in ("Nat", "n", "Fake.Nat", "last"):
        assert "helper_captures_name" in put_before(desk, folder, HELPER.replace("helper_one", name))


HELPER_WITH = HELPER[: HELPER.index("lemma helper_one")]


@pytest.mark.parametrize(
    "declaration",
    [
        "inductive {0}\n  | first : {0}",
        "inductive {0} | Nat",
        "structure {0} where\n  Nat : Type",
        "structure {0} where\n  Nat ::\n  x : True",
        "def {0} : True := n where\n  n := trivial",
        "lemma {0} : True := by\n  let rec last : True := trivial\n  trivial",
        "structure Else.{0} where\n  (a n : True)",
        "structure _root_.{0} where\n  n : True",
        "private structure {0} where\n  n : True",
        "abbrev «{0}» := True",
    ],
)
@pytest.mark.parametrize(
    "opening", ["open {0}", "open Foo {0} Bar", "open Foo.{0}", "open {0} hiding x", "open {0} (n)", "open «{0}»"]
)
def test_a_helper_brings_nothing_into_a_namespace_that_is_open(folder: Path, declaration: str, opening: str) -> None:
    text = TEXT.replace("import Mathlib\n", f"import Mathlib\n{opening.format('Opened')}\n", 1)
    desk = open_workspace(folder, text)
    assert put_before(desk, folder, f"{HELPER_WITH}{declaration.format('Opened')}\n") == {"helper_captures_name"}
    edit(desk, folder, HEAD_OF_TARGET, f"\n{HELPER_WITH}{declaration.format('Elsewhere')}\n{HEAD_OF_TARGET}")


def test_a_helper_in_a_namespace_that_is_open_after_it_is_refused(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.replace(HEAD_OF_TARGET, f"\nopen Later in{HEAD_OF_TARGET}"))
    helper = f"{HELPER_WITH}structure Later where\n  n : True\n"
    assert refused(desk, folder, "\nopen Later in", f"\n{helper}\nopen Later in") == {"helper_captures_name"}


def test_the_name_of_a_derived_instance_is_not_taken(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.replace("last : 3 = 3", "last : instReprOdd = instReprOdd"))
    helper = f"{HELPER_WITH}structure Odd where\n  x : Bool\n  deriving Repr\n"
    assert put_before(desk, folder, helper) == {"helper_captures_name"}


@pytest.mark.parametrize("command", ["mutual", "namespace Opened"])
def test_each_name_in_a_block_that_a_scope_allows_is_looked_at(folder: Path, command: str) -> None:
    rules = HelperRules(commands=frozenset({"mutual", "namespace", "end"}), bare=True)
    desk = open_workspace(folder, helpers=rules)
    end = "end Opened" if "Opened" in command else "end"
    block = f"{command}\ndef one : True := trivial\ndef {{0}} : True := trivial\n{end}\n"
    assert put_before(desk, folder, block.format("last")) == {"helper_captures_name"}
    edit(desk, folder, HEAD_OF_TARGET, f"\n{block.format('two')}{HEAD_OF_TARGET}")


def test_a_helper_does_not_take_the_name_of_the_node(desk: Workspace, folder: Path) -> None:
    assert "node_repeated" in put_before(desk, folder, HELPER.replace("lemma helper_one", "lemma target"))


def test_a_word_that_no_known_command_begins_with_is_refused(desk: Workspace, folder: Path) -> None:
    assert "stray_text" in put_before(desk, folder, f"{HELPER}\nproject_macro foo\n")


@pytest.mark.parametrize(
    "prose",
    [
        'Text. -/)\n  (latexEnv := "theorem") (x := /-- ',
        "Text. -/)\n  (statement := /-- again",
        'Text. -/)]\ndef escaped := 1\n@[blueprint "lem:x" (statement := /-- ',
        "Text /- opened",
        "Text. -/ (x := 1",
    ],
)
def test_prose_does_not_break_out_of_its_option(desk: Workspace, folder: Path, prose: str) -> None:
    refused(desk, folder, " Prose of target. ", f" {prose} ")


def test_the_bars_of_a_proof_do_not_change_where_the_statement_ends(folder: Path) -> None:
    target = node("target", ": ∀ n : Nat, 0 ≤ n", "BODY").replace(
        " := BODY", "\n  | 0 => by simp\n  | n + 1 => by simp"
    )
    desk = open_workspace(folder, TEXT.replace(TARGET, target))
    refused(desk, folder, "  | 0 => by simp\n", "  || true := by simp\n")
    refused(desk, folder, "  | 0 => by simp\n", "  + 1 := by\n  simp\n")
    edit(desk, folder, "  | n + 1 => by simp\n", "  | k + 1 => by\n    simp\n")


def test_what_acts_on_the_node_stays_with_it(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.replace(HEAD_OF_TARGET, f"\nopen Nat in\n/-- Doc. -/{HEAD_OF_TARGET}"))
    refused(desk, folder, HEAD_OF_TARGET, f"\n{HELPER}{HEAD_OF_TARGET}")
    edit(desk, folder, "\nopen Nat in", f"\n{HELPER}\nopen Nat in")


# what a scope may allow besides


def test_a_scope_allows_commands_attributes_and_bare_helpers(folder: Path) -> None:
    rules = HelperRules(
        keywords=frozenset({"lemma"}),
        attributes=frozenset({"blueprint", "simp"}),
        commands=frozenset({"open"}),
        bare=True,
    )
    desk = open_workspace(folder, helpers=rules)
    helper = "open Classical\n\n@[simp]\nlemma bare_one : True := trivial\n"
    edit(desk, folder, HEAD_OF_TARGET, f"\n{helper}{HEAD_OF_TARGET}")


# files as they come


def test_line_ends_and_a_missing_last_one_stay_as_they_are(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.replace("\n", "\r\n").rstrip("\r\n"))
    desk.apply(REPLACE_PLACEHOLDER)
    expected = TEXT.replace(AFTER_TARGET, AFTER_TARGET.replace("  sorry\n", "  rfl\n"))
    assert text_of(folder) == expected.replace("\n", "\r\n").rstrip("\r\n")


def test_the_last_node_of_a_file_without_a_last_line_end_is_edited(folder: Path) -> None:
    desk = open_workspace(folder, TEXT.rstrip("\n"), "last")
    desk.apply("*** Begin Patch\n@@ lemma last : 3 = 3 := by\n-  sorry\n+  rfl\n*** End Patch")
    assert text_of(folder).endswith("3 = 3 := by\n  rfl\n")


def test_a_refusal_names_the_place_and_the_nearest_editable_span(desk: Workspace) -> None:
    with pytest.raises(PatchError) as caught:
        desk.apply(
            "*** Begin Patch\n@@\n-lemma target (n : Nat) : n = n := by\n+lemma target : True := by\n*** End Patch"
        )
    line = TEXT[: TEXT.index("lemma target")].count("\n") + 1
    assert f"replace at original {line}:14-{line}:31 is outside the editable spans" in caught.value.message
    assert f"the nearest editable span is body {line + 1}:1-{line + 2}:1" in caught.value.message


def test_a_node_that_is_not_there_is_told_with_its_neighbours(folder: Path) -> None:
    with pytest.raises(PatchError, match=r"has no node 'targt' that can be read; the nearest is 'target'"):
        open_workspace(folder, name="targt")


def test_a_node_that_is_there_twice_is_refused(folder: Path) -> None:
    with pytest.raises(PatchError, match="has 2 nodes 'target', at lines"):
        open_workspace(folder, f"{TEXT}\n{TARGET}")
