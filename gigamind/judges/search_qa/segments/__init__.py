"""Splits an answer into claims for a judge, and determines what its other sentences are, by rules alone."""
