"""From a plan to Buildkite's terms: plain data, then YAML with the same bytes every time."""
