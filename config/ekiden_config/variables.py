"""Names of variables as settings hold them."""

import re
from typing import Annotated

from pydantic import AfterValidator


def _require_variable(name: str) -> str:
    if not re.fullmatch(r"([A-Z_][A-Z0-9_]*)?", name):
        raise ValueError("it names a variable such as 'MY_KEY', in capitals; the key itself stays out of the file")
    return name


KeyVariable = Annotated[str, AfterValidator(_require_variable)]
"""The name of the variable that holds a key, or nothing; a key that was put there by mistake is refused."""
