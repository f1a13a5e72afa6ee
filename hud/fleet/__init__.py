"""The page Fleet."""
