"""Candidate against baseline: from repetitions to verdicts, without any storage.

``margins`` says what matters, ``looks`` how often one may look, ``refusals`` what must not be
compared, ``effects`` how large a change is and how sure, ``decide`` what that means, ``compare``
puts them together. docs/significance.md has claims and formulas.
"""
