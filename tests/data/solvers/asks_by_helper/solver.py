"""A solver as contestants write them: asks a model about every problem with the helper that the runner brings."""

# pyright: basic, reportMissingImports=false

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["JUDGE_MARATHON_LIB_DIR"])
from marathon_llm import call_llm

with Path(os.environ["JUDGE_MARATHON_MANIFEST"]).open(encoding="utf-8") as manifest:
    problems = [json.loads(line) for line in manifest]
with Path(os.environ["JUDGE_MARATHON_OUTPUT"]).open("a", encoding="utf-8") as output:
    for problem in problems:
        reply = call_llm(
            f"Does {problem['equation1']} imply {problem['equation2']}?",
            config={"model": "openai/gpt-oss-120b", "max_output_tokens": 512, "temperature": 0.0},
        )
        if "error" in reply:
            if "exhausted" in reply["error"]:
                break
            continue
        record = {"id": problem["id"], "verdict": "true", "code": reply["response"]}
        output.write(json.dumps(record, ensure_ascii=False) + "\n")
        output.flush()
