"""Striking out secrets in what leaves a store."""
