"""A solver that tries to leave processes behind: children, daemons, sessions of their own, all deaf to SIGTERM."""

import json
import os
import signal
from pathlib import Path

with Path(os.environ["JUDGE_MARATHON_MANIFEST"]).open(encoding="utf-8") as manifest:
    ids = [json.loads(line)["id"] for line in manifest]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
ready_reader, ready_writer = os.pipe()


def stay() -> None:
    os.write(ready_writer, b".")
    while True:
        signal.pause()


def daemon() -> None:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        stay()
    os._exit(0)


for start in (stay, daemon, daemon):
    if os.fork() == 0:
        start()
for _ in range(3):
    os.read(ready_reader, 1)
with Path(os.environ["JUDGE_MARATHON_OUTPUT"]).open("a", encoding="utf-8") as output:
    output.write(json.dumps({"id": ids[0], "verdict": "maybe", "code": "all started"}) + "\n")
stay()
