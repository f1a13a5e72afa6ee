"""From what a job left behind (test reports, a log) to rows of the warehouse."""
