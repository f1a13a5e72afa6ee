"""The page Durations."""
