"""Gates: what a build must show, and whether it did."""
