"""Pinned dependency graphs: compiled, checked, compared, refreshed, and held against what runs."""
