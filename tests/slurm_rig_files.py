"""What the files of a test cluster say: a real Slurm of emulated nodes, all on this host."""

import os
import pwd
import random
import secrets
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Accounting = Literal["none", "filetxt", "slurmdbd"]

GPU = "lovelace_l40"
GPUS_PER_NODE = 4
CLUSTER = "rig"
ACCOUNT = "relay"
_PORTS = range(10_000, 30_000)  # below those that Linux gives to outgoing connections, so a stopped daemon's stays free


@dataclass(frozen=True)
class Layout:
    """Where everything of a cluster is.

    Attributes:
        root: A folder of its own.
        nodes: The names of the emulated nodes.
        first_port: The controller's; those of slurmdbd, MariaDB and the nodes follow.
    """

    root: Path
    nodes: tuple[str, ...]
    first_port: int
    user: str = field(default_factory=lambda: pwd.getpwuid(os.geteuid()).pw_name)

    @property
    def conf(self) -> Path:
        return self.root / "etc" / "slurm.conf"

    @property
    def munge_socket(self) -> Path:
        return self.root / "run" / "munge.sock"

    @property
    def munge_key(self) -> Path:
        return self.root / "etc" / "munge.key"

    @property
    def finished_jobs(self) -> Path:
        """The file that `filetxt` keeps finished jobs in."""
        return self.root / "finished-jobs.txt"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    def spool(self, name: str) -> Path:
        """The folder of a daemon; the jobs of a node are in its daemon's."""
        return self.root / "spool" / name

    @property
    def database(self) -> Path:
        return self.root / "database"

    @property
    def dbd_port(self) -> int:
        return self.first_port + 1

    @property
    def database_port(self) -> int:
        return self.first_port + 2

    def node_port(self, node: str) -> int:
        return self.first_port + 3 + self.nodes.index(node)


def layout(root: Path, nodes: int) -> Layout:
    """Choose names and free ports."""
    names = tuple(f"n{number}" for number in range(1, nodes + 1))
    count = nodes + 3
    for _ in range(100):
        first = random.randrange(_PORTS.start, _PORTS.stop - count)
        if all(_is_free(port) for port in range(first, first + count)):
            return Layout(root, names, first)
    raise OSError(f"no {count} free ports in a row between {_PORTS.start} and {_PORTS.stop}")


def _is_free(port: int) -> bool:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def write_files(place: Layout, accounting: Accounting, requeue_delay_s: int, settings: Mapping[str, str]) -> None:
    """Write everything that the daemons read.

    Args:
        place: Where.
        accounting: Where finished jobs are kept.
        requeue_delay_s: How long a job that was put back waits before it may start again.
        settings: Lines of slurm.conf by their name, over ours.
    """
    for folder in ("etc", "run", "log", "state", "spool", "dev", "database"):
        (place.root / folder).mkdir(parents=True, exist_ok=True)
    (place.root / "run").chmod(0o755)
    _write_private(place.munge_key, secrets.token_bytes(1024), 0o400)
    for number in range(GPUS_PER_NODE):
        (place.root / "dev" / f"gpu{number}").symlink_to("/dev/null")
    etc = place.root / "etc"
    (etc / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")  # else slurmd looks for a tree
    devices = f"{place.root}/dev/gpu[0-{GPUS_PER_NODE - 1}]"
    gres = f"AutoDetect=off\nNodeName={_all_nodes(place)} Name=gpu Type={GPU} File={devices}\n"
    (etc / "gres.conf").write_text(gres, encoding="utf-8")
    (etc / "slurmdbd.conf").touch(mode=0o600)
    _write_private(etc / "slurmdbd.conf", _slurmdbd_conf(place).encode(), 0o600)
    options = _options(place, requeue_delay_s) | _accounting_options(place, accounting) | dict(settings)
    lines = [*(f"{name}={value}" for name, value in options.items()), *_nodes_and_partitions(place)]
    place.conf.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_private(path: Path, content: bytes, mode: int) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
    path.chmod(mode)


def _all_nodes(place: Layout) -> str:
    return f"n[1-{len(place.nodes)}]"


def _options(place: Layout, requeue_delay_s: int) -> dict[str, str]:
    root = place.root
    return {
        "ClusterName": CLUSTER,
        "SlurmctldHost": f"{socket.gethostname().partition('.')[0]}(127.0.0.1)",
        "SlurmctldPort": str(place.first_port),
        "SlurmUser": place.user,
        "SlurmdUser": place.user,
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        # A job that was put back may start again when its first credential has certainly run out.
        "AuthInfo": f"socket={place.munge_socket},cred_expire={requeue_delay_s}",
        "StateSaveLocation": f"{root}/state",
        "SlurmdSpoolDir": f"{root}/spool/%n",
        "SlurmctldPidFile": f"{root}/run/slurmctld.pid",
        "SlurmdPidFile": f"{root}/run/slurmd-%n.pid",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "DefMemPerCPU": "100",
        "SlurmdParameters": "config_overrides",
        "GresTypes": "gpu",
        "ReturnToService": "2",
        "MailProg": "/bin/true",
        "MpiDefault": "none",
        "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=2",
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "JobRequeue": "1",
        "KillWait": "2",
        "MinJobAge": "300",
        "OverTimeLimit": "0",
        "SlurmdTimeout": "20",
        # Memory is bounded without control groups: it is measured each second, and who has too much is ended.
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "task=1",
        "JobAcctGatherParams": "OverMemoryKill",
    }


def _accounting_options(place: Layout, accounting: Accounting) -> dict[str, str]:
    if accounting == "filetxt":
        return {"JobCompType": "jobcomp/filetxt", "JobCompLoc": str(place.finished_jobs)}
    if accounting == "slurmdbd":
        return {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "localhost",
            "AccountingStoragePort": str(place.dbd_port),
            "AccountingStoragePass": str(place.munge_socket),
            "AccountingStorageTRES": "gres/gpu",
            "AccountingStoreFlags": "job_comment,job_env,job_script",  # all that a job could betray is kept
            "AccountingStorageEnforce": "associations",
        }
    return {}


def _nodes_and_partitions(place: Layout) -> list[str]:
    shape = "CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000"
    host = socket.gethostname().partition(".")[0]
    nodes = [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={place.node_port(node)} {shape} "
        f"Gres=gpu:{GPU}:{GPUS_PER_NODE} State=UNKNOWN"
        for node in place.nodes
    ]
    common = "Nodes=ALL MaxTime=1-0 DefaultTime=10 State=UP"
    return [
        *nodes,
        f"PartitionName=main Default=YES PriorityTier=10 PreemptMode=OFF {common}",
        f"PartitionName=urgent PriorityTier=100 PreemptMode=OFF {common}",
        f"PartitionName=spare PriorityTier=1 PreemptMode=REQUEUE {common}",
    ]


def _slurmdbd_conf(place: Layout) -> str:
    options = {
        "DbdHost": "localhost",
        "DbdPort": str(place.dbd_port),
        "SlurmUser": place.user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={place.munge_socket}",
        "PidFile": f"{place.root}/run/slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "127.0.0.1",  # "localhost" would mean MariaDB's usual socket
        "StoragePort": str(place.database_port),
        "StorageUser": "root",
        "StoragePass": "unused",
        "StorageLoc": "slurm_rig",
    }
    return "".join(f"{name}={value}\n" for name, value in options.items())
