"""The one exception base of this package."""

from __future__ import annotations


class BlueprintError(Exception):
    """A blueprint cannot be read, or what was asked for is not in it."""
