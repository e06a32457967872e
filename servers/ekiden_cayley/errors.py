"""The errors of `ekiden_cayley`."""


class CayleyError(ValueError):
    """A request to the counterexample search that cannot be served as it is."""


class StoppedError(CayleyError):
    """The search was cancelled or ran out of time before its answer was known."""
