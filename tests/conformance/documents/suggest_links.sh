gigamind suggest-links --note projects/gigamind.md --max 10 --min-confidence 0.5
