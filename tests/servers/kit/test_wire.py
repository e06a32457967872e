"""Bytes to lines."""

from hypothesis import given
from hypothesis import strategies as st

from ekiden_kit.wire import Lines


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"a\nb", b"{}\n\n"])))
def test_lines_do_not_depend_on_how_the_bytes_arrive(chunks: list[bytes]) -> None:
    lines = Lines()
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    *complete, rest = b"".join(chunks).split(b"\n")
    assert found == [line for line in complete if line.strip()]
    assert lines.rest == rest


@given(st.binary(), st.binary())
def test_reading_goes_on_from_where_another_reader_stopped(before: bytes, after: bytes) -> None:
    first = Lines()
    second_half = first.feed(before)
    second_half += Lines(first.rest).feed(after)
    assert second_half == Lines().feed(before + after)
