"""A solver as contestants write them: asks a model about every problem with the library of OpenAI."""

import json
import os
from pathlib import Path

from openai import APIStatusError, OpenAI

client = OpenAI()
with Path(os.environ["JUDGE_MARATHON_MANIFEST"]).open(encoding="utf-8") as manifest:
    problems = [json.loads(line) for line in manifest]
with Path(os.environ["JUDGE_MARATHON_OUTPUT"]).open("a", encoding="utf-8") as output:
    for problem in problems:
        question = f"Does {problem['equation1']} imply {problem['equation2']}?"
        try:
            reply = client.chat.completions.create(
                model="openai/gpt-oss-120b",
                messages=[{"role": "user", "content": question}],
                max_tokens=512,
                temperature=0.0,
            )
        except APIStatusError as error:
            if error.status_code == 402:
                break
            continue
        record = {"id": problem["id"], "verdict": "true", "code": reply.choices[0].message.content}
        output.write(json.dumps(record, ensure_ascii=False) + "\n")
        output.flush()
