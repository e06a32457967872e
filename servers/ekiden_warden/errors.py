"""The errors of `ekiden_warden`."""


class WardenError(Exception):
    """A program that could not be started confined; the message says what to change."""
