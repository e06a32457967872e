"""Problem files: JSON Lines and JSON arrays."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge import JudgeConfigurationError, Problem, read_problems

PROBLEMS = Path(__file__).parents[2] / "data" / "problems"


def record(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "eq1_id": 1, "eq2_id": 2, "equation1": "x = x", "equation2": "x = y", **more}


def line(name: str, **more: object) -> str:
    return json.dumps(record(name, **more), ensure_ascii=False)


def ids(source: bytes | Path) -> list[str]:
    return [problem.id for problem in read_problems(source)]


def refusal(source: bytes | Path) -> str:
    with pytest.raises(JudgeConfigurationError) as caught:
        read_problems(source)
    return str(caught.value)


@pytest.mark.parametrize(("name", "count"), [("normal.jsonl", 1000), ("normal_100.jsonl", 100), ("sample_20.json", 20)])
def test_the_public_problem_sets_are_read_whole(name: str, count: int):
    problems = read_problems(PROBLEMS / name)
    assert len({problem.id for problem in problems}) == count
    assert problems[0] == Problem.read(problems[0].model_dump(exclude_unset=True))


def test_a_text_is_an_array_if_its_first_sign_says_so():
    rows = f" \r\n\t[{line('a')},\n{line('b')}]\n"
    assert ids(rows.encode()) == ["a", "b"] == ids(f"{line('a')}\n\n  \r\n{line('b')}".encode())


@pytest.mark.parametrize("text", [b"", b" \n\t\r\n", b"[]", b"\n[ ]\n"])
def test_an_empty_manifest_holds_no_problems(text: bytes):
    assert read_problems(text) == ()


def test_lines_end_at_line_feeds_and_nowhere_else():
    names = ["a\u2028b", "c\u2029d", "e\u0085f", "g\x0bh"]
    text = "\r\n".join(json.dumps(record(name), ensure_ascii=name == "g\x0bh") for name in names)
    assert ids(text.encode()) == names


def test_an_id_that_occurs_twice_is_refused():
    text = f"{line('a')}\n{line('b')}\n\n{line('a')}".encode()
    assert refusal(text) == "manifest:4: the id 'a' was used on line 1; give each problem its own id."


FAULTS: dict[str, tuple[bytes, str]] = {
    "bad UTF-8": (b"\n\xff", "manifest:2: byte 1 (0xff) is not UTF-8; write the text in UTF-8."),
    "byte order mark": (
        b"\xef\xbb\xbf[]",
        "manifest:1: the text starts with a byte order mark; save it without one.",
    ),
    "syntax": (
        b"\n{\n",
        "manifest:2: no valid JSON: expecting property name enclosed in double quotes at column 2.",
    ),
    "nesting": (b'{"id":' + b"[" * 100_000, "manifest:1: brackets are nested more than 64 deep."),
    "nesting in an array": (b"[" * 100_000, "manifest:1: brackets are nested more than 64 deep."),
    "giant integer": (
        line("a").replace("1", "1" * 5000).encode(),
        "manifest:1: the integer 111111111111... has 5000 digits; at most 600 are read.",
    ),
    "lone surrogate": (
        b'{"id": "\\ud800"}',
        "manifest:1: the string '\\ud800' holds a lone surrogate, which no text can hold.",
    ),
    "repeated key": (b'{"id": "a", "id": "b"}', "manifest:1: the key 'id' occurs twice in one object."),
    "not a number": (b'{"id": NaN}', "manifest:1: NaN is no JSON value."),
    "no object": (b"\n\n7", "manifest:3: a problem is a JSON object, not 7."),
    "element of an array": (
        f"[\n{line('a')},\n\n{line('b', eq1_id=None)}]".encode(),
        "manifest:4: the problem 'b' is refused. The key 'eq1_id' is None: input should be a valid integer.",
    ),
    "fault in an element": (
        f'[\n{line("a")},\n\n{{"a": 1, "a": 2}}]'.encode(),
        "manifest:4: the key 'a' occurs twice in one object.",
    ),
    "array without an end": (
        f"[\n{line('a')}\n".encode(),
        "manifest:3: no valid JSON: expected ',' or ']' at line 3, column 1.",
    ),
    "text after an array": (b"[]\n[]", "manifest:2: no valid JSON: expected the end of the text at line 2, column 1."),
    "trailing comma": (b"[1,]", "manifest:1: a problem is a JSON object, not 1."),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_with_its_line(case: str):
    text, message = FAULTS[case]
    assert refusal(text) == message


def test_a_manifest_above_the_limit_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(60 * 1024**2)
    message = f"{path}: 62,914,560 bytes exceed the manifest limit of 52,428,800 bytes; split the manifest."
    assert refusal(path) == message


def test_what_is_no_ordinary_file_is_refused_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe").endswith("/pipe: this is no ordinary file; name a JSON or JSON Lines file.")
    assert refusal(tmp_path).endswith(": the manifest cannot be read: Is a directory.")
    assert refusal(tmp_path / "none").endswith("/none: the manifest cannot be read: No such file or directory.")


valid_text = f"[{line('a')},{line('b')}]".encode()


@given(st.binary(max_size=40), st.integers(0, len(valid_text)), st.integers(0, 5), st.booleans())
def test_mutated_manifests_raise_configuration_errors_only(junk: bytes, place: int, cut: int, as_lines: bool):
    text = valid_text[1:-1].replace(b"},", b"}\n") if as_lines else valid_text
    try:
        read_problems(text[:place] + junk + text[place + cut :])
    except JudgeConfigurationError as error:
        assert str(error).startswith("manifest:")  # noqa: PT017  # either outcome is right
