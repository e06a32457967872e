import json
import re
from typing import Any

from ekiden_blueprint import Position, Project, Span, parse
from ekiden_blueprint.findings import Finding
from ekiden_blueprint.reports import ReportFormat, github, human, passes, render, report, sarif
from ekiden_blueprint.rules import CHECKS, RULES, check, check_name
from servers.blueprint.rule_cases import CASES, load


def load_pair(name: str) -> tuple[Project, list[Finding]]:
    case = load(name)
    return case.project, case.findings()


def test_people_read_place_rule_message_and_the_line_with_carets() -> None:
    assert human(*load_pair("BP404_fail_other_name")) == (
        "Main.lean:12:9: error BP404 The label 'thm:aim' asks for the Lean name 'aim', not 'goal'; "
        "rename one of the two.\n"
        "   12 | theorem goal : True := by\n"
        "      |         ^^^^\n"
        "FAIL  1 file, 1 node: 1 error\n"
    )


def test_a_clean_project_passes_in_one_line() -> None:
    assert human(*load_pair("BP604_pass_declared_before")) == "PASS  1 file, 2 nodes: nothing to report\n"


def test_warnings_and_notes_do_not_fail() -> None:
    project, findings = load_pair("BP610_fail_complete_without_lean")
    assert passes(findings)
    assert human(project, findings).endswith("PASS  1 file, 1 node: 1 note\n")


def test_a_report_line_cannot_be_a_workflow_command_or_steer_a_terminal() -> None:
    text = "::error::forged\n\x1b[31m::set-output name=x::y -- \u202ecomment\n"
    project = Project([parse(text, "Main.lean")])
    shown = human(project, check(project))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith("::")]


def test_a_long_line_is_shown_around_the_finding() -> None:
    text = "axiom " + "a" * 500 + " : \\cref{x} := sorry -- end\n"
    project = Project([parse(text, "Main.lean")])
    shown = human(project, check(project)).splitlines()
    comment = next(index for index, line in enumerate(shown) if " BP201 " in line)
    line, carets = shown[comment + 1 : comment + 3]
    assert len(line) < 120
    assert line[carets.index("^") :].startswith("-- end")


def test_the_json_report_keeps_the_keys_that_pull_requests_know() -> None:
    project, findings = load_pair("BP301_fail_missing")
    record = json.loads(render(project, findings, "json"))
    assert list(record) == ["files", "overall_pass", "results", "findings"]
    assert record["files"] == ["Main.lean"]
    assert record["overall_pass"] is False
    assert [result["name"] for result in record["results"]] == [check_name(number) for number in CHECKS]
    failed = [result for result in record["results"] if not result["passed"]]
    assert failed == [{"name": "Check 3: latexEnv Consistency", "passed": False, "failures": failed[0]["failures"]}]
    (failure,) = failed[0]["failures"]
    assert failure.startswith("Main.lean:7:3: BP301 ")
    (finding,) = record["findings"]
    text = project.files[0].source.text
    assert text[finding["start"] :].startswith("blueprint")
    assert finding["fix"]["replacement"] == '\n  (latexEnv := "theorem")'
    assert record == report(project, findings)


def test_sarif_has_what_the_standard_asks_for() -> None:
    for name in CASES:
        project, findings = load_pair(name)
        log: dict[str, Any] = json.loads(json.dumps(sarif(project, findings)))
        assert log["version"] == "2.1.0"
        assert log["$schema"].endswith("sarif-2.1.0.json")
        (run,) = log["runs"]
        rules = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == list(RULES)
        assert len(run["results"]) == len(findings)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"]["text"]
            (location,) = result["locations"]
            _is_region(location["physicalLocation"]["region"])
            assert location["physicalLocation"]["artifactLocation"]["uri"] == "Main.lean"
            for fix in result.get("fixes", []):
                (change,) = fix["artifactChanges"]
                (replacement,) = change["replacements"]
                _is_region(replacement["deletedRegion"])
                assert isinstance(replacement["insertedContent"]["text"], str)


def _is_region(region: dict[str, int]) -> None:
    start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
    assert (1, 1) <= start <= end


def test_sarif_paths_are_uris() -> None:
    project = Project([parse("axiom a : False\n", "My Proj/größe.lean")])
    text = json.dumps(sarif(project, check(project)))
    assert "My%20Proj/gr%C3%B6%C3%9Fe.lean" in text


def test_github_annotations_escape_what_would_end_them() -> None:
    finding = Finding("BP101", "error", "50% of\r\nit: a, b", "a,b:c%.lean", Span(0, 3), Position(2, 1), Position(2, 4))
    assert github([finding]) == (
        "::error file=a%2Cb%3Ac%25.lean,line=2,col=1,endColumn=4,title=BP101 Lean reports an error"
        "::50%25 of%0D%0Ait: a, b\n"
    )


def test_github_annotations_are_one_line_each_with_their_level() -> None:
    for name, level in (
        ("BP610_fail_complete_without_lean", "notice"),
        ("BP608_fail_statement_cites_unused", "warning"),
    ):
        assert re.fullmatch(rf"::{level} file=Main\.lean,[^\n]*::[^\n]+\n", github(load_pair(name)[1]))


def test_every_format_renders_every_golden_file() -> None:
    forms: tuple[ReportFormat, ...] = ("human", "json", "sarif", "github")
    for name in CASES:
        project, findings = load_pair(name)
        for form in forms:
            assert render(project, findings, form).endswith("\n") or not findings
