"""Release notes, drafted from what was merged."""
