import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ekiden_blueprint import Project, parse
from ekiden_blueprint.findings import Finding, apply_fixes
from ekiden_blueprint.rules import CHECKS, RULES, Diagnostic, check, read_build_log
from ekiden_blueprint.rules.documentation import document_rules
from ekiden_lean.diagnostics import Diagnostic as LeanDiagnostic
from ekiden_lean.facts import DeclarationFacts, LeanFacts
from servers.blueprint.rule_cases import CASES, FOLDER, load

ROOT = Path(__file__).parents[3]
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
GOOD = (FOLDER / "BP604_pass_declared_before.lean").read_text(encoding="utf-8")


def found(text: str) -> list[Finding]:
    return check(Project([parse(text, "Main.lean")]))


def rules_of(findings: list[Finding]) -> list[str]:
    return [finding.rule for finding in findings]


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_breaks_the_rule_of_its_name_and_no_other(name: str) -> None:
    rules, outcome, *_ = name.split("_")
    wanted = set(rules.split("+")) if outcome == "fail" else set[str]()
    findings = load(name).findings()
    assert set(rules_of(findings)) == wanted
    assert [[finding.rule, *finding.start, *finding.end] for finding in findings] == EXPECTED[name]


@pytest.mark.parametrize("name", CASES)
def test_the_fixes_of_a_golden_file_remove_what_they_fix_and_add_nothing(name: str) -> None:
    case = load(name)
    findings = case.findings()
    fixed = {finding.rule for finding in findings if finding.fix}
    text = apply_fixes(case.project.files[0].source.text, findings)
    if fixed and not case.facts:
        assert set(rules_of(case.with_text(text).findings())) == set(rules_of(findings)) - fixed
    assert fixed <= {rule.id for rule in RULES.values() if rule.fixable}


def test_every_rule_has_a_failing_golden_file_and_those_marked_so_have_a_fix() -> None:
    failing = {rule for name in CASES if "_fail_" in name for rule in name.split("_")[0].split("+")}
    assert failing == set(RULES)
    fixable = {finding.rule for name in CASES for finding in load(name).findings() if finding.fix}
    assert fixable == {rule.id for rule in RULES.values() if rule.fixable}


def test_the_documentation_is_that_of_the_table() -> None:
    page = (ROOT / "docs" / "reference" / "blueprint-rules.md").read_text(encoding="utf-8")
    assert page == document_rules()


def test_the_blueprint_of_the_guide_passes() -> None:
    page = (ROOT / "docs" / "guide" / "blueprints.md").read_text(encoding="utf-8")
    text = page.partition("```lean\n")[2].partition("```\n")[0]
    assert text.count("@[blueprint") == 3
    assert found(text) == []


def test_identifiers_are_grouped_by_check_and_in_order() -> None:
    assert list(RULES) == sorted(RULES)
    assert {rule.check for rule in RULES.values()} == set(CHECKS)
    assert all(re.fullmatch(r"BP\d{3}", rule) for rule in RULES)


def test_all_findings_are_reported_together_in_the_order_of_the_text() -> None:
    text = GOOD.replace("import Architect\n", "").replace("lem:pos}", "lem:none}") + "\naxiom a : False\n\n#eval 1\n"
    findings = found(text)
    assert rules_of(findings) == ["BP801", "BP606", "BP601", "BP202", "BP810"]
    assert findings == sorted(findings, key=lambda finding: finding.span)


def test_a_message_names_the_value_and_the_way_out() -> None:
    _, finding = found(GOOD.replace("cref{lem:pos}", "cref{lem:poss}"))
    assert finding.message == (
        "No node has the label 'lem:poss'; the nearest is 'lem:pos'. Mend the reference or write the node."
    )


def test_references_names_and_imports_hold_across_the_files_of_a_project() -> None:
    at = GOOD.index('@[blueprint "thm:goal"')
    first = parse(GOOD[:at], "Proj/Base.lean")
    header = "import Proj.Base\n\nset_option linter.all false\nset_option maxHeartbeats 500000\n\n"
    second = parse(header + GOOD[at:], "Proj/Main.lean")
    assert check(Project([first, second])) == []
    twisted = check(Project([second, first]))
    assert [(finding.rule, finding.path) for finding in twisted] == [("BP604", "Proj/Main.lean")]
    alone = check(Project([second]))
    assert {"BP601", "BP602", "BP801", "BP804"} <= set(rules_of(alone))


def test_a_label_used_in_two_files_is_told_with_the_file_of_the_first() -> None:
    findings = check(Project([parse(GOOD, "A.lean"), parse(GOOD, "B.lean")]))
    assert [finding.path for finding in findings if finding.rule in ("BP501", "BP502")] == ["B.lean"] * 4
    assert "A.lean:7" in findings[0].message


def test_a_message_of_lean_is_placed_in_the_file_whose_path_it_ends_with() -> None:
    project = Project(
        [parse(GOOD, "One/Main.lean"), parse(GOOD.replace("pos", "neg").replace("goal", "aim"), "Two/Main.lean")]
    )
    said = [
        Diagnostic("error", "boom", 9, 4, "././Two/Main.lean"),
        Diagnostic("error", "elsewhere", 3, 0, "Lib/X.lean"),
    ]
    findings = [finding for finding in check(project, diagnostics=said) if finding.rule == "BP101"]
    assert [(finding.path, finding.start) for finding in findings] == [
        ("Two/Main.lean", (9, 5)),
        ("Lib/X.lean", (3, 1)),
    ]


