"""The errors of `ekiden_store`."""


class StoreError(Exception):
    """Something that keeps a trajectory store from doing what it was asked; the message says what to do."""


class InvalidStepError(StoreError, ValueError):
    """A row that the store cannot hold; nothing of its batch was stored."""


class NotStoredError(StoreError):
    """A batch that could not be written; nothing of it was stored, and the same call may work later."""


class StoreVersionError(StoreError):
    """A store or a file that a newer Ekiden wrote."""


class DamagedPartError(StoreError):
    """A part of the store does not hold what was written."""


def one_line(error: Exception) -> str:
    """Return what an error says on one line that ends with a full stop: pyarrow's take several."""
    return " ".join(str(error).split()).rstrip(".") + "."
