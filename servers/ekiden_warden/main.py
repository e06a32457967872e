"""The warden's process: read an order, start the program under the strongest isolation there is, end everything.

Standard input carries the order and then one-letter commands: T asks the program to end, K kills everything, and so
does the end of the input. Standard output carries one JSON object a line:
`{"refused": kind, "why": text}`, `{"isolation": kind, "read_only": flag, "offline": flag}`, `{"started": true}`,
`{"exited": code, "cpu_s": seconds}`, `{"failed": text}`, `{"gone": true}`.
"""

import contextlib
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import NoReturn

from ekiden_warden import kernel, program, tree, view
from ekiden_warden.order import Order

_REPORTS_FD = 1
_COMMANDS_FD = 0


def main() -> None:
    """Serve one order."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    if program.LINUX:
        program.may_go_first()
    order = Order.from_line(_read_line(_COMMANDS_FD))
    for kind in order.isolations:
        if _serve(order, kind):
            break
    else:
        _report(_REPORTS_FD, failed="no kind of isolation works here")
    _report(_REPORTS_FD, gone=True)


def _serve(order: Order, kind: str) -> bool:
    """Run the order under one kind of isolation; tell whether that kind works here."""
    try:
        match kind:
            case "confined" | "namespaces":
                return _serve_in_namespaces(order, kind)
            case "subreaper":
                kernel.adopt_orphans()
            case _:
                pass
    except (OSError, AttributeError) as error:  # AttributeError: a C library without the call
        _report(_REPORTS_FD, refused=kind, why=f"{error}")
        return False
    _serve_as_parent(order, kind)
    return True


def _serve_as_parent(order: Order, kind: str) -> None:
    _report(_REPORTS_FD, isolation=kind, read_only=False, offline=False)
    try:
        pid = program.start(order, confined=False)
    except program.StartError as error:
        _report(_REPORTS_FD, failed=f"{error}")
        return
    code = program.keep(pid, order, _COMMANDS_FD, lambda: _report(_REPORTS_FD, started=True), confined=False)
    tree.end_all(pid)
    _report_exit(_REPORTS_FD, code)


def _serve_in_namespaces(order: Order, kind: str) -> bool:
    """Run the program under an init of its own; the kernel ends the whole namespace with that init."""
    kernel.adopt_orphans()
    report_reader, report_writer = os.pipe()
    command_reader, command_writer = os.pipe()
    door = os.fork()
    if door == 0:
        os.close(report_reader)
        os.close(command_writer)
        _become_door(order, kind, command_reader, report_writer)
    os.close(report_writer)
    os.close(command_reader)
    try:
        return _relay(report_reader, command_writer)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(door, signal.SIGKILL)
        _reap_all()
        os.close(report_reader)


def _relay(reports: int, commands: int) -> bool:
    """Pass reports out and commands in until the inner side closes; tell whether the isolation could be set up."""
    works = True
    exited = False
    open_commands = [_COMMANDS_FD]
    while True:
        readable, _, _ = select.select([reports, *open_commands], [], [])
        if reports in readable:
            data = os.read(reports, 65536)
            if not data:
                break
            works = works and b'"refused"' not in data
            exited = exited or b'"exited"' in data or b'"failed"' in data
            _write_all(_REPORTS_FD, data)
        elif open_commands:
            command = os.read(_COMMANDS_FD, 1)
            if command == b"T":
                with contextlib.suppress(OSError):
                    os.write(commands, command)
            else:
                open_commands = []
                with contextlib.suppress(OSError):
                    os.close(commands)
    if works and not exited:
        _report_exit(_REPORTS_FD, None)
    return works


def _become_door(order: Order, kind: str, commands: int, reports: int) -> NoReturn:
    """Open new namespaces, start their init, and stay until it ends: its death is the init's death."""
    try:
        kernel.die_with_parent()
        user, group = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        offline = not order.network and _leave_network()
        alive_reader, alive_writer = os.pipe()
        init = os.fork()
        if init == 0:
            os.close(alive_writer)
            _become_init(order, kind, commands, reports, alive_reader, offline=offline)
        os.close(reports)
        os.waitpid(init, 0)
    except (OSError, AttributeError) as error:
        _report(reports, refused=kind, why=f"{error}")
    os._exit(0)


def _leave_network() -> bool:
    """Move to a network without any interface; tell whether that could be done."""
    try:
        kernel.unshare(kernel.CLONE_NEWNET)
    except OSError:
        return False
    return True


def _forbid_namespaces() -> None:
    """Keep the program from opening user namespaces, where it would have every capability again over its own things."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")


def _become_init(order: Order, kind: str, commands: int, reports: int, alive: int, *, offline: bool) -> NoReturn:
    try:
        kernel.die_with_parent()
        if select.select([alive], [], [], 0)[0]:
            os._exit(1)  # the parent died before it could take us along
        program.be_ended_first()
        if not order.network:
            _forbid_namespaces()
        read_only = False
        if kind == "confined" and order.view is not None:
            read_only = view.arrange(order.view)
        view.fresh_proc(read_only=kind == "confined" or not order.network)
        _report(reports, isolation=kind, read_only=read_only, offline=offline)
        pid = program.start(order, confined=True)
        code = program.keep(pid, order, commands, lambda: _report(reports, started=True), confined=True)
        _report_exit(reports, code)
    except program.StartError as error:
        _report(reports, failed=f"{error}")
    except (OSError, AttributeError) as error:
        _report(reports, refused=kind, why=f"{error}")
    os._exit(0)


def _reap_all() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _read_line(descriptor: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(descriptor, 1)  # byte by byte: what follows the line are commands
        if not part:
            sys.exit("The owner left before it gave its order.")
        line += part
    return bytes(line)


def _report_exit(descriptor: int, code: int | None) -> None:
    _report(descriptor, exited=-signal.SIGKILL if code is None else code, cpu_s=program.reaped_cpu_s())


def _report(descriptor: int, **fields: object) -> None:
    _write_all(descriptor, json.dumps(fields).encode() + b"\n")


def _write_all(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # its owner is gone; its end of our input tells us so too
        while data:
            data = data[os.write(descriptor, data) :]
