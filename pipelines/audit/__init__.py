"""The linter of an engine's CI definitions: prepared input, rules, baseline, report."""
