"""Suggests links: which words of a note name another note, and how likely a person would link them."""
