"""Engines under test behind one port: start, wait until healthy, stop."""
