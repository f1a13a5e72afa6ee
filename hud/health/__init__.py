"""The page Health."""
