"""Vectors of proof states: the encoders that make them, and the cache that keeps them."""
