"""Suggest links: words of a note that name another note, and how likely a person would link them."""
