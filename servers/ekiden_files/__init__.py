"""Files that are whole or not there, and logs that only grow."""
