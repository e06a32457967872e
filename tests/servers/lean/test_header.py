import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_lean.errors import HeaderError
from ekiden_lean.header import Header, read_header


@pytest.mark.parametrize(
    ("text", "imports", "body"),
    [
        ("", (), ""),
        ("def submission : Goal := h", (), "def submission : Goal := h"),
        ("import JudgeProblem\ndef a := 1", ("JudgeProblem",), "                   \ndef a := 1"),
        ("import A.B\nimport  C", ("A.B", "C"), "          \n         "),
        ("import A import B\r\nopen A", ("A", "B"), "                 \r\nopen A"),
        ("-- import X\nimport A", ("A",), "-- import X\n        "),
        ("/- import X /- nested -/ -/ import A", ("A",), "/- import X /- nested -/ -/         "),
        ("/-- of a command -/ import A", (), "/-- of a command -/ import A"),
        ("prelude\nimport Init", ("Init",), "       \n           "),
        ("import «A».«b c»", ("A.b c",), "                "),
        ("importA", (), "importA"),
        ("public def a := 1", (), "public def a := 1"),
        ("meta def a := 1", (), "meta def a := 1"),
        ("import A -- the last\n#eval 1", ("A",), "         -- the last\n#eval 1"),
    ],
)
def test_a_header_is_read_and_blanked(text: str, imports: tuple[str, ...], body: str):
    assert read_header(text) == Header(imports, body)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("module\nimport A", "cannot be a module"),
        ("public import A", "cannot be a module"),
        ("import A\npublic meta import B", "cannot be a module"),
        ("meta import A", "cannot be a module"),
        ("import all A", "cannot `import all`"),
        ("import", "names no module"),
        ("import A.", "names no module"),
        ("import «A.B»", "is no name of a module"),
        ("/- for ever import A", "has no end"),
    ],
)
def test_a_header_that_no_plain_file_has_is_refused(text: str, reason: str):
    with pytest.raises(HeaderError, match=reason):
        read_header(text)


@given(st.text(alphabet="import prelude module /-\n«».AB-all", max_size=60))
def test_positions_stay_what_they_were(text: str):
    try:
        body = read_header(text).body
    except HeaderError:
        return
    assert len(body) == len(text)
    assert [i for i, sign in enumerate(text) if sign == "\n"] == [i for i, sign in enumerate(body) if sign == "\n"]
