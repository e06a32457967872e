"""The console command `ekiden`."""


def main() -> None:
    """Run the command line."""
