"""Programs that attack: the network, other people's files, their neighbours, their keeper, the machine."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ekiden_warden import Enforced, Isolation
from servers.warden.cell import Cell

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the isolation under test is Linux's")

DAEMONS = """
import os, signal, sys
reader, writer = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
            os.write(writer, b".")
            while True: signal.pause()
        os._exit(0)
for _ in range(3): os.read(reader, 1)
print("ready", flush=True)
"""
"""Starts three daemons and says so when all of them run."""


@pytest.fixture
def confined(cell: Cell, here: Enforced) -> Cell:
    """A cell on a system that can confine its programs."""
    if not (here.files and here.network and here.tree):
        pytest.skip("programs cannot be confined here")
    return cell


@pytest.fixture
def listeners() -> Iterator[list[tuple[int, int, str]]]:
    """Servers of ours on the loopback, and on an abstract address: family, type, address."""
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as local:
        tcp.bind(("127.0.0.1", 0))
        local.bind("")  # a name of the kernel's choice, outside of the file system
        for listener in (tcp, local):
            listener.listen()
        name = local.getsockname().decode()
        yield [(socket.AF_INET, socket.SOCK_STREAM, tcp.getsockname()[1]), (socket.AF_UNIX, socket.SOCK_STREAM, name)]


CALL = """
import errno, json, socket, sys
def call(family, kind, address):
    with socket.socket(family, kind) as caller:
        return caller.connect_ex(("127.0.0.1", address) if family == socket.AF_INET else address)
"""


def test_no_server_can_be_reached_not_even_our_own(confined: Cell, listeners: list[tuple[int, int, str]]) -> None:
    source = f"{CALL}\nprint(json.dumps([call(*place) for place in json.loads(sys.argv[1])]))"
    argument = json.dumps([[int(family), int(kind), address] for family, kind, address in listeners])
    assert 0 not in confined.ask(source, argument)
    assert confined.ask(source, argument, network=True)[0] == 0


def test_there_is_no_interface_to_any_other_network(confined: Cell) -> None:
    source = """
import json, socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    error = sender.connect_ex(("192.0.2.1", 53))
print(json.dumps([error != 0, [name for _, name in socket.if_nameindex() if name != "lo"]]))
"""
    assert confined.ask(source) == [True, []]


def test_only_its_own_folder_can_be_written(confined: Cell) -> None:
    places = [confined.inside, confined.outside, Path.home(), "/", "/etc", "/usr", "/tmp", "/var/tmp", "/dev", "/sys"]
    source = """
import json, os, sys
written = []
for place in sys.argv[1:]:
    try:
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "by-hostile"), "w"): written.append(place)
    except OSError: pass
print(json.dumps(written))
"""
    assert confined.ask(source, *places) == [str(confined.inside)]
    assert [Path(place, "by-hostile").exists() for place in places] == [True] + [False] * 9


def test_shown_files_cannot_be_changed(confined: Cell) -> None:
    file = confined.outside / "shown"
    file.write_text("mine")
    source = """
import json, os, sys
name, = sys.argv[1:]
errors = []
for attack in (lambda: open(name, "a"), lambda: os.chmod(name, 0), lambda: os.unlink(name), lambda: os.utime(name)):
    try: attack()
    except OSError as error: errors.append(error.errno)
print(json.dumps([open(name).read(), len(errors)]))
"""
    assert confined.ask(source, file, shows=[file, *confined.needs]) == ["mine", 4]
    assert file.read_text() == "mine"


READ = """
import json, sys
found = []
for path in sys.argv[1:]:
    try: found.append(open(path).read())
    except OSError: found.append(None)
print(json.dumps(found))
"""


def test_what_is_not_shown_is_not_there_and_hidden_things_are_empty(confined: Cell) -> None:
    paths = [confined.outside / "beside", confined.inside / "keys" / "secret", confined.inside / "secret"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("secret")
    assert confined.ask(READ, *paths) == [None, "secret", "secret"]
    assert confined.ask(READ, *paths, hides=[confined.inside / "keys", paths[2]]) == [None, None, ""]
    assert confined.ask(READ, *paths, shows=[confined.outside, *confined.needs]) == ["secret"] * 3


def test_links_to_shown_folders_work_and_links_into_hidden_ones_do_not(confined: Cell) -> None:
    (confined.outside / "shown").mkdir()
    for name in ("shown/file", "hidden"):
        (confined.outside / name).write_text(name)
    link = confined.root / "a-link"
    link.symlink_to(confined.outside / "shown")
    (confined.inside / "escape").symlink_to(confined.outside / "hidden")
    found = confined.ask(READ, link / "file", confined.inside / "escape", shows=[link, *confined.needs])
    assert found == ["shown/file", None]


def test_settings_that_not_everybody_may_read_are_hidden(confined: Cell) -> None:
    private = [path for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers") if Path(path).exists()]
    found = confined.ask(READ, *private, "/etc/passwd")
    assert [text for text in found[:-1] if text] == []
    assert found[-1] == Path("/etc/passwd").read_text()


def test_its_owner_is_not_to_be_seen(confined: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "upstream-secret")
    source = """
