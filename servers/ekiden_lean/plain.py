"""Which Lean texts may share a process: those that cannot make Lean run code of theirs while it reads them.

Nothing rests on this but speed. A text that is taken for plain and runs code after all could disturb the elaboration of
its neighbours; it could not get anything accepted, for the kernel's check is made elsewhere. Comments and strings count
as text: who passes over them has to know where they end, and a hostile text knows better.
"""

import re

_RUNS_CODE = re.compile(
    r"""
    \b(?: run_\w+ | by_elab | elab\w* | macro\w* | syntax | notation\w* | infix[lr]? | prefix | postfix | mixfix
      | declare_\w+ | register_\w+ | builtin_\w+ | \w*simproc\w* | initialize | include_str | meta | unsafe | partial
      | native\w* | term_elab | dbg_?[tT]race\w* | reduceBool | reduceNat | ofReduce\w+ | trustCompiler
      | Lean | IO | BaseIO | EIO )\b
    | \w%              # eval% and its like
    | [#`]             # commands that evaluate, and quotations
    | @\[              # attributes: what is left of them below
    | \battribute\b
    | \bset_option\b   # options: what is left of them below
    """,
    re.VERBOSE,
)
_HARMLESS = re.compile(
    r"""
    @\[ \s* (?:reducible|simp|instance|inline|irreducible) \s* \]
    | \battribute \s* \[ \s* (?:local\s+)? -? (?:instance|simp|reducible|irreducible) \s* \]
    | \bset_option \s+ (?: maxRecDepth | maxHeartbeats | autoImplicit | linter\.[\w.]+ | pp\.[\w.]+ ) \b
    """,
    re.VERBOSE,
)


_NOTATION = re.compile(r"\b(?:notation|infix[lr]?|prefix|postfix)\b")
"""These make macros that Lean writes itself from a term; only a splice (`$`) in the term could bring code into them."""


def is_plain(text: str, *, notations: bool = False) -> bool:
    """Tell whether a text has no word or sign by which Lean could be made to run code of it.

    Args:
        text: The text.
        notations: Whether to let notations without a splice pass, too.
    """
    if notations and "$" not in text:
        text = _NOTATION.sub(" ", text)
    return _RUNS_CODE.search(_HARMLESS.sub(" ", text)) is None
