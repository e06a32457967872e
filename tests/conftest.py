"""What holds for all tests: property tests are not timed, no verdict of an earlier run is used again, no run stored."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine would make them fail
settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="session")
def _heard_interrupts() -> None:  # pyright: ignore[reportUnusedFunction]
    """Let interrupts reach the programs that tests start, also where whoever runs the tests ignores them (`nohup`)."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Keep verdicts of the kernels in a folder of this session's, for the programs that tests start too; no store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EKIDEN_JUDGE_CACHE_DIR", str(tmp_path_factory.mktemp("verdicts")))
        patch.setenv("EKIDEN_STORE_MARATHON", "false")
        patch.setenv("EKIDEN_STORE_SOLO", "false")
        yield
