"""Judges: components that decide on one item and give a reason."""
