"""Made worlds in which the culprit is known, and the searches that look for it."""
