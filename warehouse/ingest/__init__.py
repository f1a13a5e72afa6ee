"""The commands that bring rows in."""
