"""`snellen mcp`: finished and ongoing runs as tools of a server that speaks MCP, the Model Context
Protocol, for assistants and other programs.

What the tools compute is in `analysis`, `api` and `report`; commands print it with `--json`. The
protocol itself is that of the package `mcp` (extra `mcp`), which only `server` imports.
"""
