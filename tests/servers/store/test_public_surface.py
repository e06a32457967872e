"""What programs may name, and what it costs to name it."""

import subprocess
import sys

import pytest

import ekiden_store
from ekiden_store import errors


@pytest.mark.parametrize("name", ekiden_store.__all__)
def test_every_public_name_is_there_under_its_own_name(name: str):
    found = getattr(ekiden_store, name)
    assert getattr(found, "__name__", name) in {name, "Literal"}
    assert name in dir(ekiden_store)


def test_every_error_is_public_and_has_one_base():
    for name in (name for name in dir(errors) if name.endswith("Error")):
        assert issubclass(getattr(ekiden_store, name), ekiden_store.StoreError)


def test_a_name_that_is_not_there_is_told_as_everywhere():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ekiden_store.nothing  # pyright: ignore[reportAttributeAccessIssue]  # that is what is tested


@pytest.mark.parametrize(
    "program",
    [
        "import ekiden_store",
        "import ekiden_store.server",
        "import ekiden_orchestrator.cli",
        "from pathlib import Path\n"
        "from tempfile import TemporaryDirectory\n"
        "from ekiden_store import Step, Store\n"
        "with TemporaryDirectory() as folder, Store(Path(folder)).writer() as writer:\n"
        "    writer.append([Step(theorem_name='t', kind='tactic')])",
    ],
)
def test_nothing_waits_for_pyarrow_that_does_not_read(program: str):
    told = "import sys\nprint(sorted({'pyarrow', 'pandas', 'duckdb', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{told}"], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
