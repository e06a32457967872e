"""The trajectory store: every attempt becomes data."""
