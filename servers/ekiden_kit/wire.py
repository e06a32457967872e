"""The standard streams as a protocol wire: claimed at the start, so that nothing else can read or write them."""

import os
from typing import NamedTuple

_CHUNK = 1 << 16


class Wire(NamedTuple):
    """The two descriptors that carry the protocol."""

    source: int
    sink: int

    @classmethod
    def claim(cls) -> "Wire":
        """Take standard input and output for the protocol.

        From then on descriptor 0 reads nothing and descriptor 1 is standard error, so a stray `print`, a C library or
        a child process can neither steal a message nor garble one.
        """
        wire = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return wire

    def read(self) -> bytes:
        """Return what has arrived, after waiting for it; nothing when the client has left."""
        try:
            return os.read(self.source, _CHUNK)
        except ConnectionResetError:  # of a socket, as Node uses: the client left answers unread
            return b""


class Lines:
    """Bytes in, complete lines out."""

    def __init__(self, rest: bytes = b"") -> None:
        self._pending = bytearray(rest)
        self._searched = 0

    @property
    def rest(self) -> bytes:
        """Return what came after the last complete line."""
        return bytes(self._pending)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add bytes and return the non-blank lines that they complete, without their ends."""
        self._pending += chunk
        end = self._pending.rfind(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._pending)
            return []
        complete = bytes(self._pending[:end])
        del self._pending[: end + 1]
        self._searched = len(self._pending)
        return [line for line in complete.split(b"\n") if line.strip()]
