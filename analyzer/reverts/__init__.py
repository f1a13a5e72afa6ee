"""Take a proven culprit back: a branch that applies, a draft with the proof, and a record of it."""
