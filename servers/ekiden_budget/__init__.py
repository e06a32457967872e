"""A shared, hard budget of tokens, money and time: the ledger, and the proxy for language models that keeps it."""
