"""The files of the out folder of a whole run, in alphabetical order."""

RUN_FILES = [
    "errors.jsonl", "per_item.jsonl", "report.html", "run.json", "summary.json", "summary.md",
]  # fmt: skip
