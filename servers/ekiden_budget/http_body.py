"""The bodies of HTTP/1.1 answers, however their end is told: by a length, by chunks, or with the connection."""

from typing import Protocol

LONGEST_LINE = 16_384
_HEX = frozenset(b"0123456789abcdefABCDEF")


class BrokenBodyError(ValueError):
    """A body that is not what HTTP/1.1 says a body is."""


class BodyDecoder(Protocol):
    """Takes the bytes of a connection and gives those of the body.

    Attributes:
        done: Whether the body is whole.
        spare: Bytes that came after its end.
    """

    done: bool
    spare: bytes

    def feed(self, data: bytes) -> bytes:
        """Take bytes in and return those of the body.

        Raises:
            BrokenBodyError: They cannot be a body.
        """
        ...

    def end(self) -> None:
        """Hear that the connection has ended.

        Raises:
            BrokenBodyError: The body is not whole.
        """
        ...


class BodyOfLength:
    """A body whose length is known."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.spare = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes in and return those of the body."""
        body, self.spare = data[: self._left], data[self._left :]
        self._left -= len(body)
        self.done = self._left == 0
        return body

    def end(self) -> None:
        """Hear that the connection has ended."""
        if not self.done:
            raise BrokenBodyError(f"the connection ended {self._left} bytes before the end of the body")


class BodyToTheEnd:
    """A body that ends with its connection."""

    def __init__(self) -> None:
        self.done = False
        self.spare = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes in and return those of the body."""
        return data

    def end(self) -> None:
        """Hear that the connection has ended."""
        self.done = True


class BodyInChunks:
    """A body in chunks. All chunks that came in one piece leave in one piece."""

    def __init__(self) -> None:
        self.done = False
        self.spare = b""
        self._held = b""
        self._left = 0  # bytes of the chunk under way
        self._between = False  # whether the line end after a chunk is due
        self._trailing = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes in and return those of the body."""
        held, at, pieces = self._held + data, 0, list[bytes]()
        while not self.done:
            if self._left:
                piece = held[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                pieces.append(piece)
                self._between = not self._left
                if self._left:
                    break
            end = held.find(b"\r\n", at)
            if end < 0:
                if len(held) - at > LONGEST_LINE:
                    raise BrokenBodyError("a line between chunks does not end")
                break
            line, at = held[at:end], end + 2
            self._read_line(line)
        self._held = b"" if self.done else held[at:]
        self.spare = held[at:] if self.done else b""
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def end(self) -> None:
        """Hear that the connection has ended."""
        if not self.done:
            raise BrokenBodyError("the connection ended before the last chunk")

    def _read_line(self, line: bytes) -> None:
        if self._trailing:
            self.done = not line
        elif self._between:
            if line:
                raise BrokenBodyError(f"a chunk is longer than it says: {line[:20]!r}")
            self._between = False
        else:
            size = line.partition(b";")[0].strip()
            if not size or len(size) > 16 or not _HEX.issuperset(size):
                raise BrokenBodyError(f"no size of a chunk: {line[:20]!r}")
            self._left = int(size, 16)
            self._trailing = not self._left
