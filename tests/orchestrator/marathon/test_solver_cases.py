"""The life of a solver under the contract: what its harness has no case for."""

import json

from marathon_bed import SOLVERS, Bed


def test_a_third_party_solver_runs_unchanged(bed: Bed) -> None:
    summary = bed.run(str(SOLVERS / "brute"), manifest=bed.manifest(*range(1, 21)))
    assert summary.exit_code == 0
    assert summary.score
    assert summary.labels is not None
    assert summary.labels.contradicting == ()
    assert summary.by_status["accepted"] == summary.score == summary.labels.agreeing


def test_a_solver_deaf_to_sigterm_is_killed_after_the_grace(bed: Bed) -> None:
    source = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nanswer(ids[0])\nwhile True: signal.pause()"
    summary = bed.run(bed.solver(source), seconds=1)
    assert (summary.sigterm_fired, summary.sigkill_fired, summary.exit_code) == (True, True, -9)
    assert summary.attempted == 1


def test_a_flood_of_output_is_drained_and_dropped(bed: Bed) -> None:
    summary = bed.run(bed.solver("for _ in range(256): sys.stdout.write('x' * 65536)"))
    assert summary.exit_code == 0
    assert (bed.run_folder / "run.log").stat().st_size < 1 << 20


def test_invalid_utf8_on_stderr_does_not_end_the_drain(bed: Bed) -> None:
    source = "sys.stderr.buffer.write(b'\\xff\\xfe bad\\n')\nsys.stderr.write('x' * 200_000 + '\\nlast words\\n')"
    summary = bed.run(bed.solver(source))
    assert summary.exit_code == 0
    assert summary.stderr_tail.endswith("last words")


def test_a_solver_that_fails_is_reported_with_its_last_words(bed: Bed) -> None:
    summary = bed.run(bed.solver("answer(ids[0])\nraise RuntimeError('out of \\x1b[31mideas')"))
    assert summary.exit_code == 1
    assert summary.attempted == 1
    assert "RuntimeError" in summary.stderr_tail
    assert "stderr: RuntimeError: out of \\x1b[31mideas" in bed.printed
    assert "\x1b" not in bed.printed


def test_the_summary_has_every_key_of_the_reference_and_the_missing_ones(bed: Bed) -> None:
    bed.run(bed.solver("answer(ids[0])"))
    summary = json.loads((bed.run_folder / "summary.json").read_text(encoding="utf-8"))
    reference = {"score", "attempted", "not_attempted", "by_status", "wall_seconds", "sigterm_fired", "sigkill_fired"}
    reference |= {"tokens_used", "tokens_exhausted", "per_problem"}
    added = {"exit_code", "sigterm_reason", "stderr_tail", "by_error_code", "budget_seconds", "budget_tokens"}
    added |= {"budget_usd", "usd_spent", "model_calls", "models"}
    added |= {"versions", "isolation", "ignored_lines", "attempts", "judging_seconds", "notes"}
    assert reference | added <= summary.keys()
    assert {"id", "status", "verdict", "message", "error_code"} <= summary["per_problem"][0].keys()
