"""The glue every server shares: definition, building, serving, the table of servers, client configuration.

Servers are defined with `ekiden_kit.definition`, listed in `ekiden_kit.table`, built by `ekiden_kit.build`. This
package imports nothing by itself: `ekiden_kit.front_desk` has to answer clients before the MCP SDK is imported.
"""
