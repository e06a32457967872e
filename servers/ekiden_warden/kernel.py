"""The Linux calls that Python does not offer: namespaces, mounts, process control, capabilities."""

import ctypes
import os
import re
import signal

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_HIGHEST_CAPABILITY = 63

_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 0x1


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def counts_processes_apart() -> bool:
    """Tell whether RLIMIT_NPROC counts the processes of a user namespace apart from the user's others.

    It does since Linux 5.14; those of the real root it never bounds.
    """
    numbers = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return os.geteuid() != 0 and numbers is not None and (int(numbers[1]), int(numbers[2])) >= (5, 14)


def unshare(flags: int) -> None:
    """Leave the namespaces named by the flags for new ones."""
    _check(_libc().unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount a file system, or bind a folder, at `target`."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    result = _libc().mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    _check(result, f"mount {source or kind} on {target}")


def set_read_only(target: str, read_only: bool, *, recursive: bool) -> None:
    """Make a mount read-only or writable."""
    attributes = _MountAttributes(
        attr_set=_MOUNT_ATTR_RDONLY if read_only else 0, attr_clr=0 if read_only else _MOUNT_ATTR_RDONLY
    )
    result = _libc().syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _check(result, f"mount_setattr on {target}")


def _prctl(option: int, value: int, what: str) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero), what)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, "PR_SET_PDEATHSIG")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def hide_memory() -> None:
    """Keep the memory and the environment of this process from all others but root's, until it runs another program."""
    _prctl(_PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")


def forbid_new_privileges() -> None:
    """Make set-user-id programs start without their privileges from here on."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")


def drop_capabilities() -> None:
    """Give up every capability for this process and all it starts."""
    for capability in range(_HIGHEST_CAPABILITY + 1):
        try:
            _prctl(_PR_CAPBSET_DROP, capability, "PR_CAPBSET_DROP")
        except OSError:
            break  # the first number that this kernel does not know
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, "PR_CAP_AMBIENT")
    header = _CapabilityHeader(version=_CAPABILITY_VERSION_3, pid=0)
    empty = (_CapabilityData * 2)()
    _check(_libc().capset(ctypes.byref(header), ctypes.byref(empty)), "capset")
