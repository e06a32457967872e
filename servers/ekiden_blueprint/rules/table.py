"""The table of all rules: what the checks report under, and what the documentation is made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ekiden_blueprint.findings import Severity

CHECKS: dict[int, str] = {
    1: "Lean Compilation",
    2: "Node Well-Formedness",
    3: "latexEnv Consistency",
    4: "Label-Name Normalization",
    5: "Unique Labels",
    6: "Proof Dependency Consistency",
    7: "Lemma Closeness",
    8: "Header and Commands",
    9: "Hidden Sorry and Axioms",
}
"""The checks by the first digit of their rules' identifiers."""


class Rule(NamedTuple):
    """One rule: its stable identifier, its title, why it is there, and the way out."""

    id: str
    title: str
    why: str
    remedy: str
    severity: Severity = "error"
    fixable: bool = False

    @property
    def check(self) -> int:
        """The number of the check that the rule belongs to."""
        return int(self.id[2])


_ALL = (
    Rule(
        "BP101", "Lean reports an error", "A file that Lean refuses proves nothing.", "Mend what Lean complains about."
    ),
    Rule(
        "BP102",
        "Lean reports a warning",
        "The only warning that a blueprint may give is the one about its placeholders.",
        "Mend it; linters are off in a blueprint's header.",
    ),
    Rule(
        "BP103",
        "The build did not come to its end",
        "A build that was killed, crashed or failed without a message has checked nothing, whatever its log lacks.",
        "Run it again with more time or memory, or mend the crash.",
    ),
    Rule(
        "BP201",
        "Comment outside the prose",
        "All that a reader needs is in `statement`, `proof` and `title`; a comment can also hide code from a reviewer.",
        "Move it into one of the three texts or remove it.",
        fixable=True,
    ),
    Rule(
        "BP202",
        "Axiom",
        "An axiom claims what nobody proves.",
        "Make it a lemma or theorem, or let the project declare it as an assumption.",
    ),
    Rule("BP203", "Example", "An `example` has no name that anything could rest on.", "Make it a lemma or remove it."),
    Rule("BP204", "Opaque declaration", "What `opaque` hides cannot be reviewed.", "Use `def`."),
    Rule(
        "BP205",
        "Bare declaration",
        "A declaration without a blueprint attribute has no prose and no place in the graph.",
        'Put `@[blueprint ".." ..]` before it, with one of the keywords that nodes may have.',
    ),
    Rule(
        "BP206",
        "Namespace",
        "Labels name full Lean names; a namespace would make them differ.",
        "Remove it and write full names.",
    ),
    Rule(
        "BP207",
        "Mutual block",
        "The declarations of a `mutual` block cannot be ordered or edited one by one.",
        "Write them one after the other.",
    ),
    Rule(
        "BP208",
        "No blank line between nodes",
        "Nodes are read and edited one by one.",
        "Leave a blank line.",
        fixable=True,
    ),
    Rule(
        "BP209",
        "Label without a declaration",
        "The attribute belongs to nothing.",
        "Write the declaration right after it.",
    ),
    Rule(
        "BP210",
        "Anonymous declaration",
        "Nothing can refer to it, and its label has no name to agree with.",
        "Give it a name.",
    ),
    Rule("BP211", "Empty statement", "Each node says in prose what it states.", "Fill in `(statement := /-- .. -/)`."),
    Rule("BP212", "Empty title", "The graph and the reports show titles.", "Fill in `(title := /-- .. -/)`."),
    Rule(
        "BP213",
        "Empty proof",
        "A lemma or theorem has a proof in prose, also while its Lean proof is a placeholder.",
        "Fill in `(proof := /-- .. -/)`.",
    ),
    Rule(
        "BP214", "Unbalanced braces", "LaTeX cannot read the text.", "Close or open the brace, or escape it as `\\{`."
    ),
    Rule(
        "BP215",
        "Placeholder mixed into a proof",
        "A proof is complete, or a placeholder alone on the line after `:= by`; what lies between passes for proved.",
        "Write `:= by`, a new line, and `sorry` or `sorry_using [..]` alone; or finish the proof.",
        fixable=True,
    ),
    Rule(
        "BP216",
        "Placeholder in a definition",
        "Definitions are what all statements rest on; they must be complete.",
        "Finish it, or state what is missing as a lemma.",
    ),
    Rule(
        "BP217",
        "Option given twice",
        "Only the last one counts, and a reader sees the first.",
        "Keep one.",
        fixable=True,
    ),
    Rule(
        "BP218",
        "Unknown option",
        "An option that the contract does not know can change LeanArchitect's own graph.",
        "Remove it or mend its name.",
    ),
    Rule(
        "BP219",
        "Modifier that a node may not have",
        "Modifiers change a declaration's name or how it is checked.",
        "Remove it.",
    ),
    Rule(
        "BP220",
        "Node without a label",
        "Without a label nothing in the prose can refer to it.",
        'Write `blueprint "lem:.."`.',
    ),
    Rule(
        "BP221",
        "Text that cannot be read",
        "What cannot be told apart cannot be checked.",
        "Close the comment, string or bracket.",
    ),
    Rule(
        "BP222",
        "Option value of the wrong form",
        "Prose is a doc comment; a value in code is not prose.",
        "Write `(name := /-- .. -/)`, and `latexEnv` as a string.",
    ),
    Rule(
        "BP223",
        "Proof text on a definition",
        "Only lemmas and theorems have proofs.",
        "Move the text into `statement`.",
    ),
    Rule(
        "BP301",
        "latexEnv missing or unknown",
        "The environment tells readers what kind of node it is.",
        'Write `"definition"`, `"lemma"` or `"theorem"`.',
        fixable=True,
    ),
    Rule(
        "BP302",
        "latexEnv and keyword differ",
        "Prose and Lean must say the same.",
        "Use the environment of the keyword.",
        fixable=True,
    ),
    Rule("BP401", "Label of the wrong shape", "A label is a prefix, a colon and a name.", "Write it as `lem:name`."),
    Rule("BP402", "Unknown label prefix", "The prefix is `def`, `lem` or `thm`.", "Use one of the three."),
    Rule(
        "BP403",
        "Label prefix and keyword differ",
        "Definitions are `def:`, lemmas `lem:`, theorems `thm:`.",
        "Use the prefix of the keyword.",
    ),
    Rule(
        "BP404",
        "Label and Lean name differ",
        "The name is what follows the colon, each `-` written `_`.",
        "Rename one of the two, and what refers to it.",
    ),
    Rule("BP501", "Label used twice", "A reference to it would have two meanings.", "Give one of them another label."),
    Rule(
        "BP502",
        "Lean name used twice",
        "Lean refuses the second, and edges would have two meanings.",
        "Give one of them another name.",
    ),
    Rule(
        "BP601",
        "Reference to an unknown label",
        "The reader looks for a node that is not there.",
        "Mend the label, or write the node.",
    ),
    Rule(
        "BP602",
        "Unknown name in `sorry_using`",
        "A placeholder may rest on nodes alone.",
        "Mend the name, or write the node.",
    ),
    Rule(
        "BP603",
        "Definition in `sorry_using`",
        "Definitions are context; a proof rests on lemmas and theorems.",
        "Remove it from the list.",
    ),
    Rule(
        "BP604",
        "Name in `sorry_using` that is not declared earlier",
        "Proofs rest on what stands before them, or in a file that theirs imports; so there are no cycles.",
        "Move that node up, or import its file.",
    ),
    Rule(
        "BP605",
        "Dependency that is not declared earlier",
        "Proofs rest on what stands before them, or in a file that theirs imports; so there are no cycles.",
        "Move that node up, or import its file.",
    ),
    Rule(
        "BP606",
        "Dependency that the proof does not cite",
        "What Lean's proof uses, the prose must say.",
        "Add `\\cref{..}` to `proof`, or do without.",
    ),
    Rule(
        "BP607",
        "Citation of what the proof does not use",
        "What the prose cites, Lean's proof must use.",
        "Use it, or remove the `\\cref`.",
    ),
    Rule(
        "BP608",
        "Statement cites what Lean's statement does not use",
        "The prose may state something else than Lean does.",
        "Remove the `\\cref`, or state it in Lean.",
        "warning",
    ),
    Rule(
        "BP609",
        "Statement does not cite a definition that it uses",
        "The reader needs to find it.",
        "Add `\\cref{..}` to `statement`.",
        "warning",
    ),
    Rule(
        "BP610",
        "Citations not compared",
        "Without Lean nobody knows what a complete proof uses.",
        "Check again with what Lean reports.",
        "note",
    ),
    Rule("BP611", "Name twice in `sorry_using`", "The second adds nothing.", "Remove it.", "warning"),
    Rule(
        "BP701",
        "Lemma that nothing uses",
        "Each lemma serves some theorem.",
        "Use it, remove it, or make it a theorem.",
    ),
    Rule(
        "BP801",
        "Import missing from the header",
        "All files of a blueprint start from the same library.",
        "Add it.",
        fixable=True,
    ),
    Rule(
        "BP802",
        "Option missing from the header",
        "All files are checked under the same options.",
        "Add it.",
        fixable=True,
    ),
    Rule("BP803", "Header out of order", "The header is always the same: imports, then options.", "Put it in order."),
    Rule(
        "BP804",
        "Import that is not allowed",
        "An import can bring in axioms, notation and programs.",
        "Remove it, or let the project allow it.",
    ),
    Rule("BP805", "Notation, macro or syntax", "It changes what the text of later statements means.", "Write it out."),
    Rule(
        "BP806",
        "Variables between nodes",
        "`variable`, `include`, `omit` and `universe` change later statements.",
        "Write binders in each statement.",
    ),
    Rule("BP807", "Option outside the header", "It can change what is checked and how.", "Remove it."),
    Rule(
        "BP808",
        "Namespace opened or exported",
        "It changes what names in later statements mean.",
        "Write full names, or open it in the header.",
    ),
    Rule(
        "BP809",
        "Attribute command",
        "It changes how earlier declarations act in later ones.",
        "Write attributes on the node itself.",
    ),
    Rule(
        "BP810",
        "Command that runs a program or prints",
        "The checked file may not run programs; output can be mistaken for results.",
        "Remove it.",
        fixable=True,
    ),
    Rule(
        "BP811",
        "Command that is not allowed",
        "Between nodes stand only sections.",
        "Remove it, or let the project allow it.",
    ),
    Rule(
        "BP812",
        "Attribute that a node may not have",
        "It can change what later text means or run programs.",
        "Remove it, or let the project allow it.",
    ),
    Rule(
        "BP901",
        "Hole in a complete proof or a statement",
        "`admit`, `sorryAx` and tactics that give up silently count as proved in the text.",
        "Use the placeholder layout, or prove it.",
        fixable=True,
    ),
    Rule(
        "BP902",
        "Compiler trusted instead of the kernel",
        "`native_decide` and its like rest on the compiler, not on the kernel.",
        "Use `decide`, `norm_num` or a proof.",
    ),
    Rule(
        "BP903",
        "Code that the kernel does not see",
        "`unsafe`, `implemented_by`, `extern` and what runs while Lean reads a proof (`run_tac`, `by_elab`, `eval%`, "
        "`include_str`, `dbg_trace`, tactics given as programs to `aesop` or `linarith`) get round the kernel.",
        "Remove it.",
    ),
    Rule(
        "BP904",
        "Lean finds a sorry where the text shows none",
        "Lean's own answer counts, not the look of the text.",
        "Prove it, or use the placeholder layout.",
    ),
    Rule(
        "BP905",
        "Rests on an axiom that is not allowed",
        "Only Lean's three axioms, and assumptions declared openly, may carry a result.",
        "Do without it, or let the project declare it as an assumption.",
    ),
    Rule(
        "BP906",
        "Lean does not know the node",
        "What is not in the environment was not checked.",
        "Mend the error that stops Lean before it.",
    ),
    Rule(
        "BP907",
        "Axiom in the environment",
        "An axiom was declared that the text does not show.",
        "Find the command that makes it and remove it.",
    ),
    Rule(
        "BP908",
        "Rests on an assumption",
        "Assumptions are listed and counted, never silent.",
        "Prove it one day.",
        "note",
    ),
    Rule(
        "BP909",
        "Lean's kind differs from the text's",
        "A theorem must be one for the kernel too.",
        "Remove what changes it.",
    ),
    Rule(
        "BP910",
        "Option set inside a node",
        "Options inside a proof can switch off checks.",
        "Remove it, or let the project allow it.",
    ),
    Rule(
        "BP911",
        "The kernel refuses the node",
        "What the kernel does not take is not proved, whatever else says it is.",
        "Mend it.",
    ),
)

RULES: dict[str, Rule] = {rule.id: rule for rule in _ALL}


def check_name(check: int) -> str:
    """Give a check's name as reports show it."""
    return f"Check {check}: {CHECKS[check]}"
