"""Is it worse? Both builds answer the same questions; the answers are paired, then judged."""
