"""What Slurm's commands print, read: rows of jobs, times, exits, and refusals."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.jobs import Seen
from ekiden_slurm.cluster import Gres, Node, Partition, read_nodes, read_partitions
from ekiden_slurm.refusals import Meaning, meaning_of
from ekiden_slurm.texts import (
    JobRow,
    UnreadableAnswerError,
    read_accounting,
    read_exit,
    read_job_id,
    read_queue,
    read_settings,
    read_tasks,
)


def rows(*lines: str) -> str:
    """Write rows as Slurm does; a bar stands for the separator."""
    return "".join(f"{line}\n" for line in lines).replace("|", "\x1f")


QUEUE_ROW = "12|6|2|FAILED|NonZeroExitCode|768|1|1795309502|1795309505|1795309506|n1|main|arr|k|"
ACCOUNT_ROW = "12|6_2|CANCELLED by 0|None|0:15|1795309502|1795309505|1795309506|n1|main|arr|k|"
WAITING = "7|7|N/A|PENDING|ReqNodeNotAvail, UnavailableNodes:n2|0|0|1795309502|N/A|N/A||main|a\nb|(null)|"


def test_rows_of_the_queue_are_read_whole() -> None:
    assert read_queue(rows(QUEUE_ROW, WAITING)) == [
        JobRow(
            job_id="12", array_id="6", tasks=(2,), name="arr", comment="k", state="FAILED", reason="NonZeroExitCode",
            exit_code=3, signal=None, restarts=1, submitted_at=datetime(2026, 11, 22, 1, 5, 2, tzinfo=UTC),
            started_at=datetime(2026, 11, 22, 1, 5, 5, tzinfo=UTC),
            ended_at=datetime(2026, 11, 22, 1, 5, 6, tzinfo=UTC), node="n1", partition="main",
        ),
        JobRow(
            job_id="7", array_id="7", tasks=(), name="a\nb", comment="", state="PENDING",
            reason="ReqNodeNotAvail, UnavailableNodes:n2", exit_code=0, signal=None, restarts=0,
            submitted_at=datetime(2026, 11, 22, 1, 5, 2, tzinfo=UTC), started_at=None, ended_at=None, node="",
            partition="main",
        ),
    ]  # fmt: skip


def test_a_row_is_what_decisions_take() -> None:
    (row,) = read_accounting(rows(ACCOUNT_ROW))
    assert (row.job_id, row.array_id, row.tasks) == ("12", "6", (2,))
    assert row.seen() == Seen("CANCELLED by 0", signal=15)


def test_of_a_job_that_was_put_back_accounting_tells_the_last_run() -> None:
    earlier = "13|13|REQUEUED|None|0:0|1|2|3|n1|main|job|k|"
    last = "13|13|COMPLETED|BeginTime|0:0|4|5|6|n2|main|job|k|"
    other = "13|13|FAILED|None|1:0|0|1|2|n1|main|another|other|"
    assert [(row.name, row.state, row.restarts) for row in read_accounting(rows(other, earlier, last))] == [
        ("another", "FAILED", 0),
        ("job", "COMPLETED", 1),
    ]


def test_tasks_that_wait_together_are_all_told() -> None:
    (row,) = read_accounting(rows("6|6_[0-2,7,10-14:2%2]|PENDING|None|0:0|1|Unknown|Unknown|None assigned|main|j|k|"))
    assert row.tasks == (0, 1, 2, 7, 10, 12, 14)
    assert row.node == ""
    assert row.started_at is None


@pytest.mark.parametrize(
    "fields", ["5|5|N/A|FAILED|BadConstraints|1|0|9|9|9||main|j|k|", "5|5|N/A|FAILED|x|1|0|9|9|9||m|j|k|"]
)
def test_a_job_that_got_a_number_and_was_turned_away_never_ran(fields: str) -> None:
    assert read_queue(rows(fields))[0].seen().never_ran


def test_a_job_that_failed_at_once_on_a_node_did_run() -> None:
    assert not read_queue(rows("5|5|N/A|FAILED|NonZeroExitCode|256|0|9|9|9|n1|main|j|k|"))[0].seen().never_ran


@pytest.mark.parametrize("text", ["slurm_load_jobs error", "1|2|", QUEUE_ROW + "7|", "x" + QUEUE_ROW, QUEUE_ROW[:-5]])
def test_an_answer_that_is_something_else_is_never_taken_for_no_jobs(text: str) -> None:
    with pytest.raises(UnreadableAnswerError, match="squeue printed what cannot be read"):
        read_queue(rows(text))


def test_no_answer_is_no_jobs() -> None:
    assert read_queue("") == read_queue("\n") == read_accounting("") == []


@given(st.text(st.sampled_from("\x1f\n1aPENDING|:0-")))
def test_no_text_breaks_the_readers(text: str) -> None:
    for reader in (read_queue, read_accounting, read_nodes, read_partitions):
        with suppress(UnreadableAnswerError):
            reader(text)


@given(st.text(st.characters(exclude_characters="\x1f", codec="utf-8")))
def test_names_and_comments_may_hold_anything_but_the_separator(name: str) -> None:
    text = rows("5|5|N/A|RUNNING|None|0|0|1|2|3|n1|main") + ""
    (row,) = read_queue(f"{text[:-1]}\x1f{name}\x1f{name}\x1f\n")
    assert row.name == name


@pytest.mark.parametrize(
    ("text", "end"),
    [("3:0", (3, None)), ("0:9", (None, 9)), ("768", (3, None)), ("9", (None, 9)), ("N/A", (None, None))],
)
def test_exits_are_read_in_both_spellings(text: str, end: tuple[int | None, int | None]) -> None:
    assert read_exit(text) == end


def test_a_single_task_and_none_are_told_apart() -> None:
    assert (read_tasks("0"), read_tasks("N/A")) == ((0,), ())


@pytest.mark.parametrize(
    ("printed", "job_id"),
    [("7\n", "7"), ("7;cluster\n", "7"), ("Welcome to the 3rd cluster\n12\n", "12"), ("", None), ("Submitted 7", None)],
)
def test_the_number_is_found_in_what_sbatch_printed(printed: str, job_id: str | None) -> None:
    assert read_job_id(printed) == job_id


def test_settings_of_the_cluster_are_read_by_name() -> None:
    text = (
        "Configuration data as of 2026-11-22\nMinJobAge               = 300 sec\nPowerPlugin             = \nA[0] = x\n"
    )
    assert read_settings(text) == {"MinJobAge": "300 sec", "PowerPlugin": "", "A[0]": "x"}


_FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("exit_code", "said", "meaning"),
    [
        (255, "sbatch: unrecognized option '--bogus'", "final"),
        (255, "sbatch: error: Invalid --time specification", "final"),
        (1, f"sbatch: error: invalid partition specified: x\n{_FAILED}Invalid partition name specified", "final"),
        (1, f"{_FAILED}Invalid account or account/partition combination specified", "final"),
        (1, f"{_FAILED}Requested node configuration is not available", "final"),
        (1, "sbatch: error: Invalid generic resource (gres) specification", "final"),
        (1, f"{_FAILED}Requested time limit is invalid (missing or exceeds some limit)", "final"),
        (1, f"{_FAILED}Invalid job array specification", "final"),
        (1, "sbatch: error: Batch script is empty!", "final"),
        (1, f"sbatch: error: Jobs need a project: see our wiki\n{_FAILED}Unspecified error", "final"),
        (1, f"{_FAILED}Unspecified error", "unclear"),
        (
            1,
            f"sbatch: error: AssocMaxSubmitJobLimit\n{_FAILED}Job violates accounting/QOS policy (job submit limit, "
            "user's size and/or time limits)",
            "later",
        ),
        (1, f"{_FAILED}Job violates accounting/QOS policy (job submit limit, ...)", "final"),
        (1, f"{_FAILED}Unable to contact slurm controller (connect failure)", "unclear"),
        (1, f"{_FAILED}Socket timed out on send/recv operation", "unclear"),
        (1, f"{_FAILED}Zero Bytes were transmitted or received", "unclear"),
        (1, f"{_FAILED}Something that nobody has seen before", "unclear"),
        (1, f"sbatch: error: filter: invalid account, taking yours\n{_FAILED}Socket timed out", "unclear"),
        (1, "", "unclear"),
        (-9, "", "unclear"),
        (-15, f"{_FAILED}Invalid partition name specified", "unclear"),
    ],
)
def test_only_what_surely_left_no_job_is_a_refusal(exit_code: int, said: str, meaning: Meaning) -> None:
    assert meaning_of(exit_code, said) == meaning


def test_nodes_are_told_once_with_all_their_partitions_and_gres() -> None:
    text = rows(
        "n2|mixed|1/7/0/8|16000|100|gpu:lovelace_l40:4(S:0-1),gpu:a100:2,shard:1K|"
        "gpu:lovelace_l40:2(IDX:0,3),gpu:a100:0(IDX:N/A)|main*|none|",
        "n2|mixed|1/7/0/8|16000|100|gpu:lovelace_l40:4(S:0-1),gpu:a100:2,shard:1K|"
        "gpu:lovelace_l40:2(IDX:0,3),gpu:a100:0(IDX:N/A)|spare|none|",
        "n3|drained*|0/0/8/8|16000|0|(null)|gpu:0|main*|new fan, soon|",
    )
    gpus = (Gres("gpu", "lovelace_l40", 4, 2), Gres("gpu", "a100", 2, 0), Gres("shard", "", 1024, 0))
    assert read_nodes(text) == (
        Node("n2", "mixed", "", ("main", "spare"), 8, 7, 16000, 15900, gpus),
        Node("n3", "drained*", "new fan, soon", ("main",), 8, 0, 16000, 16000, ()),
    )


def test_a_partition_of_several_kinds_of_nodes_is_one() -> None:
    text = rows("main|main*|up|1-00:00:00|2|1/15/0/16|gpu:a:4(S:0)|", "main|main*|up|1-00:00:00|1|0/0/8/8|(null)|")
    assert read_partitions(text) == (Partition("main", True, "up", "1-00:00:00", 3, 24, 15, ("gpu:a:4",)),)
