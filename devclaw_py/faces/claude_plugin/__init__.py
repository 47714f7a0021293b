"""The folder that gives Claude Code the tools: MCP server, skill, commands."""
