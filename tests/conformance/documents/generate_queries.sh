gigamind eval generate-queries --notes eval/notes --out eval/queries.jsonl
