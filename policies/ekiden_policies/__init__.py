"""Pure decisions: state in, verdict out. Nothing here reads a clock, a file or the network."""
