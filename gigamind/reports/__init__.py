"""What a run leaves on disk: run.json, summary.json, summary.md, per_item.jsonl, errors.jsonl."""
