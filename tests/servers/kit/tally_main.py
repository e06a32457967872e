"""Serves the tally server: `tally_main.py LISTING` over the standard streams, `tally_main.py --http` over HTTP.

LISTING is the file of a rendered listing for the front desk, or '-' for none.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from ekiden_kit.desk import Listing
from ekiden_kit.front_desk import serve
from ekiden_kit.table import ServerEntry

TALLY = ServerEntry(name="tally", definition="servers.kit.tally:SERVER", summary="Counts and adds.")


def main(source: str) -> int:
    if source == "--http":
        from ekiden_config import load_settings
        from ekiden_kit.http import serve_http

        return serve_http([TALLY.load()], load_settings({"http": {"port": 0}}))
    if source == "-":
        return serve([TALLY], lambda: None)
    return serve([TALLY], lambda: Listing(**json.loads(Path(source).read_text(encoding="utf-8"))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
