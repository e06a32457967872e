"""What goes wrong when a server is looked up, built or served."""

from collections.abc import Iterable


class KitError(Exception):
    """A server, a tool or a client configuration was asked for that cannot be had."""


class UnknownServerError(KitError):
    """No server of that name is in the table."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known words are meant, most likely, by an unknown one; all of them when none is near."""
    import difflib

    known = tuple(known)
    if near := difflib.get_close_matches(word, known, n=2, cutoff=0.7):
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"there is {', '.join(map(repr, known))}." if known else "there is none."
