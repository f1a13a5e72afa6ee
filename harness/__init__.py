"""Starts engines, loads them, evaluates them, and records every repetition."""
