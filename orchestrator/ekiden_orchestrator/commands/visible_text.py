"""Text of others on a terminal."""


def visible(text: str) -> str:
    """Make control characters visible: names come from agents, and must not paint the terminal."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
