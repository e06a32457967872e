"""What a solver prints: drained as bytes, kept in bounded memory."""

from collections import deque
from dataclasses import dataclass, field

MAX_LINES = 512
MAX_LINE_CHARS = 1024
MAX_PENDING_BYTES = 4096
MAX_TAIL_CHARS = 8192
CUT = "...[truncated]"


@dataclass(slots=True)
class LineRing:
    """The last lines of a stream, each cut to a bounded length; a stream without line breaks comes in cut pieces."""

    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=MAX_LINES))
    pending: bytes = b""

    def feed(self, data: bytes) -> list[str]:
        """Take in bytes, whatever they are; return the lines that they complete."""
        *whole, self.pending = (self.pending + data).split(b"\n")
        if len(self.pending) > MAX_PENDING_BYTES:
            whole.append(self.pending)
            self.pending = b""
        return self._keep(whole)

    def finish(self) -> list[str]:
        """Take the unfinished last line as a line."""
        whole, self.pending = ([self.pending] if self.pending else []), b""
        return self._keep(whole)

    def tail(self) -> str:
        """Return the end of the stream."""
        return "\n".join(self.lines)[-MAX_TAIL_CHARS:]

    def _keep(self, whole: list[bytes]) -> list[str]:
        lines = [_cut(line) for line in whole]
        self.lines.extend(lines)
        return lines


def _cut(line: bytes) -> str:
    text = line[: 4 * MAX_LINE_CHARS].decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= MAX_LINE_CHARS else text[:MAX_LINE_CHARS] + CUT
