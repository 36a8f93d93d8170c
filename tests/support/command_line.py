"""Options of commands that many tests use, and the files of a whole run."""

from faulty_model import FakeServer

# over `vault` and `queries.jsonl` of the working folder
SEARCH = ("eval", "search", "--dataset", "queries.jsonl", "--notes", "vault", "--mode", "keyword")

RUN_FILES = [
    "errors.jsonl", "per_item.jsonl", "report.html", "run.json", "summary.json", "summary.md",
]  # fmt: skip


def reached(server: FakeServer) -> tuple[str, ...]:
    """Options of a server whose speed is not measured, because both limits are given."""
    return ("--api-base", server.url, "--max-in-flight", "16", "--model-timeout-s", "60")
