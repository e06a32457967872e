"""Verifying blueprints: one version by its rules, a change by its role, and what is said about it."""
