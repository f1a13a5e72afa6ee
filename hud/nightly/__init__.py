"""The page Nightly."""
