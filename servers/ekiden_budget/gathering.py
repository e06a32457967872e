"""Writes that are gathered: what one turn of the event loop writes goes out in one piece."""

import asyncio
from collections.abc import Iterable


class GatheredWrites(asyncio.Transport):
    """A transport in front of another.

    A web server writes the header and the body of an answer one after the other, and each write wakes its reader.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send data at the end of this turn."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send several pieces at the end of this turn."""
        for data in list_of_data:
            self.write(data)

    def close(self) -> None:
        """Send what there is, and close."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close without sending what there is."""
        self._pieces.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Tell whether the end has begun."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Read nothing for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Return what the other transport knows."""
        return self._transport.get_extra_info(name, default)

    def _send(self) -> None:
        pieces, self._pieces = self._pieces, []
        if pieces and not self._transport.is_closing():
            self._transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))
