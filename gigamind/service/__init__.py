"""Search-QA over HTTP (seed 004): questions about the notes, streamed answers and their evaluation."""