import json, os
processes, secrets = [], 0
for entry in filter(str.isdigit, os.listdir("/proc")):
    processes.append(int(entry))
    for name in ("environ", "cmdline", "root/etc/shadow", "cwd"):
        try: secrets += b"upstream" + b"-secret" in open(f"/proc/{entry}/{name}", "rb").read()
        except OSError: pass
print(json.dumps([sorted(processes), secrets, os.getppid()]))
"""
    assert confined.ask(source) == [[1, 2], 0, 1]


def test_it_has_no_privilege_and_gets_none(confined: Cell) -> None:
    source = r"""
import ctypes, json, os
status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
libc = ctypes.CDLL(None)
USER, MOUNTS, NETWORK = 0x10000000, 0x20000, 0x40000000
done = [libc.unshare(flag) for flag in (USER, MOUNTS, NETWORK)]
done.append(libc.mount(b"none", b"/", b"tmpfs", 0, None))
done.append(libc.umount2(b"/tmp", 2))
done.append(libc.ptrace(16, 1, None, None))
print(json.dumps([{status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")} == {"0" * 16},
                  status["NoNewPrivs"], done]))
"""
    assert confined.ask(source) == [True, "1", [-1] * 6]


def test_the_machines_settings_and_disks_are_out_of_reach(confined: Cell) -> None:
    source = """
import json, os, stat
reached = []
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger"):
    try: reached.append(os.open(path, os.O_WRONLY))
    except OSError: pass
kinds = [stat.S_IFMT(os.stat(f"/dev/{name}").st_mode) for name in ("null", "zero", "random", "urandom")]
disks = [name for name in os.listdir("/dev") if stat.S_ISBLK(os.lstat(f"/dev/{name}").st_mode)]
try: os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)); reached.append("mknod")
except OSError: pass
print(json.dumps([reached, disks, set(kinds) == {stat.S_IFCHR}]))
"""
    assert confined.ask(source) == [[], [], True]


def test_it_cannot_end_its_keeper(confined: Cell) -> None:
    source = """
import json, os, signal
for number in range(1, 65):
    try: os.kill(1, number)
    except OSError: pass
print(json.dumps(os.getppid()))
"""
    assert confined.ask(source) == 1


@pytest.mark.parametrize("isolation", ["confined", "namespaces"])
def test_root_cannot_change_settings_under_the_weaker_kind_either(confined: Cell, isolation: Isolation) -> None:
    source = """
import json, os
try: found = os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)
except OSError: found = None
print(json.dumps(found))
"""
    assert confined.ask(source, isolations=[isolation]) is None


@pytest.mark.parametrize("ending", ["exits", "is killed", "is closed"])
def test_no_daemon_outlives_its_program(cell: Cell, isolation: Isolation, ending: str) -> None:
    if isolation == "group":
        pytest.skip("what left the group is ended only where it was seen")
    source = DAEMONS if ending == "exits" else f"{DAEMONS}\nsignal.pause()"
    with cell.start(source, isolations=[isolation]) as process:
        assert os.read(process.stdout_fd, 10) == b"ready\n"
        family = psutil.Process().children(recursive=True)
        if ending != "is closed":
            if ending == "is killed":
                process.kill()
            assert process.wait(30) == (0 if ending == "exits" else -signal.SIGKILL)
    assert [member for member in family if member.is_running()] == []


def test_a_daemon_that_left_the_group_is_ended_where_it_was_seen(cell: Cell) -> None:
    source = """
import os, signal, sys
if os.fork() == 0:
    os.setsid()
    print("ready", flush=True)
    while True: signal.pause()
