"""Programs under a warden that mean no harm: what they get, what is told of them, what ends them."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ekiden_warden import ConfinedProcess, Enforced, Isolation, WardenError, run_confined
from servers.warden.cell import Cell


def test_a_program_gets_its_environment_and_no_other(
    cell: Cell, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of the owner")
    environment = {"NAME": "välue\n\udcff", "LC_CTYPE": "C.UTF-8"}
    source = "import os, json, sys; print(json.dumps([dict(os.environ), os.getcwd(), sys.stdin.read()]))"
    found = cell.ask(source, environment=environment, isolations=[isolation])
    assert found == [environment, str(cell.inside), ""]


def test_what_a_program_says_and_how_it_ends_is_told(cell: Cell, isolation: Isolation) -> None:
    source = "import sys; print('out'); sys.stderr.write('error'); sys.exit(3)"
    done = cell.run(source, isolations=[isolation])
    assert (done.exit_code, done.stdout, done.stderr_tail, done.ended) == (3, b"out\n", "error", "exit")
    assert done.enforced.isolation == isolation


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is only the process group")
def test_what_does_not_hold_is_not_claimed(cell: Cell) -> None:
    with cell.start("", isolations=["subreaper"]) as process:
        assert process.enforced == Enforced("subreaper", files=False, network=False, tree=False)


def test_without_user_namespaces_a_probe_says_what_is_lost_and_why() -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
    program = "from ekiden_warden import probe; print(probe())"
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{forbid} && exec "$0" -c "$1"', sys.executable]
    if shutil.which("unshare") is None or subprocess.run([*inside, "1"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces, or their limits, are out of reach here")
    found = subprocess.run([*inside, program], capture_output=True, text=True, check=True, timeout=60).stdout
    assert (
        "isolation='subreaper', files=False, network=False, tree=False, refused={'confined': '[Errno 28] unshare"
        in found
    )


def test_a_program_that_may_use_the_network_is_not_said_to_be_cut_off(cell: Cell, here: Enforced) -> None:
    with cell.start("", network=True) as process:
        assert process.enforced == dataclasses.replace(here, network=False)


def test_a_program_that_a_signal_ended_has_its_number(cell: Cell) -> None:
    assert cell.run("import os; os.abort()").exit_code == -signal.SIGABRT
    assert list(cell.inside.iterdir()) == [], "no core file"


def test_a_bare_name_is_sought_on_the_path_of_its_environment(cell: Cell) -> None:
    done = run_confined(["true"], environment={"PATH": os.defpath}, directory=cell.inside, time_limit_s=30)
    assert done.exit_code == 0


@pytest.mark.parametrize("argv", [["no-such-program"], ["/no/such/program"]])
def test_a_missing_program_is_named(cell: Cell, argv: list[str]) -> None:
    with pytest.raises(WardenError, match=f"no program {argv[0]!r}"):
        ConfinedProcess(argv, environment={}, directory=cell.inside)


def test_a_missing_folder_is_named(cell: Cell) -> None:
    with pytest.raises(WardenError, match="no folder '/no/such/folder'"):
        ConfinedProcess(["true"], environment={}, directory=cell.inside, writes=[Path("/no/such/folder")])


def test_a_file_that_is_no_program_is_refused(cell: Cell) -> None:
    file = cell.inside / "text"
    file.write_text("no program")
    file.chmod(0o755)
    with pytest.raises(WardenError, match=r"could not be started: .*Exec format error"):
        ConfinedProcess([str(file)], environment={}, directory=cell.inside)


def test_a_conversation_through_the_standard_input(cell: Cell) -> None:
    source = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)"
    with cell.start(source, stdin=True) as process:
        assert process.stdin is not None
        for word in (b"first", b"second"):
            process.stdin.write(word + b"\n")
            assert os.read(process.stdout_fd, 100) == word[::-1] + b"\n"
        process.stdin.close()
        assert os.read(process.stdout_fd, 100) == b""
        assert process.wait(30) == 0


def test_waiting_ends_with_the_time_and_killing_ends_the_program(cell: Cell, isolation: Isolation) -> None:
    source = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
    with cell.start(source, isolations=[isolation]) as process:
        assert os.read(process.stdout_fd, 10) == b"1\n"
        assert process.wait(0.01) is None
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
    process.close()
    process.kill()
    assert process.wait(0) == -signal.SIGKILL


def test_usage_counts_the_whole_tree_ended_processes_too(cell: Cell, isolation: Isolation) -> None:
    source = """
import os, time
def burn(seconds):
    while time.process_time() < seconds: pass
if os.fork() == 0:
    burn(0.3)
    os._exit(0)
os.wait()
if os.fork() == 0:
    block = bytearray(100_000_000)
    burn(0.3)
    print(1, flush=True)
    time.sleep(60)
time.sleep(60)
"""
    with cell.start(source, isolations=[isolation]) as process:
        assert os.read(process.stdout_fd, 10) == b"1\n"
        usage = process.usage()
        assert 0.55 < usage.cpu_s < 5
        assert 100_000_000 < usage.rss_bytes < 300_000_000
        process.kill()
        process.wait()
        assert process.usage().cpu_s >= usage.cpu_s


def test_a_program_that_takes_too_long_is_ended(cell: Cell) -> None:
    done = cell.run("import time; print(1, flush=True); time.sleep(60)", time_limit_s=1)
    assert (done.ended, done.exit_code) == ("time", None)


def test_a_program_that_computes_too_long_is_ended(cell: Cell) -> None:
    done = cell.run("while True: pass", cpu_limit_s=0.5)
    assert (done.ended, done.exit_code) == ("cpu", None)
    assert done.cpu_s > 0.5


def test_processor_time_of_children_that_nobody_waits_for_counts(cell: Cell) -> None:
    source = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.3: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass
"""
    assert cell.run(source, cpu_limit_s=1).ended == "cpu"


def test_the_output_that_is_kept_is_bounded(cell: Cell) -> None:
    source = "import sys\nwhile True: sys.stdout.write('x' * 65536); sys.stderr.write('y' * 65536)"
    done = cell.run(source, output_bytes=100_000)
    assert (done.ended, done.exit_code, done.stdout) == ("output", None, b"x" * 100_000)
    assert set(done.stderr_tail) <= {"y"}
    assert len(done.stderr_tail) <= 65536


def test_python_runs_with_what_it_needs_shown(cell: Cell) -> None:
    assert cell.ask("import ctypes, json, os, sqlite3, ssl; print(json.dumps(len(os.urandom(4))))") == 4


def test_threads_and_shared_memory_work(cell: Cell) -> None:
    source = """
import json, multiprocessing
from concurrent.futures import ThreadPoolExecutor
lock = multiprocessing.Lock()
with lock, ThreadPoolExecutor(8) as pool: print(json.dumps(list(pool.map(abs, [-1, 2]))))
"""
    assert cell.ask(source) == [1, 2]
