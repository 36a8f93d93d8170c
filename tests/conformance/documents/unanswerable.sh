# Phase 1: threshold 기반 (기본)
gigamind eval search --dataset eval/queries.jsonl --notes eval/notes

# Phase 2: LLM 판정 (opt-in)
gigamind eval search --dataset eval/queries.jsonl --notes eval/notes \
  --unanswerable-mode llm
