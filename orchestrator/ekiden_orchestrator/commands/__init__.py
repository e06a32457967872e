"""The subcommands of `ekiden`, one module each."""
