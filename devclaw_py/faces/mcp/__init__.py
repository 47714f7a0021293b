"""The catalogue over the Model Context Protocol, for orchestrators in any client. Only here `mcp` is imported."""
