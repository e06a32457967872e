"""What goes wrong around a blueprint's graph."""


class DagError(Exception):
    """The graph cannot be given; the message says what to do."""


class ConfigurationError(DagError):
    """The server was not told which blueprint to read, or that cannot be read."""


class ElaborationError(DagError):
    """Lean cannot be asked here; it says nothing about the blueprint."""
