"""One file a tool: its arguments, and one call into operations. Tools never import tools."""
