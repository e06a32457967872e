"""Patches to try on Codex's own `apply_patch` and on ours: generated ones by seed, and a few by hand; and how Codex is asked."""

import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import agent_clients

TARGET = "Main.lean"
RECORDED = Path(__file__).parent / "data" / "patches" / "codex-0.169.0.jsonl"

Lines: TypeAlias = list[str]

_WORDS = (
    "theorem a : x = y := by",
    "  simp",
    "  exact h",
    "",
    "-- note",
    "end",
    "def f := 1",
    "  sorry",
    "@[simp]",
    "@@ a",
    "*** b",
    "+c",
    "- d",
)
_ODD = (
    "x\u2028y",
    "p\x0cq",
    "v\x0bw",
    "\x1cfs",
    "naïve – “q”",
    "it’s\u00a0so",
    "∀ α, α → ℕ",
    "e\u0301",
    "\u00e9",
    "𝔽 ◇ x",
    "\ufefftop",
    "n\x85l",
    "\tt\t",
    "   ",
)
_BLANKS = ("", " ", "  ", "\t", "\u00a0", "\u2003", "\x0c", "\u2028", "\x1f", "\u200b")
_FOLDED = {"-": "‐‑–—−", "'": "‘’‛", '"': "“”„", " ": "\u00a0\u2002\u202f\u3000"}
_MARKERS = (
    "@@", "@@ ", "@@  end", "@@ end", "@@x", " @@ end", "*** End of File", " *** End of File", "*** End of File  ", "*** End Patch", "  *** End Patch",
    "*** Begin Patch", f"*** Update File: {TARGET}", f" *** Update File: {TARGET}", f"*** Update File: ./{TARGET} ", "*** Update File:",
    "*** Update File: other.lean", "*** Add File: new.lean", "*** Delete File: gone.lean", "*** Move to: there.lean", "*** Environment ID: far",
    "*** nothing", "", "  ", "\t", "junk", "+", "-", " ", "+\r", "\\ No newline at end of file", "--- a", "+++ b", "\u00a0", "```",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A file's text and a patch for it."""

    kind: str
    text: str
    patch: str


class Outcome(NamedTuple):
    """What became of it: the new text, or None and the refusal."""

    text: str | None
    refusal: str


def generated(seed: int, count: int) -> Iterator[Case]:
    """Generate cases, the same ones for the same seed."""
    dice = random.Random(seed)
    for _ in range(count):
        yield _Maker(dice).case()


def recorded() -> list[tuple[Case, str | None]]:
    """Return the cases that were put to Codex once, each with the text that it made, or None where it refused."""
    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    return [(Case(row["kind"], row["text"], row["patch"]), row["expected"]) for row in rows]


def record(program: Path) -> None:
    """Put the cases of the default suite to Codex and keep its answers."""
    cases = [*BY_HAND, *generated(7, 360)]
    answers = [ask_codex(program, case) for case in cases]
    rows = [
        {"kind": case.kind, "text": case.text, "patch": case.patch, "expected": answer.text}
        for case, answer in zip(cases, answers, strict=True)
    ]
    RECORDED.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def ask_codex(program: Path, case: Case) -> Outcome:
    """Apply a patch with Codex, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / TARGET
        file.write_bytes(case.text.encode())
        done = subprocess.run(
            ["apply_patch", case.patch],
            executable=program,
            cwd=folder,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        refusal = done.stderr.decode()
        return Outcome(file.read_bytes().decode() if done.returncode == 0 and file.exists() else None, refusal)


def codex_programs() -> dict[str, Path]:
    """Return the installed Codex programs by version."""
    return {agent.version: agent.program for agent in agent_clients.installed_agents() if agent.kind == "codex"}


def wrapped(*body: str) -> str:
    """Return a patch of the file with this body."""
    return "\n".join(("*** Begin Patch", f"*** Update File: {TARGET}", *body, "*** End Patch"))


class _Maker:
    """Makes one case."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.kind: list[str] = []

    def case(self) -> Case:
        dice = self.dice
        lines = [
            dice.choice(_ODD) if dice.random() < 0.12 else dice.choice(_WORDS)
            for _ in range(dice.choice((0, 1, 2, 3, 5, 8, 13, 30)))
        ]
        if dice.random() < 0.4:
            lines = [f"{line}{number}" for number, line in enumerate(lines)]
        sections = [self.section(lines)]
        if dice.random() < 0.04:
            self.kind.append("two_sections")
            sections.append(self.section(lines))
        body = [line for section in sections for line in (f"*** Update File: {TARGET}", *section)]
        patch = self.spoilt(["*** Begin Patch", *body, "*** End Patch"])
        text = self.text(lines)
        return Case("+".join(self.kind) or "plain", text, self.dressed(patch))

    def section(self, lines: Lines) -> Lines:
        dice = self.dice
        chunks: list[Lines] = []
        at = 0
        for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5))):
            start = dice.randint(at, len(lines)) if dice.random() < 0.9 else dice.randint(0, len(lines))
            length = min(dice.choice((0, 1, 1, 2, 3, 4)), len(lines) - start)
            chunks.append(self.chunk(lines, start, length))
            at = start + length
        if dice.random() < 0.07 and len(chunks) > 1:
            self.kind.append("out_of_order")
            dice.shuffle(chunks)
        if chunks[0][0] == "@@" and dice.random() < 0.15:
            self.kind.append("no_first_marker")
            chunks[0] = chunks[0][1:]
        return [line for chunk in chunks for line in chunk]

    def chunk(self, lines: Lines, start: int, length: int) -> Lines:
        dice = self.dice
        marker = "@@"
        if start and dice.random() < 0.3:
            self.kind.append("header")
            marker = "@@ " + self.noisy(lines[dice.randrange(max(0, start - 4), start)])
        old = lines[start : start + length]
        style = dice.random()
        if style < 0.1:
            self.kind.append("only_additions")
            old = []
        body: Lines = []
        removing = dice.choice((0.0, 0.4, 0.4, 0.8, 1.0))
        adding = dice.choice((0.0, 0.3, 0.6, 1.0)) if old else 1.0
        for line in old:
            if dice.random() < adding / 2:
                body.append("+" + self.fresh())
            body.append(("-" if dice.random() < removing else " ") + self.noisy(line))
        if dice.random() < adding:
            body += ["+" + self.fresh() for _ in range(dice.choice((1, 1, 2)))]
        if dice.random() < 0.06:
            self.kind.append("extra_empty_line")
            body += [dice.choice(("", " ", "-", "+"))] * dice.choice((1, 1, 2))
        if start + length == len(lines) or dice.random() < 0.04:
            if dice.random() < 0.3:
                self.kind.append("end_of_file")
                body.append("*** End of File")
        if dice.random() < 0.03:
            self.kind.append("empty_chunk")
            body = []
        return [marker, *body]

    def fresh(self) -> str:
        return self.dice.choice((*_ODD, *_WORDS, "new", "new", "a\rb", "end\r"))

    def noisy(self, line: str) -> str:
        """Return a line of the file as a careless model copies it."""
        dice = self.dice
        kind = dice.random()
        if kind < 0.78:
            return line
        if kind < 0.86:
            self.kind.append("right_blanks")
            return line.rstrip() + dice.choice(_BLANKS)
        if kind < 0.92:
            self.kind.append("blanks")
            return dice.choice(_BLANKS) + line.strip() + dice.choice(_BLANKS)
        if kind < 0.97:
            self.kind.append("folded")
            return self.folded(line)
        self.kind.append("wrong_line")
        return line + dice.choice(("x", ".", "\u0301", "\x00"[:0] + "z"))

    def folded(self, line: str) -> str:
        dice = self.dice
        table = {sign: dice.choice(others) for sign, others in _FOLDED.items()}
        back = {other: sign for sign, others in _FOLDED.items() for other in others}
        return "".join(table.get(sign, back.get(sign, sign)) if dice.random() < 0.7 else sign for sign in line)

    def spoilt(self, patch: Lines) -> Lines:
        dice = self.dice
        if dice.random() < 0.75:
            return patch
        self.kind.append("spoilt")
        patch = list(patch)
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            place = dice.randrange(len(patch)) if patch else 0
            deed = dice.random()
            if deed < 0.5:
                patch.insert(place, dice.choice(_MARKERS))
            elif deed < 0.65 and patch:
                del patch[place]
            elif deed < 0.75 and patch:
                patch[place] = patch[place][1:]
            elif deed < 0.85 and patch:
                patch[place] = dice.choice((" ", "\t", "\u00a0")) + patch[place]
            elif patch:
                patch[place] += dice.choice((" ", "\t", "\r", "\u2003"))
        return patch

    def dressed(self, patch: Lines) -> str:
        """Return the patch's text, perhaps in another dress that Codex accepts, or nearly so."""
        dice = self.dice
        joint = "\n"
        if dice.random() < 0.06:
            self.kind.append("crlf_patch")
            joint = dice.choice(("\r\n", "\r\n", "\r\r\n", "\r"))
        text = joint.join(patch)
        if dice.random() < 0.06:
            self.kind.append("heredoc")
            opening = dice.choice(("<<EOF", "<<'EOF'", '<<"EOF"', "<<'EOF\"", "<< EOF", "<<END"))
            text = joint.join((opening, text, dice.choice(("EOF", "EOF", " EOF", "EOF;", "END"))))
        if dice.random() < 0.08:
            self.kind.append("padded")
            text = dice.choice(("\n", "  ", "\t\n", "\u2028")) + text + dice.choice(("\n", "\n\n", "  ", "\u00a0\n"))
        return text

    def text(self, lines: Lines) -> str:
        dice = self.dice
        style = dice.random()
        ends = ("\n",)
        if 0.6 < style <= 0.8:
            self.kind.append("crlf_file")
            ends = ("\r\n",)
        elif 0.8 < style <= 0.84:
            self.kind.append("cr_file")
            ends = ("\r",)
        elif 0.84 < style <= 0.95:
            self.kind.append("mixed_file")
            ends = ("\r\n", "\n", "\r", "\r\r\n")
        elif style > 0.95:
            self.kind.append("blank_lines_at_end")
            lines = [*lines, "", ""]
        text = "".join(line + dice.choice(ends) for line in lines)
        if dice.random() < 0.2:
            self.kind.append("no_final_newline")
            text = text.rstrip("\r\n")
        return text


