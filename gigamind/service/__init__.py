"""Search-QA over HTTP (spec 004): questions about the notes, streamed answers and their evaluation."""
