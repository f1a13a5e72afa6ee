"""The highest load that keeps given limits: bisection over probes that must each be clear."""
