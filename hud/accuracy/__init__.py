"""The page Accuracy."""
