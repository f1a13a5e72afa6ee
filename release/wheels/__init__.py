"""Wheels: what is in them, whether it is right, and which cell of the matrix each one fills."""
