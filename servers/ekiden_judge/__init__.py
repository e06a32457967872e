"""Verdicts on answers to equational-implication problems."""
