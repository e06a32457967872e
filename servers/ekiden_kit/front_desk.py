"""Serving over the standard streams, with a front desk that answers while the MCP SDK is still being imported.

Importing the SDK takes a second or more on a busy machine, and that is as long as some hosts wait for an optional
server. The first questions (`initialize` or `server/discover`, then `tools/list`) have fixed answers, so they are
rendered once from the real server (`ekiden_kit.listing`), packaged, and given from here with the standard library
alone. Meanwhile a thread imports the SDK and builds the server, which then hears the *whole* conversation from its
first line; its answers to what has been answered already are swallowed.
"""

import json
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_config.places import is_set
from ekiden_kit.conversation import Conversation
from ekiden_kit.desk import Desk, Listing
from ekiden_kit.table import ServerEntry
from ekiden_kit.wire import Lines, Wire

if TYPE_CHECKING:
    from ekiden_kit.build import EkidenServer

_SWITCH_INTERVAL_S = 0.0005
"""How soon the importing thread lets the desk have the interpreter; the usual 5 ms would be felt at every answer."""


def serve(served: Sequence[ServerEntry], read_listing: Callable[[], Listing | None] | None = None) -> int:
    """Serve one or several servers over the standard streams until the input closes or a signal comes.

    Args:
        served: The servers; several are served as one.
        read_listing: Gives what the desk may answer; by default what was packaged for the server.

    Returns:
        The exit status.
    """
    wire = Wire.claim()
    if os.isatty(wire.source):
        sys.stderr.write("Waiting for an MCP client on standard input. People use `ekiden call`; Ctrl-C ends this.\n")
        sys.stderr.flush()
    usual_interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    loading = _Loading(served)
    desk = Desk(read_listing or (lambda: packaged_listing(served)), lambda: not is_set("servers"))
    conversation = _attend(wire, desk, loading)
    if conversation is None:  # the client has left; the import is not worth waiting for
        sys.stderr.flush()
        os._exit(0)
    server = loading.result()
    sys.setswitchinterval(usual_interval)

    from ekiden_kit.stdio import serve_wire

    return serve_wire(server, wire, conversation)


def packaged_listing(served: Sequence[ServerEntry]) -> Listing | None:
    """Return the packaged listing of a server, or `None` when several are served as one or none was rendered."""
    # Not by `importlib.resources`, whose import alone takes longer than all the rest of the desk.
    file = Path(__file__).parent / "listings" / f"{served[0].name}.json"
    if len(served) > 1 or not file.is_file():
        return None
    return Listing(**json.loads(file.read_text(encoding="utf-8")))


class _Loading:
    """A thread that imports the SDK and builds the server."""

    def __init__(self, served: Sequence[ServerEntry]) -> None:
        self._served = served
        self._server: EkidenServer | None = None
        self._error: BaseException | None = None
        self.done, self._signal = os.pipe()
        self._thread = threading.Thread(target=self._load, name="loading", daemon=True)

    def start(self) -> None:
        """Start, unless started."""
        if self._thread.ident is None:
            self._thread.start()

    def _load(self) -> None:
        try:
            from ekiden_config import load_settings
            from ekiden_kit.build import build_server

            self._server = build_server([entry.load() for entry in self._served], load_settings())
        except BaseException as error:  # noqa: BLE001  # raised again by `result`, in the main thread
            self._error = error
        os.close(self._signal)

    def result(self) -> "EkidenServer":
        """Wait for the server.

        Raises:
            BaseException: Whatever went wrong while it was imported and built.
        """
        self._thread.join()
        os.close(self.done)
        if self._error is not None:
            raise self._error
        assert self._server is not None
        return self._server


def _attend(wire: Wire, desk: Desk, loading: _Loading) -> Conversation | None:
    """Answer what can be answered until the server is loaded; `None` when the client left before."""
    conversation = Conversation()
    lines = Lines()
    # A question that is there already is answered before the import takes its share of the processor.
    patience_s: float | None = 0.0
    while True:
        ready, _, _ = select.select([wire.source, loading.done], [], [], patience_s)
        if wire.source in ready:
            chunk = wire.read()
            if not chunk or not _hear(lines.feed(chunk), conversation, desk, wire):
                return None
        loading.start()
        patience_s = None
        if loading.done in ready:
            conversation.rest = lines.rest
            return conversation


def _hear(lines: Sequence[bytes], conversation: Conversation, desk: Desk, wire: Wire) -> bool:
    """Note lines and answer what can be answered; `False` when the client no longer listens."""
    for line in lines:
        conversation.lines.append(line)
        if (known := desk.answer(line)) is None:
            continue
        identity, answer = known
        conversation.answered.append(identity)
        try:
            while answer:
                answer = answer[os.write(wire.sink, answer) :]
        except ConnectionError:
            return False
    return True
