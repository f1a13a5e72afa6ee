"""The recipe language: what to measure, how often, and which limits judge it."""
