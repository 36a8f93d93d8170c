"""Judges an answer over notes, claim by claim: whether each is grounded, and whether the answer helps (spec 004)."""
