"""Chats: a port, and Slack behind it."""
