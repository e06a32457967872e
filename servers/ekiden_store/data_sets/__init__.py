"""Data sets for training: mixes, which say what goes in, and exports, which write it."""
