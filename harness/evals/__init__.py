"""Accuracy tasks: every sample is kept, and a failed request is not a wrong answer."""
