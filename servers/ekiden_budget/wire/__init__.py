"""The wire formats of model calls: what a request can cost at most, and what its answer says it cost."""

from ekiden_budget.wire.call import BadRequestError, CallRules, Dialect, ModelCall
from ekiden_budget.wire.errors import error_body, error_event
from ekiden_budget.wire.fitting import fit_upstream
from ekiden_budget.wire.reading import read_call
from ekiden_budget.wire.stream import StreamReader
from ekiden_budget.wire.usage import Usage, read_usage

__all__ = [
    "BadRequestError",
    "CallRules",
    "Dialect",
    "ModelCall",
    "StreamReader",
    "Usage",
    "error_body",
    "error_event",
    "fit_upstream",
    "read_call",
    "read_usage",
]
