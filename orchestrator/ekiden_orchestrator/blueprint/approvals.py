"""What somebody let targets become: a file that a person writes and that no change of a role may touch."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from pathlib import Path


class _Approvals(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    approved: dict[str, str]


def read_approvals(path: Path) -> dict[str, str]:
    """Read a file of approvals: under `[approved]` each target with what it may become.

    Raises:
        CommandError: It cannot be read, or is no such file.
    """
    try:
        return _Approvals.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).approved
    except OSError as error:
        raise CommandError(f"Cannot read the approvals {str(path)!r}: {error.strerror}.") from error
    except ValidationError as error:
        found = error.errors()[0]
        place = ".".join(map(str, found["loc"]))
        raise CommandError(
            f"The approvals {str(path)!r} are wrong at {place!r}: {found['msg']}. Write `[approved]`, and under it "
            'lines such as `goal = "text:…"`.'
        ) from error
    except ValueError as error:  # no TOML, or not UTF-8
        raise CommandError(f"The approvals {str(path)!r} are not TOML: {error}.") from error
