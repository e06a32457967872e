"""What goes wrong with Lean itself; an answer that Lean refuses is a result, never one of these."""


class LeanError(Exception):
    """A Lean toolchain cannot be used as it was asked; the message says what to do."""


class LeanMissingError(LeanError):
    """There is no Lean on this machine."""


class LeanStoppedError(LeanError):
    """Who asked for the work no longer wants it."""


class LeanInstallError(LeanError):
    """Lean could not be installed."""


class HeaderError(LeanError):
    """The header of a Lean file cannot be read; the message says what is wrong with it."""