_ABC = "a\nb\nc\n"
BY_HAND = (
    Case("hand: replace a line", _ABC, wrapped("@@", " a", "-b", "+B", " c")),
    Case("hand: delete every line", _ABC, wrapped("@@", "-a", "-b", "-c")),
    Case("hand: context alone", _ABC, wrapped("@@", " a", " b")),
    Case("hand: a fuzzy context line stays as it is", "a  \nb\n", wrapped("@@", " a", "-b", "+B")),
    Case("hand: an exact match later wins over a fuzzy one", "a \nx\na\n", wrapped("@@", "-a", "+A")),
    Case("hand: the first of several places", "a\nb\na\n", wrapped("@@", "-a", "+A")),
    Case("hand: an added line before and after", _ABC, wrapped("@@", "+0", " a", "+1")),
    Case("hand: chunks out of order", _ABC, wrapped("@@", "-c", "+C", "@@", "-a", "+A")),
    Case("hand: chunks overlap", _ABC, wrapped("@@", "-a", " b", "@@", "-b", "+B")),
    Case("hand: header", "f\n  x\ng\n  x\n", wrapped("@@ g", "-  x", "+  y")),
    Case("hand: the header is not found", _ABC, wrapped("@@ z", "-b", "+B")),
    Case("hand: the header's own line is not searched", _ABC, wrapped("@@ b", "-b", "+B")),
    Case("hand: additions under a header", _ABC, wrapped("@@ a", "+Z")),
    Case("hand: additions at the end", _ABC, wrapped("@@", "+Z")),
    Case("hand: additions to an empty file", "", wrapped("@@", "+Z")),
    Case("hand: additions after empty lines", "a\n\n", wrapped("@@", "+Z")),
    Case("hand: end of file", "a\nb\na\n", wrapped("@@", "-a", "+A", "*** End of File")),
    Case("hand: not at the end of file", _ABC, wrapped("@@", "-a", "+A", "*** End of File")),
    Case(
        "hand: end of file overlaps the chunk before",
        "b\na\n",
        wrapped("@@", "-b", " a", "@@", "-a", "+A", "*** End of File"),
    ),
    Case("hand: an end of file before any chunk", _ABC, wrapped("*** End of File", "-a", "+A")),
    Case("hand: a line after end of file", _ABC, wrapped("@@", "-c", "+C", "*** End of File", "+D")),
    Case("hand: no final newline", "a\nb", wrapped("@@", "-a", "+A")),
    Case("hand: no final newline, last line", "a\nb", wrapped("@@", "-b", "+B")),
    Case("hand: crlf", "a\r\nb\r\nc\r\n", wrapped("@@", " a", "-b", "+B")),
    Case("hand: the first line's end is the file's", "a\r\nb\nc\n", wrapped("@@", " b", "+B")),
    Case("hand: lone carriage returns are line ends", "a\rb\rc\r", wrapped("@@", "-b", "+B")),
    Case("hand: an empty old line at the end need not be there", _ABC, wrapped("@@", "-c", "-", "+C", "+")),
    Case("hand: an empty context line at the end", _ABC, wrapped("@@", "-c", "+C", "")),
    Case("hand: only an empty old line, in a file without one", _ABC, wrapped("@@", "-", "+C")),
    Case("hand: two markers", _ABC, wrapped("@@", "@@", "-a", "+A")),
    Case("hand: a unified diff's marker", _ABC, wrapped("@@ -1,3 +1,3 @@", "-a", "+A")),
    Case("hand: an empty chunk", _ABC, wrapped("@@")),
    Case("hand: no chunk", _ABC, wrapped()),
    Case("hand: no section", _ABC, "*** Begin Patch\n*** End Patch"),
    Case("hand: a line without a mark", _ABC, wrapped("@@", "-a", "+A", "b")),
    Case(
        "hand: an indented end marker is context", "a\n*** End Patch\nb\n", wrapped(" a", " *** End Patch", "-b", "+B")
    ),
    Case("hand: text after the end", _ABC, wrapped("@@", "-a", "+A") + "\nmore"),
    Case("hand: the end marker twice", _ABC, wrapped("@@", "-a", "+A", "*** End Patch", "")),
    Case("hand: the end marker thrice", _ABC, wrapped("@@", "-a", "+A", "*** End Patch", "*** End Patch")),
    Case("hand: heredoc", _ABC, "<<'EOF'\n" + wrapped("@@", "-a", "+A") + "\nEOF"),
    Case("hand: fence", _ABC, "```\n" + wrapped("@@", "-a", "+A") + "\n```"),
    Case("hand: quotes and dashes", "“a” – it’s\n", wrapped("@@", '-"a" - it\'s', "+b")),
    Case("hand: composed and decomposed letters differ", "\u00e9\n", wrapped("@@", "-e\u0301", "+b")),
    Case(
        "hand: U+2028 ends no line but is blank", "a\u2028\nx\u2028y\n", wrapped("@@", " a", "-x\u2028y", "+z\u2028w")
    ),
    Case("hand: U+001F is not blank", "a\x1f\n", wrapped("@@", "-a", "+b")),
    Case("hand: two sections", _ABC, wrapped("@@", "-c", "+C", f"*** Update File: {TARGET}", "@@", "-a", "+A")),
    Case(
        "hand: two sections, the second on the first's line",
        _ABC,
        wrapped("@@", "-c", "+C", f"*** Update File: {TARGET}", "@@", "-C", "+D", "-b"),
    ),
)
