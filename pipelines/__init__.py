"""From a diff to a Buildkite pipeline: definitions, changes, selection, plan, pipeline."""
