"""Which software a run was made with."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    try:
        ekiden = version("ekiden")
    except PackageNotFoundError:
        ekiden = "unknown"
    return {"ekiden": ekiden, "python": platform.python_version(), "platform": platform.platform()}
