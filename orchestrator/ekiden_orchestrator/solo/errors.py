"""What goes wrong before or beside a Solo run."""

from ekiden_orchestrator.errors import CommandError


class SoloError(CommandError):
    """A Solo run cannot be done as it was asked for."""
