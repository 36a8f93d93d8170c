"""Judges: components that decide on one item and say why."""
