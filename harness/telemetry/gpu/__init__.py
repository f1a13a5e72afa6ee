"""Accelerators: what they are, and how busy, hot, hungry and throttled they are."""
