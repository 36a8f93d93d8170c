"""Cuts an answer into the claims that a judge decides on, and tells what its other sentences are: by rules alone."""
