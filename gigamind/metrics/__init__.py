"""Metrics of an evaluation: one concept per module, without input or output."""
