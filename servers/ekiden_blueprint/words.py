"""The words and signs at which Lean starts a top-level command, and the modifiers that may stand before them.

Such a word is a token of its own in Lean: it ends the term or tactic block before it at any column, and it cannot name
a variable. Few of them may also stand inside a term, and `commands.py` says how those are told apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_blueprint.lexer import ID_FIRST, ID_REST, IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_blueprint.model import CommandKind

_MODIFIERS = "private protected public meta noncomputable unsafe partial nonrec local scoped"
MODIFIERS = tuple(_MODIFIERS.split())
_KINDS: dict[CommandKind, str] = {
    "import": "import",
    "declaration": "theorem lemma def abbrev structure inductive coinductive class instance alias irreducible_def",
    "axiom": "axiom",
    "example": "example",
    "opaque": "opaque",
    "open": "open export",
    "section": "section",
    "end": "end",
    "namespace": "namespace",
    "variable": "variable include omit universe",
    "set_option": "set_option",
    "attribute": "attribute",
    "notation": "notation notation3 infix infixl infixr prefix postfix",
    "macro": "macro macro_rules elab elab_rules binder_predicate unif_hint",
    "syntax": "syntax declare_syntax_cat",
    "mutual": "mutual",
    "other": """
        add_decl_doc add_aesop_rules assert_exists assert_imported assert_not_exists assert_not_imported
        builtin_initialize builtin_simproc builtin_simproc_decl builtin_dsimproc builtin_dsimproc_decl
        compile_inductive count_heartbeats declare_aesop_rule_sets declare_command_config_elab
        declare_config_elab declare_simp_like_tactic declare_uint_simprocs deprecated_module dsimproc
        dsimproc_decl elab_stx erase_aesop_rules extend_docs gen_injective_theorems gen_injective_theorems%
        grind_pattern guard_min_heartbeats init_quot initialize initialize_simps_projections lrat_proof
        norm_cast_add_elim
        insert_to_additive_translation library_note mk_iff_of_inductive_prop prelude proof_wanted recall
        recommended_spelling register_builtin_option register_error_explanation register_label_attr
        register_hint
        register_linter_set register_option register_parser_alias register_simp_attr register_tactic_tag run_cmd
        run_elab run_meta seal set_library_suggestions set_premise_selector
        show_panel_widgets simproc simproc_decl suppress_compilation tactic_extension with_weak_namespace
        unseal unsuppress_compilation variable? whatsnew
    """,
}
KIND_OF_WORD: dict[str, CommandKind] = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_HASH_COMMANDS = """
    adaptation_note
    aesop_rules aesop_stats check check_assertions check_failure check_simp check_tactic check_tactic_failure
    conv count_heartbeats discr_tree_key discr_tree_simp_key dump_async_env_state eval exit explode find
    find_home find_syntax generate_suggestions guard guard_expr guard_msgs help html import_bumps import_diff
    import_path info_trees instances kerodon_tags lint leansearch long_instances long_names loogle min_imports
    minimize_imports moogle norm_num norm_num1 parse parse_status print print_fun_prop_theorems push
    push_discr_tree reduce redundant_imports register_hint ring1 sample show_unused show_deprecated_modules simp
    stacks_tags simp_norm string_diagram simproc_trace synth test time trans_imports unfold_boundary unfold?
    version where widget with_exporting within_time
"""
HASH_COMMANDS = frozenset(_HASH_COMMANDS.split())


def _one_of(words: Iterable[str]) -> str:
    """Give a pattern for any of the words, longest first, branching on the first letter so that it fails quickly."""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{letter}(?:{'|'.join(tails)})" for letter, tails in sorted(by_letter.items()))


_WORD_END = rf"(?![{ID_REST}]|\.[{ID_FIRST}«])"
_DERIVING = r"deriving\s+(?:noncomputable\s+)?instance"
_CLASS = r"class\s+(?:inductive|abbrev)"
DOC_MARK, MODULE_DOC_MARK = "\x01", "\x02"

MODIFIER = re.compile(rf"(?P<word>{_one_of(MODIFIERS)}){_WORD_END}(?:(?<=scoped)\s*\[[^\]]*\])?")
KEYWORD = re.compile(rf"(?:{_CLASS}|{_DERIVING}|{_one_of(KIND_OF_WORD)}){_WORD_END}|#(?P<hash>[A-Za-z_]\w*[!?]?)")
_CANDIDATE = rf"(?:{_DERIVING}|{_one_of([*MODIFIERS, *KIND_OF_WORD])}){_WORD_END}"
_STARTS = rf"[{DOC_MARK}{MODULE_DOC_MARK}]|@\[|#[A-Za-z_]|{_CANDIDATE}"
CANDIDATE = re.compile(
    rf"(?:[^A-Za-z_@#{DOC_MARK}{MODULE_DOC_MARK}]++|(?!{_CANDIDATE})[A-Za-z_]++|[@#](?![\[A-Za-z_]))*+(?P<start>{_STARTS})"
)
STARTS = re.compile(_STARTS)
_OPEN_WORD = rf"(?!(?:in|{_one_of([*MODIFIERS, *KIND_OF_WORD])}){_WORD_END}){IDENTIFIER}"
OPEN_ARGUMENTS = re.compile(rf"(?:\s+(?:scoped|private)(?=\s))?+(?:\s|{_OPEN_WORD}|[(),→]|->)*+")
OPTION_ARGUMENTS = re.compile(rf"\s+{IDENTIFIER}\s+(?:(?!in{_WORD_END}){IDENTIFIER}|[0-9]+|\"\s*\"|\"[^\n\"]*\")?\s*")
IN = re.compile(rf"in{_WORD_END}")
