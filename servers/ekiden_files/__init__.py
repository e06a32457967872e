"""Files that are whole or not there, and logs that only grow. The standard library alone."""

from ekiden_files.errors import FilesError
from ekiden_files.lines import append_line, read_lines
from ekiden_files.whole import sync_folder, write_new, write_whole, writing_whole

__all__ = ["FilesError", "append_line", "read_lines", "sync_folder", "write_new", "write_whole", "writing_whole"]