sys.stdin.read()
"""
    with cell.start(source, isolations=["group"], stdin=True) as process:
        assert os.read(process.stdout_fd, 10) == b"ready\n"
        assert process.enforced.tree is False
        family = psutil.Process().children(recursive=True)
        process.usage()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
    gone, alive = psutil.wait_procs(family, timeout=30)
    assert (len(gone) > 0, alive) == (True, [])


def test_a_program_that_kills_its_warden_dies_and_leaves_nothing_that_was_seen(cell: Cell) -> None:
    source = f"{DAEMONS}\nsys.stdin.read(1); os.kill(os.getppid(), signal.SIGKILL); signal.pause()"
    with cell.start(source, isolations=["subreaper"], stdin=True) as process:
        assert os.read(process.stdout_fd, 10) == b"ready\n"
        process.usage()
        family = psutil.Process().children(recursive=True)
        assert process.stdin is not None
        process.stdin.write(b".")
        assert process.wait(30) == -signal.SIGKILL
    gone, alive = psutil.wait_procs(family, timeout=30)
    assert (len(gone) > 0, alive) == (True, [])


OWNER = """
import os, sys
from pathlib import Path
from ekiden_warden import ConfinedProcess, python_folders
source, folder, isolation = sys.argv[1:]
process = ConfinedProcess([sys.executable, "-c", source], environment={}, directory=Path(folder), writes=[Path(folder)],
                          shows=python_folders(), isolations=[isolation])
os.write(1, os.read(process.stdout_fd, 10))
sys.stdin.read()
"""


def test_killing_the_owner_leaves_nothing(cell: Cell, isolation: Isolation) -> None:
    if isolation == "group":
        pytest.skip("what left the group lives on there")
    command = [sys.executable, "-c", OWNER, f"{DAEMONS}\nsignal.pause()", str(cell.inside), isolation]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        family = psutil.Process(owner.pid).children(recursive=True)
        assert len(family) > 4
        owner.kill()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []


def test_a_fork_bomb_is_bounded(cell: Cell, isolation: Isolation) -> None:
    source = """
import os, signal, sys
started = 0
try:
    while started < 3000:  # no more, should nobody end it: the machine is to survive a test that fails
        if os.fork() == 0:
            while True: signal.pause()
        started += 1
except OSError: pass
print(started)
"""
    done = cell.run(source, processes=32, isolations=[isolation])
    assert done.ended == "exit"
    assert done.exit_code == -signal.SIGKILL or (done.exit_code == 0 and int(done.stdout) < 32)


def test_a_bomb_of_forking_children_is_ended(cell: Cell, isolation: Isolation) -> None:
    source = """
import os, time
end = time.monotonic() + 10  # should nobody end it: the machine is to survive a test that fails
while time.monotonic() < end:
    try: os.fork()
    except OSError: pass
"""
    done = cell.run(source, processes=32, isolations=[isolation], cpu_limit_s=2)
    assert done.ended == "cpu" or done.exit_code == -signal.SIGKILL
    assert psutil.Process().children() == []


def test_a_memory_bomb_is_ended(cell: Cell) -> None:
    source = "blocks = []\nwhile True: blocks.append(bytearray(1_000_000))"
    done = cell.run(source, memory_bytes=200_000_000)
    assert (done.ended, done.exit_code) == ("memory", None)


def test_memory_of_many_processes_is_added_up(cell: Cell) -> None:
    source = """
import os, signal
for _ in range(8):
    if os.fork() == 0:
        block = bytearray(40_000_000)
        while True: signal.pause()
signal.pause()
"""
    assert cell.run(source, memory_bytes=200_000_000).ended == "memory"


def test_no_file_grows_beyond_the_bound(cell: Cell) -> None:
    source = """
import json, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open("big", "wb") as file:
        for _ in range(64): file.write(b"x" * 65536)
except OSError as error: print(json.dumps(error.errno))
"""
    assert cell.ask(source, file_bytes=1 << 20) == 27
    assert (cell.inside / "big").stat().st_size <= 1 << 20


def test_a_flood_on_the_standard_error_stops_nobody(cell: Cell) -> None:
    done = cell.run("import sys\nfor _ in range(2000): sys.stderr.write('e' * 10000)\nsys.stderr.write('end')")
    assert (done.exit_code, len(done.stderr_tail), done.stderr_tail[-4:]) == (0, 65536, "eend")


def test_the_program_runs_at_its_owners_priority_and_cannot_raise_it(cell: Cell, isolation: Isolation) -> None:
    source = """
import json, os, resource
mine = os.getpriority(os.PRIO_PROCESS, 0)
try: os.setpriority(os.PRIO_PROCESS, 0, -20)
except OSError: pass
print(json.dumps([mine, os.getpriority(os.PRIO_PROCESS, 0)]))
"""
    mine, highest = cell.ask(source, isolations=[isolation])
    assert mine == os.getpriority(os.PRIO_PROCESS, 0)
    assert highest == mine or (isolation in {"group", "subreaper"} and os.geteuid() == 0)
