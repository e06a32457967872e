"""Pieces of solvers that ask language models, in each of the ways that a solver may."""

HELPER = """
sys.path.insert(0, os.environ["JUDGE_MARATHON_LIB_DIR"])
import marathon_llm
from marathon_llm import call_llm
"""
"""Finds `call_llm` as contestants do."""

SDK = """
from openai import APIStatusError, OpenAI
client = OpenAI(max_retries=0)
def ask(content, **fields):
    try:
        messages = [{"role": "user", "content": content}]
        reply = client.chat.completions.create(model="m", messages=messages, **fields)
        return reply.choices[0].message.content
    except APIStatusError as error:
        return error.status_code
"""
"""Finds `ask`, which returns the model's text or the status of an error, by the library of OpenAI."""

WAIT_FOR_EVER = "\nwhile True: signal.pause()\n"
