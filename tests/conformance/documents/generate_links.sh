gigamind eval generate-links \
  --notes ~/my-vault \
  --out-notes eval/notes-modified \
  --dataset eval/links.jsonl \
  --remove-ratio 0.3
