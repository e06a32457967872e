"""Text of others, as it may be shown."""


def visible(text: str) -> str:
    """Make control characters visible: names come from agents, and must paint no terminal."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
