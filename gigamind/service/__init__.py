"""Search-QA over HTTP (seed 004): people ask their notes, see the answer stream, and how far it may be trusted."""
