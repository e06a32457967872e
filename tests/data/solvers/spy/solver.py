"""A solver that looks for what it should not see and reports it: keys, labels, other processes, places that last."""

import contextlib
import json
import os
from pathlib import Path

OWN = Path(os.environ["JUDGE_MARATHON_SCRATCH_DIR"])
RUN = OWN.parent.parent.parent


def read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def leave_something(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / "left-behind-by-spy").touch()


def main() -> None:
    manifest = Path(os.environ["JUDGE_MARATHON_MANIFEST"]).read_text(encoding="utf-8")
    records = [json.loads(line) for line in manifest.splitlines()]
    processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    home = Path.home()
    report = {
        "environment": sorted(os.environ),
        "keys": sorted({key for record in records for key in record}),
        "secret_in_proc": any(b"upstream-secret" in read(entry / "environ") for entry in processes),
        "processes": len(processes),
        "labels": b'"answer"' in read(RUN / "manifest.jsonl"),
        "label_files": [path for path in records[0]["difficulty"].split("|") if b'"answer"' in read(Path(path))],
        "run_folder": names(RUN),
        "scratch": names(OWN),
        "temporary": [name for name in names(Path("/tmp")) if "left-behind" in name],
        "home": names(home),
        "here": names(Path.cwd()),
    }
    for folder in (RUN, Path("/tmp"), home, Path(os.environ["TMPDIR"]), OWN, Path.cwd()):
        leave_something(folder)
    (OWN / "report.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
