"""The errors of `ekiden_magma`."""


class MagmaError(ValueError):
    """A law, table, model or certificate that cannot be what it claims to be."""


class LawSyntaxError(MagmaError):
    """A law that cannot be read.

    Attributes:
        text: The text that was read.
        position: 0-based index of the offending character in `text`; `len(text)` at the end.
        reason: What is wrong there, without the position.
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text = text
        self.position = position
        self.reason = reason
        shown = text if len(text) <= 200 else text[:197] + "..."
        where = f"character {position + 1} of {len(text)}" if position < len(text) else f"after character {len(text)}"
        super().__init__(f"Cannot read the law {shown!r}: {reason} ({where}).")


class CertificateError(MagmaError):
    """A certificate that cannot be read, or that does not show what it claims."""


class CertificateLimitError(CertificateError):
    """A certificate that may well be right, but is too large to be checked here."""


def shown(value: object, limit: int = 80) -> str:
    """Show a value from outside in a message: short, on one line, and safe for numbers too long to print."""
    if type(value) is int and value.bit_length() > 128:
        return "a huge number"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number too long to print, or deep nesting, somewhere inside
        return f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."
