"""What the front desk hands over to the server."""


class Conversation:
    """What a client said before the server could listen.

    Attributes:
        lines: Every complete line, in order.
        rest: The beginning of the next line.
        answered: The ids of the requests that the desk answered.
    """

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.rest = b""
        self.answered: list[int | str] = []
