"""Read a Markdown vault: notes, links, identities, the link graph and a hash of everything."""
