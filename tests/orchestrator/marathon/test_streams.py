"""What a solver prints is kept in bounded memory, whatever it is."""

from hypothesis import given
from hypothesis import strategies as st

from ekiden_orchestrator.marathon.streams import CUT, MAX_LINE_CHARS, MAX_LINES, MAX_PENDING_BYTES, LineRing


@given(st.lists(st.binary(max_size=5000), max_size=30))
def test_any_bytes_are_kept_within_bounds(chunks: list[bytes]) -> None:
    ring = LineRing()
    for chunk in chunks:
        ring.feed(chunk)
    ring.finish()
    assert len(ring.lines) <= MAX_LINES
    assert all(len(line) <= MAX_LINE_CHARS + len(CUT) for line in ring.lines)
    assert len(ring.pending) <= MAX_PENDING_BYTES
    assert len(ring.tail()) <= 8192


@given(st.text("ab\n", max_size=200), st.integers(1, 50))
def test_short_lines_come_out_as_they_went_in_however_they_were_cut_up(text: str, step: int) -> None:
    ring = LineRing()
    data = text.encode()
    lines = [line for start in range(0, len(data), step) for line in ring.feed(data[start : start + step])]
    assert lines + ring.finish() == text.removesuffix("\n").split("\n") * bool(text)


def test_a_long_line_is_cut_and_marked() -> None:
    ring = LineRing()
    assert ring.feed(b"x" * 2000 + b"\n") == ["x" * MAX_LINE_CHARS + CUT]


def test_a_stream_without_line_breaks_comes_in_cut_pieces() -> None:
    ring = LineRing()
    for _ in range(1000):
        ring.feed(b"x" * 1000)
    assert set(ring.lines) == {"x" * MAX_LINE_CHARS + CUT}
