"""DevClaw: group chats become software teams."""

__version__ = "0.1.0"
