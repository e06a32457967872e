"""What can be wrong with files."""


class FilesError(Exception):
    """A file that does not hold what it should; the message says where."""
