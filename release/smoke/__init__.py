"""Smoke test of what was built, before it ships: installed, served, asked one thing."""
