"""`gigamind eval search` over `vault` and `queries.jsonl` of the working folder, as the tests of commands call it."""

SEARCH = ("eval", "search", "--dataset", "queries.jsonl", "--notes", "vault", "--mode", "keyword")
