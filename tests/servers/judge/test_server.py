"""The judge's tools, called by a client in memory."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsFloat, IsPositiveFloat
from mcp import Client

from ekiden_config import load_settings
from ekiden_judge.models import MAX_BATCH_MESSAGE
from ekiden_judge.server import SERVER
from ekiden_kit.build import build_server
from tool_answers import answer, refusal

LAW1, LAW2 = "x = x * y", "x = y ◇ (x ◇ (y ◇ x))"
TABLE = """\
import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
"""
NO_LISTS: dict[str, object] = {"axioms": [], "diagnostics": [], "left_out": 0}
WRONG = TABLE.replace("[[0,0],[1,1]]", "[[0,1],[1,0]]")

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client(build_server([SERVER], load_settings())) as client:
        yield client


async def verdict_on(client: Client, **arguments: object) -> dict[str, Any]:
    return await answer(client, "judge_answer", **arguments)


async def test_a_good_table_is_accepted(client: Client):
    assert await verdict_on(client, law1=LAW1, law2=LAW2, verdict="false", code=TABLE) == {
        "status": "accepted",
        "error_code": "ACCEPTED",
        "message": "Law 1 holds in the table of order 2, and law 2 fails in it at x = 0, y = 1.",
        "checker": "exact",
        "certificate": "table",
        **NO_LISTS,
        "seconds": IsPositiveFloat(),
    }


async def test_a_wrong_table_is_incorrect_and_the_message_says_where(client: Client):
    verdict = await verdict_on(client, law1=LAW1, law2=LAW2, verdict="false", code=WRONG)
    assert (verdict["status"], verdict["error_code"], verdict["message"]) == (
        "incorrect",
        "LEAN_REJECTED",
        "Law 1 fails in the model: under {'x': 0, 'y': 1} its sides are 0 and 1.",
    )


async def test_a_raw_answer_is_judged_as_text(client: Client):
    verdict = await verdict_on(client, law1=LAW1, law2=LAW2, answer_json='{"verdict": "true", "verdict": "false"}')
    assert verdict["error_code"] == "DUPLICATE_JSON_KEYS"
    text = json.dumps({"verdict": "false", "code": TABLE})
    assert (await verdict_on(client, law1=LAW1, law2=LAW2, answer_json=text))["status"] == "accepted"


async def test_a_verdict_that_is_neither_true_nor_false_is_malformed_and_no_error(client: Client):
    verdict = await verdict_on(client, law1=LAW1, law2=LAW2, verdict="maybe", code=TABLE)
    assert verdict == {
        "status": "malformed",
        "error_code": "INVALID_VERDICT",
        "message": "The verdict is 'maybe'; write the string 'true' or 'false'.",
        "checker": "",
        "certificate": "",
        **NO_LISTS,
        "seconds": IsFloat(ge=0),
    }


async def test_a_question_that_cannot_be_read_is_an_error(client: Client):
    told = await refusal(client, "judge_answer", law1="x = ", law2=LAW2, verdict="true", code="x")
    assert told == (
        "law1 of 'the question': Cannot read the law 'x = ': expected a variable or '(' here, found the end of the "
        "text (after character 4)."
    )


async def test_an_answer_is_given_in_one_of_two_ways(client: Client):
    laws = {"law1": LAW1, "law2": LAW2}
    assert await refusal(client, "judge_answer", **laws) == (
        "There is nothing to judge: give 'verdict' and 'code', or 'answer_json'."
    )
    assert await refusal(client, "judge_answer", **laws, verdict="true", answer_json="{}") == (
        "Give either 'verdict' and 'code' or 'answer_json', not both."
    )


def entry(name: str, code: str, **more: object) -> dict[str, object]:
    return {"id": name, "law1": LAW1, "law2": LAW2, "verdict": "false", "code": code, **more}


async def test_a_batch_is_judged_in_order_with_progress_and_counts(client: Client):
    seen: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del message
        seen.append((progress, total))

    answers = [entry("a", TABLE), entry("b", "x"), entry("c", WRONG), entry("d", "x", verdict="?")]
    result = await client.call_tool("judge_batch", {"answers": answers}, progress_callback=on_progress)
    assert result.structured_content is not None
    batch = result.structured_content
    items = batch.pop("items")
    assert [(item["id"], item["status"]) for item in items] == [
        ("a", "accepted"),
        ("b", "undecided"),
        ("c", "incorrect"),
        ("d", "malformed"),
    ]
    assert items[1] == {
        "id": "b",
        "status": "undecided",
        "error_code": "NEEDS_LEAN",
        "message": "The code is in no shape that can be decided without Lean.",
    }
    assert batch == {"total": 4, "accepted": 1, "undecided": 1}
    assert seen == sorted(seen)
    assert seen[-1] == (4, 4)


async def test_a_long_message_is_cut_in_a_batch_and_says_so(client: Client):
    long = "x" + " ◇ x" * 80
    proof = "import JudgeProblem\n\ndef submission : Goal := by\n  intro G _ h\n  intro x\n  exact h x\n"
    answers = [entry("a", proof, law1=f"{long} = x", law2="x ◇ x = x", verdict="true")]
    result = await client.call_tool("judge_batch", {"answers": answers})
    assert result.structured_content is not None
    [item] = result.structured_content["items"]
    assert (item["status"], len(item["message"]), item["message"][-3:]) == ("incorrect", MAX_BATCH_MESSAGE, "...")


async def test_a_law_that_cannot_be_read_refuses_the_whole_batch(client: Client):
    told = await refusal(client, "judge_batch", answers=[entry("a", TABLE), entry("b", TABLE, law2="x = X")])
    assert told.startswith("law2 of 'b': Cannot read the law 'x = X': ")


async def test_a_verdict_is_explained_with_its_place(client: Client):
    arguments = {"law1": LAW1, "law2": LAW2, "verdict": "false", "code": "import JudgeProblem\n-- no sorry here\n"}
    result = await client.call_tool("judge_explain", arguments)
    assert result.structured_content == {
        "status": "incomplete_proof",
        "check": "8 banned words",
        "message": "The code contains 'sorry' at line 2, column 7; no answer may contain it, not even in a comment, a "
        "string or a longer name.",
        "place": "line 2, column 7\n-- no sorry here\n      ^",
        "help": [
            "Take the word out; it counts in comments, strings and longer dotted names too, so rename what holds it."
        ],
    }


CERTIFICATE = {"certificate": "refutation", "version": 1, "table": [[0, 0], [1, 1]], "assignment": {"x": 0, "y": 1}}


async def test_a_certificate_is_checked_and_printed_in_lean(client: Client):
    result = await client.call_tool("judge_print_lean", {"law1": LAW1, "law2": LAW2, "certificate": CERTIFICATE})
    assert result.structured_content == {"verdict": "false", "code": TABLE, "checked": True}


async def test_a_wrong_certificate_is_not_printed(client: Client):
    wrong = CERTIFICATE | {"assignment": {"x": 0, "y": 0}}
    told = await refusal(client, "judge_print_lean", law1=LAW1, law2=LAW2, certificate=wrong)
    assert told == "Law 2 holds under {'x': 0, 'y': 0}: both sides are 0."


async def test_a_judge_that_is_not_installed_is_an_error_that_says_how_to_get_it(tmp_path: Path):
    settings = load_settings({"lean": {"toolchain": "wasm", "home": tmp_path}})
    async with Client(build_server([SERVER], settings)) as client:
        told = await refusal(client, "judge_answer", law1=LAW1, law2=LAW2, verdict="false", code=TABLE, judge="lean")
    assert told.startswith("There is no Lean for WebAssembly on this machine.")
    assert "ekiden lean install --wasm" in told
