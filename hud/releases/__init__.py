"""The page Releases."""
