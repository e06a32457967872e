"""Serves the tally server over the standard streams, with the front desk in front: `tally_main.py [LISTING]`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from ekiden_kit.desk import Listing
from ekiden_kit.front_desk import serve
from ekiden_kit.table import ServerEntry

TALLY = ServerEntry(name="tally", definition="servers.kit.tally:SERVER", summary="Counts and adds.")

if __name__ == "__main__":
    rendered = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else "null"
    sys.exit(serve([TALLY], lambda: Listing(**json.loads(rendered)) if rendered != "null" else None))