def test_the_facts_and_messages_of_the_lean_probe_are_understood() -> None:
    pos = DeclarationFacts(
        name="pos",
        kind="theorem",
        private=False,
        type_hash="t",
        value_hash="v",
        meaning_hash="m",
        axioms=("sorryAx",),
        unproved=(),
        sorry=True,
        own_sorry=True,
        uses_type=(),
        uses_value=(),
    )
    goal = replace(pos, name="goal", axioms=("sorryAx", "Lean.trustCompiler"), own_sorry=False, uses_value=("pos",))
    said = LeanDiagnostic(19, 0, None, None, "error", "boom", "")
    facts = LeanFacts("complete", "", plain=True, declarations=(pos, goal), diagnostics=(said,))
    project = Project([parse(GOOD.replace("by\n  sorry_using [pos]", "pos"), "Main.lean")])
    assert rules_of(check(project, facts=facts, diagnostics=facts.diagnostics)) == ["BP101", "BP905"]


@pytest.mark.parametrize(
    "line",
    [
        "Killed",
        "/bin/bash: line 1: 4711 Killed                  lake build",
        "Segmentation fault (core dumped)",
        "Stack overflow detected. Aborting.",
        "INTERNAL PANIC: out of memory",
        "libc++abi: terminating due to uncaught exception of type lean::throwable",
        "uncaught exception: no such file or directory",
        "lake: error: unknown command",
        "error: external command `lean` exited with code 137",
        "lake: command not found",
        "##[error]Process completed with exit code 143.",
    ],
)
def test_a_build_that_broke_down_is_an_error_whatever_its_exit_code(line: str) -> None:
    log = f"✔ [1/2] Built Mathlib\n{line}\n"
    assert [said.severity for said in read_build_log(log, exit_code=0)] == ["error"]


def test_a_build_log_is_read_into_messages_with_their_continuations() -> None:
    log = """\
⚠ [2/3] Built LeanMarathon.Main
warning: ././LeanMarathon/Main.lean:12:8: declaration uses 'sorry'

LeanMarathon/Main.lean:20:2: error(lean.unknownIdentifier): Unknown identifier `x`
  in the goal
⊢ x = x
info: LeanMarathon/Main.lean:22:0: 2
2026-01-02T03:04:05.678Z Main.lean:30:1: warning: unused variable `h`
error: Lean exited with code 1
Some required builds logged failures:
- LeanMarathon.Main
error: build failed
"""
    assert read_build_log(log, exit_code=1) == [
        Diagnostic("warning", "declaration uses 'sorry'", 12, 8, "LeanMarathon/Main.lean"),
        Diagnostic("error", "Unknown identifier `x`\n  in the goal\n⊢ x = x", 20, 2, "LeanMarathon/Main.lean"),
        Diagnostic("information", "2", 22, 0, "LeanMarathon/Main.lean"),
        Diagnostic("warning", "unused variable `h`", 30, 1, "Main.lean"),
    ]


def test_a_sorry_warning_with_more_to_say_is_a_finding() -> None:
    said = read_build_log("Main.lean:9:6: warning: declaration uses 'sorry'\n  and more\n")
    assert rules_of(check(Project([parse(GOOD, "Main.lean")]), diagnostics=said)) == ["BP102"]


@pytest.mark.parametrize(("code", "message"), [(-9, "killed by signal 9"), (1, "exit code 1")])
def test_an_exit_code_without_an_error_is_a_finding(code: int, message: str) -> None:
    (said,) = read_build_log("✔ [1/1] Built Main\n", exit_code=code)
    assert said.severity == "error"
    assert message in said.message


def test_a_silent_build_that_succeeded_has_nothing_to_say() -> None:
    assert read_build_log("", exit_code=0) == []


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ('(latexEnv := "theorem")]', '(latexEnv := "theorem")', ["BP221", "BP205"]),
        ('-/)\n  (latexEnv := "theorem")]', ')\n  (latexEnv := "theorem")]', ["BP221", "BP221"]),
        ("(title", "(titel", ["BP212", "BP218"]),
    ],
    ids=["a bracket", "the end of a text", "a name"],
)
def test_what_is_missing_is_said_once_and_no_fix_takes_the_prose_away(old: str, new: str, rules: list[str]) -> None:
    at = GOOD.rindex(old)
    text = GOOD[:at] + new + GOOD[at + len(old) :]
    findings = [finding for finding in found(text) if finding.severity == "error" and finding.rule != "BP701"]
    assert rules_of(findings) == rules
    assert apply_fixes(text, findings) == text


def test_an_unknown_option_is_told_from_a_misspelt_one() -> None:
    misspelt, unknown = (
        next(finding for finding in found(GOOD.replace("(title", given, 1)) if finding.rule == "BP218").message
        for given in ("(titel", "(zzz")
    )
    assert "the nearest is 'title'. Mend its name, or remove it." in misspelt
    assert unknown.endswith("'. Remove it.")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_text_makes_the_checks_fail_and_all_places_lie_in_it(data: st.DataObject) -> None:
    cut = sorted(data.draw(st.lists(st.integers(0, len(GOOD)), min_size=2, max_size=2)))
    pieces = st.sampled_from(
        ["/-", '"', "@[", "]", "sorry", "\n\naxiom x : False\n", "«", "\\cref{", "{", ":=", "#eval", "é"]
    )
    text = GOOD[: cut[0]] + data.draw(st.one_of(st.text(max_size=8), pieces)) + GOOD[cut[1] :]
    findings = found(text)
    for finding in findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
    apply_fixes(text, findings)


@given(st.text(max_size=200), st.none() | st.integers(-64, 255))
def test_any_log_can_be_read(text: str, code: int | None) -> None:
    said = read_build_log(text, exit_code=code)
    assert not code or any(one.severity == "error" for one in said)
