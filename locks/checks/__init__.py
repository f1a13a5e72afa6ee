"""Checks of one lock: pure functions of the lock, its description and the record."""
