"""What goes wrong when settings are read."""


class ConfigError(Exception):
    """A setting is unknown, malformed or unreadable; the message names its source, its key and its value."""
