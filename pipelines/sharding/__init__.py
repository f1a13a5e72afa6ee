"""One long test job as the fewest parallel ones: every test runs exactly once, provably."""
