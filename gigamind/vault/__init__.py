"""Reads a Markdown vault: notes, links, identities, the link graph, and the hash of it all."""
