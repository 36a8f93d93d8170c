gigamind eval search --dataset eval/queries.jsonl --notes eval/notes \
  --out eval/out/search-YYYYMMDD --format both
