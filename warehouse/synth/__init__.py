"""A made-up history at a chosen scale: seeded, so that the same call gives the same rows."""
