"""Templates: how an example is put into words for a model, the same in training and when the model is asked."""

import hashlib
import re
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_FIELDS = re.compile(r"\{(state|tactic|theorem)\}")
_RAW = ("state", "tactic", "positive", "negative")

Message = dict[str, str]


class Template(BaseModel):
    """How an example is put into words. `{state}`, `{theorem}` and `{tactic}` stand for what it holds; no other braces.

    A program that asks the model takes its prompts from here as well, so that they are those it was trained on.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    form: Literal["prompt", "messages", "text"] = Field(
        default="prompt",
        description="What trainers read: `prompt` and `completion`, `messages` of a chat, or one `text`. Of pairs that "
        "contrast: `chosen` and `rejected` instead.",
    )
    prompt: str = Field(default="{state}", description="What the model is asked.")
    completion: str = Field(default="{tactic}", description="What it is to answer.")
    system: str = Field(default="", description="What it is told before all else; in messages only.")

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        if "{state}" not in self.prompt:
            raise ValueError("the prompt lacks '{state}'")
        if "{tactic}" in self.prompt or "{tactic}" in self.system:
            raise ValueError("the prompt holds '{tactic}', which is the answer")
        if "{tactic}" not in self.completion:
            raise ValueError("the completion lacks '{tactic}'")
        if self.system and self.form != "messages":
            raise ValueError("'system' is for the form 'messages' alone; say it in the prompt")
        return self

    @property
    def sha256(self) -> str:
        """The hash of all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def prompt_of(self, state: str, theorem: str = "") -> str | list[Message]:
        """Return what a model is asked in a state: a text, or the messages of a chat.

        Args:
            state: The proof state.
            theorem: The name of the theorem.
        """
        values = {"state": state, "theorem": theorem}
        asked = _filled(self.prompt, values)
        if self.form != "messages":
            return asked
        told = [{"role": "system", "content": _filled(self.system, values)}] if self.system else []
        return [*told, {"role": "user", "content": asked}]

    def worded(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the line of an example or of a pair that contrasts in these words."""
        rest = {name: value for name, value in record.items() if name not in _RAW}
        prompt = self.prompt_of(record["state"], record["theorem"])
        if "tactic" in record:
            return rest | self._answered(prompt, record, record["tactic"])
        chosen, rejected = (self._answer(record, record[side]) for side in ("positive", "negative"))
        if isinstance(prompt, list):
            return rest | {"prompt": prompt, "chosen": [_said(chosen)], "rejected": [_said(rejected)]}
        if self.form == "text":
            return rest | {"chosen": prompt + chosen, "rejected": prompt + rejected}
        return rest | {"prompt": prompt, "chosen": chosen, "rejected": rejected}

    def _answered(self, prompt: str | list[Message], record: dict[str, Any], tactic: str) -> dict[str, Any]:
        answer = self._answer(record, tactic)
        if isinstance(prompt, list):
            return {"messages": [*prompt, _said(answer)]}
        return {"text": prompt + answer} if self.form == "text" else {"prompt": prompt, "completion": answer}

    def _answer(self, record: dict[str, Any], tactic: str) -> str:
        return _filled(self.completion, {"state": record["state"], "theorem": record["theorem"], "tactic": tactic})


def _said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _filled(text: str, values: dict[str, str]) -> str:
    """Return a text with its fields filled; what they are filled with is not looked at again."""
    return _FIELDS.sub(lambda match: values.get(match[1], match[0]), text)
