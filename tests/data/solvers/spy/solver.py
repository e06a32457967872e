"""A solver that looks for what it should not see and reports it: keys, labels, other processes, places that last."""

import glob
import json
import os

OWN = os.environ["JUDGE_MARATHON_SCRATCH_DIR"]


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def can_write(folder: str) -> bool:
    path = os.path.join(folder, "left-behind-by-spy")
    try:
        with open(path, "w", encoding="utf-8"):
            return True
    except OSError:
        return False


run_folder = os.path.dirname(os.path.dirname(os.path.dirname(OWN)))
processes = [name for name in os.listdir("/proc") if name.isdigit()]
records = [json.loads(line) for line in open(os.environ["JUDGE_MARATHON_MANIFEST"], encoding="utf-8")]
report = {
    "environment": sorted(os.environ),
    "keys": sorted({key for record in records for key in record}),
    "secret_in_proc": any(b"upstream-secret" in read(path) for path in glob.glob("/proc/[0-9]*/environ")),
    "processes": len(processes),
    "labels": b'"answer"' in read(os.path.join(run_folder, "manifest.jsonl")),
    "label_files": [path for path in records[0].get("difficulty", "").split("|") if b'"answer"' in read(path)],
    "parent_listing": sorted(os.listdir(run_folder)),
    "scratch": sorted(os.listdir(OWN)),
    "temporary": sorted(name for name in os.listdir("/tmp") if "left-behind" in name),
    "home": sorted(os.listdir(os.environ["HOME"])),
    "here": sorted(os.listdir(".")),
}
for folder in (run_folder, "/tmp", os.environ["HOME"], os.environ["TMPDIR"], OWN, "."):
    can_write(folder)
with open(os.path.join(OWN, "report.json"), "w", encoding="utf-8") as file:
    json.dump(report, file)
