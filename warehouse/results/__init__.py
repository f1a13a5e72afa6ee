"""Results of other programs (load generators, accuracy harnesses) read into rows."""
