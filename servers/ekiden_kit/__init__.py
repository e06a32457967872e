"""The glue every server shares: definition, building, serving, the table of servers, client configuration."""
