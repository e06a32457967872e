"""Slurm: jobs that are submitted once and never lost, and an MCP server for them."""
