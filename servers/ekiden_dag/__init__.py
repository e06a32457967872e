"""The proof graph of a blueprint for agents: who rests on whom, what is ready, and why something is not."""
