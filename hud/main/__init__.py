"""The page Main."""
