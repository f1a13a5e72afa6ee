"""Proof of what was shipped: sums, bills of materials, provenance, signatures."""
