"""Bring changes of main to a release's branch, and tag its candidates."""
