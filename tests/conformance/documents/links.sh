gigamind eval links --dataset eval/links.jsonl --notes eval/notes-modified \
  --out eval/out/links-YYYYMMDD --format both
