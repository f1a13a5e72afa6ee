"""Two sweeps side by side: throughput per GPU against what one user sees, as frontiers."""
