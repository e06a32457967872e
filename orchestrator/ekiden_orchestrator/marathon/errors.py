"""The error of the marathon."""


class MarathonError(Exception):
    """A run that cannot start, go on or be judged as asked; the message says what to change."""
