"""The doors: command line, and later MCP, gateway plugin and board."""
