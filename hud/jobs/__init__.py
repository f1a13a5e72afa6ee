"""The page Jobs and tests."""
