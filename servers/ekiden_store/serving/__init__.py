"""What the MCP server `trajectories` and the commands show of a store."""
