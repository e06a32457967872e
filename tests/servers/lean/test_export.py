"""Reading exports that may lie, and what follows from them; no Lean is needed."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_lean import FactsStore, LeanFacts
from ekiden_lean.account import Account, Report, read_report
from ekiden_lean.export import ExportError, read_export
from ekiden_lean.names import canonical, shown, visible

EXPORT = """n a
n s 0 nat
n s 0 add
n s 0 lem
n s 3 _proof_1
n s 0 top
e c 1
e c 3
e c 4
e a 1 2
e c 2
e a 4 3
u z
e s 0
d axiom 2 0
d thm 4 0 4
d thm 3 0 2
d thm 5 0 5
h 3 plain 7 2
h 4 plain 7 2
h 5 plain 1 1
end
"""


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        "n s 99 a",
        "n s 0",
        "n s 0 a\\b",
        "n s 0 a\rb",
        "n s 0 a\\",
        "n s -1 a",
        "n s ² a",
        "n i 0 1_0",
        "u q 0",
        "u p 0 0",
        "e b",
        "e b +1",
        "e c 0 0",
        "e l x 0 0 0",
        "e n 1.5",
        "e n ",
        "e  b 1",
        "bad",
        "d axiom 0",
        "d def q 0 0 0",
        "d induct 0",
        "c 0 0",
        "h 0 plain 1",
        "n s 999999999999999999999 a",
        "end ",
    ],
)
def test_a_line_that_could_be_read_in_two_ways_is_refused(line: str):
    with pytest.raises(ExportError):
        read_export(f"n a\n{line}\nend\n")


def test_an_export_without_an_end_is_refused():
    with pytest.raises(ExportError, match="no end"):
        read_export("n a\n")


@given(st.text(alphabet="nuedtch 0123abz\\\n\r«_", max_size=60))
def test_any_text_is_read_or_refused_in_words(text: str):
    try:
        found = read_export(f"n a\nu z\ne s 0\n{text}\nend\n")
    except ExportError:
        return
    assert not any(line.startswith("h") for line in found.kernel_text.splitlines())


def test_the_kernel_gets_the_same_lines_without_the_remarks():
    assert read_export(EXPORT).kernel_text == "".join(
        f"{line}\n" for line in EXPORT.splitlines() if not line.startswith("h ")
    )


def test_a_piece_belongs_to_its_declaration_and_what_it_uses_too():
    report = Report({0: 1, 1: 1, 2: 1, 3: 1}, {}, [(False, "add")])
    found = {one.name: one for one in Account(read_export(EXPORT), report, has_proofs=True).facts()}
    assert {name: (one.kind, one.uses_value, one.axioms) for name, one in found.items()} == {
        "add": ("axiom", (), ("add",)),
        "top": ("theorem", ("add", "lem"), ("add",)),
        "lem": ("theorem", ("add",), ("add",)),
    }


def test_an_axiom_is_never_a_piece_of_something_else():
    export = read_export(EXPORT.replace("d thm 4 0 4", "d axiom 4 0"))
    report = Report({0: 1, 1: 2, 2: 2, 3: 3}, {}, [(False, "add"), (False, "lem._proof_1")])
    found = {one.name: one.kind for one in Account(export, report, has_proofs=True).facts()}
    assert found["lem._proof_1"] == "axiom"


def test_what_is_refused_tells_why_and_the_axioms_that_show():
    report = Report({0: 1}, {1: "no", 2: "unknown constant", 3: "unknown constant"}, [(False, "add")])
    found = {one.name: one for one in Account(read_export(EXPORT), report, has_proofs=True).facts()}
    assert (found["lem"].refusal, found["lem"].axioms, found["lem"].meaning_hash) == ("no", ("add",), "")
    assert found["add"].refusal == ""


@pytest.mark.parametrize(
    ("last", "command", "separate"),
    [("inj", 2, True), ("induct", 2, True), ("ext", 2, True), ("casesOn", 1, False), ("_proof_1", 2, False)],
)
def test_a_theorem_in_the_name_space_of_a_type_is_one_of_its_own(last: str, command: int, *, separate: bool):
    lines = ["n a", "n s 0 T", f"n s 1 {last}", "u z", "e s 0", "e c 1", "t 1 0", "d induct 0", "d thm 2 0 1"]
    remarks = ["h 1 plain 1 1", f"h 2 plain {command} {command}", "end", ""]
    export = read_export("\n".join([*lines, *remarks]))
    facts = Account(export, Report({0: 0, 1: 0}, {}, []), has_proofs=True).facts()
    assert [one.name for one in facts] == (["T", f"T.{last}"] if separate else ["T"])


def test_a_report_that_is_cut_short_is_no_report():
    assert read_report(["accepted 0 3", "leaf library Quot.sound", "complete"]).leaves == [(True, "Quot.sound")]
    with pytest.raises(ExportError):
        read_report(["accepted 0 3"])
    with pytest.raises(ExportError, match="that cannot be read"):
        read_report(["unreadable the export holds a name that cannot be read"])


def test_a_report_may_name_thousands_of_axioms():
    digits = "1" + "0" * 12_000
    assert read_report([f"accepted 0 {digits}", "complete"]).masks == {0: 10**12_000}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("Foo", "bar'"), "Foo.bar'"),
        (("x₁", "αβ"), "x₁.αβ"),
        (("a b",), "«a b»"),
        (("if",), "if"),
        (("a.b", "c"), "«a.b».c"),
        (("1st",), "«1st»"),
        (("λ",), "«λ»"),
        (("is_ok?", "run!"), "is_ok?.run!"),
    ],
)
def test_names_are_shown_as_source_text_has_them(parts: tuple[str, ...], text: str):
    assert shown(parts) == text
    assert canonical(text) == text


def test_guillemets_that_are_not_needed_make_no_other_name():
    assert canonical("Foo.«if».«a b»") == "Foo.if.«a b»"


BORROWED = """n a
n s 0 _private
n s 1 text
n i 2 0
n s 3 {name}
n s 0 top
n s 0 Goal
e c 6
e c 4
d axiom 4 0
d thm 5 0 1
end
"""


@pytest.mark.parametrize("name", ["propext", "sorryAx", "of_mathlib"])
def test_a_private_axiom_never_goes_by_the_name_of_a_library_axiom(name: str):
    report = Report({0: 1, 1: 1}, {}, [(False, f"_private.text.0.{name}"), (True, "of_mathlib")])
    axiom, top = Account(read_export(BORROWED.format(name=name)), report, has_proofs=True).facts()
    assert (axiom.name, axiom.kind, top.name) == (f"_private.text.0.{name}", "axiom", "top")
    assert (top.axioms, top.sorry) == ((f"_private.text.0.{name}",), False)


def test_a_private_axiom_never_goes_by_the_name_of_what_rests_on_it():
    lines = BORROWED.format(name="deep").replace("n s 0 top", "n s 1 other\nn i 5 0\nn s 6 deep").splitlines()
    lines = [line.replace("e c 6", "e c 8").replace("d thm 5", "d thm 7") for line in lines]
    report = Report({0: 1, 1: 1}, {}, [(False, "_private.text.0.deep")])
    found = Account(read_export("\n".join(lines)), report, has_proofs=True).facts()
    assert [(one.name, one.axioms) for one in found] == [
        ("_private.text.0.deep", ("_private.text.0.deep",)), ("_private.other.0.deep", ("_private.text.0.deep",)),
    ]  # fmt: skip


def test_a_private_axiom_goes_by_its_own_name():
    report = Report({0: 1, 1: 1}, {}, [(False, "_private.text.0.deep")])
    axiom, top = Account(read_export(BORROWED.format(name="deep")), report, has_proofs=True).facts()
    assert (axiom.name, axiom.private, top.axioms) == ("deep", True, ("deep",))


def test_a_private_name_is_what_the_source_calls_it():
    assert visible(("_private", "Some", "Module", 0, "Foo", "bar")) == ("Foo", "bar")
    assert visible(("Foo", "_private")) == ("Foo", "_private")


def test_facts_come_back_whole_and_damaged_ones_are_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    report = Report({0: 1, 1: 1, 2: 1, 3: 1}, {}, [(False, "add")])
    declarations = Account(read_export(EXPORT), report, has_proofs=True).facts()
    facts = LeanFacts("complete", "It makes 3 declarations.", plain=True, declarations=declarations)
    store = FactsStore(tmp_path / "facts")
    assert store.get("key") is None
    store.put("key", facts)
    assert store.get("key") == facts
    (tmp_path / "facts" / "key.json").write_text("{", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert store.get("key") is None
    assert "dropping the kept facts key.json" in caplog.text
    assert not (tmp_path / "facts" / "key.json").exists()


def test_a_store_that_is_too_large_drops_what_was_used_longest_ago(tmp_path: Path):
    facts = LeanFacts("complete", "x" * 1000, plain=True)
    store = FactsStore(tmp_path, max_bytes=2500)
    for name in ("a", "b", "c"):
        store.put(name, facts)
    kept = [name for name in ("a", "b", "c") if store.get(name)]
    assert len(kept) < 3
    assert "c" in kept
