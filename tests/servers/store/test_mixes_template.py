"""Examples in the words of a template, for training and for asking alike."""

import json
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import StoreError
from ekiden_store.data_sets.exports import export_mix
from ekiden_store.data_sets.exports_verify import read_template
from ekiden_store.data_sets.mixes import parse_mix
from ekiden_store.data_sets.mixes_template import Template
from ekiden_store.redaction.redactor import Redactor
from servers.store.test_stats import filled, proved_tree

PROMPT = "Complete the following Lean 4 code:\n\n```lean4\n/- tactic state:\n{state}\n-/\n"


def worded(folder: Path, template: dict[str, Any] | None, **source: Any) -> list[dict[str, Any]]:
    settings = {"seed": 1, "sources": [{"name": "s", **source}]} | ({} if template is None else {"template": template})
    store = filled(folder / "store", *proved_tree("a"))
    with store.snapshot() as snapshot:
        export_mix(parse_mix(settings, folder=folder), folder / "out", snapshot=snapshot)
    text = (folder / "out" / "train.jsonl").read_text("utf-8")
    return sorted(map(json.loads, text.splitlines()), key=lambda line: line["depth"])


@pytest.mark.parametrize(
    ("template", "second"),
    [
        ({}, {"prompt": "h ⊢ a", "completion": "simp"}),
        (
            {"prompt": PROMPT, "completion": "{tactic}\n```"},
            {"prompt": PROMPT.replace("{state}", "h ⊢ a"), "completion": "simp\n```"},
        ),
        ({"form": "text", "prompt": "[GOAL]{state}[PROOFSTEP]"}, {"text": "[GOAL]h ⊢ a[PROOFSTEP]simp"}),
        (
            {"form": "messages", "prompt": "{theorem}: {state}", "system": "Prove {theorem}."},
            {
                "messages": [
                    {"role": "system", "content": "Prove a."},
                    {"role": "user", "content": "a: h ⊢ a"},
                    {"role": "assistant", "content": "simp"},
                ]
            },
        ),
    ],
)
def test_examples_are_put_into_the_words_that_trainers_read(
    tmp_path: Path, template: dict[str, Any], second: dict[str, Any]
):
    assert worded(tmp_path, template)[1] == {"theorem": "a", "depth": 1, "source": "s"} | second


@pytest.mark.parametrize(
    ("form", "second"),
    [
        ("prompt", {"prompt": "? h ⊢ a", "chosen": "simp", "rejected": "right"}),
        ("text", {"chosen": "? h ⊢ asimp", "rejected": "? h ⊢ aright"}),
        (
            "messages",
            {
                "prompt": [{"role": "user", "content": "? h ⊢ a"}],
                "chosen": [{"role": "assistant", "content": "simp"}],
                "rejected": [{"role": "assistant", "content": "right"}],
            },
        ),
    ],
)
def test_pairs_that_contrast_become_what_is_chosen_and_what_is_rejected(
    tmp_path: Path, form: str, second: dict[str, Any]
):
    line = worded(tmp_path, {"form": form, "prompt": "? {state}"}, kind="contrast")[1]
    assert {name: line[name] for name in second} == second
    assert not line.keys() & {"state", "positive", "negative"}
    assert (line["positive_after"], line["negative_after"]) == ("", "h ⊢ right a")


def test_a_model_is_asked_in_the_words_that_it_was_trained_on(tmp_path: Path):
    lines = worded(tmp_path, {"prompt": PROMPT})
    template = read_template(tmp_path / "out")
    assert template is not None
    assert template.prompt_of("h ⊢ a") == lines[1]["prompt"]
    chat = Template(form="messages", prompt=PROMPT, system="Be brief.")
    assert chat.prompt_of("⊢ b") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": PROMPT.replace("{state}", "⊢ b")},
    ]


def test_a_data_set_without_a_template_has_none(tmp_path: Path):
    assert worded(tmp_path, None)[1]["state"] == "h ⊢ a"
    assert read_template(tmp_path / "out") is None


def test_what_fills_a_field_is_not_filled_again_and_other_braces_stay():
    template = Template(prompt="{x | {state}} {theorem}", completion="by {tactic} {state}")
    record = {"theorem": "{state}", "state": "{tactic} {y}", "tactic": "exact {theorem}", "depth": 0}
    assert template.worded(record) == {
        "theorem": "{state}",
        "depth": 0,
        "prompt": "{x | {tactic} {y}} {state}",
        "completion": "by exact {theorem} {tactic} {y}",
    }


def test_a_secret_in_a_template_leaves_neither_in_lines_nor_in_the_manifest(tmp_path: Path):
    settings = {"seed": 1, "sources": [{"name": "s"}], "template": {"prompt": "hunter2000 {state}"}}
    redactor = Redactor(variables={"PASSWORD": "hunter2000"})
    with filled(tmp_path / "store", *proved_tree("a")).snapshot() as snapshot:
        export_mix(parse_mix(settings, folder=tmp_path), tmp_path / "out", snapshot=snapshot, redactor=redactor)
    assert not any(b"hunter2000" in path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert read_template(tmp_path / "out") is not None


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"prompt": "Go on."}, "lacks '{state}'"),
        ({"prompt": "{state} {tactic}"}, "which is the answer"),
        ({"completion": "simp"}, "the completion lacks '{tactic}'"),
        ({"system": "Be brief."}, "for the form 'messages' alone"),
        ({"form": "poem"}, "template.form"),
    ],
)
def test_what_is_no_template_is_refused(tmp_path: Path, template: dict[str, Any], message: str):
    with pytest.raises(StoreError) as caught:
        parse_mix({"seed": 1, "sources": [{"name": "s"}], "template": template}, folder=tmp_path)
    assert message in str(caught.value)
