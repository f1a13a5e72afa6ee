"""Release gates over recorded verdicts; a missing verdict blocks."""
