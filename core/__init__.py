"""What every other package builds on: errors, processes, git, YAML, ids, clocks, logging."""
