"""The wire formats of model calls: what a request can cost at most, and what its answer says it cost."""

from ekiden_budget.wire.call import BadRequestError, CallRules, Dialect, ModelCall
from ekiden_budget.wire.usage import Usage

__all__ = ["BadRequestError", "CallRules", "Dialect", "ModelCall", "Usage"]
