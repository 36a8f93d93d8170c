"""`gigamind eval ...`."""

import click

from gigamind.cli.lazy import LazyGroup

_COMMANDS = {
    "search": ("evaluations:search", "Measure how well retrieval answers queries."),
    "links": ("evaluations:links", "Measure how many removed links are suggested again."),
    "answers": (
        "evaluations:answers",
        "Judge answers claim by claim, by quotes that stand in the notes.",
    ),
    "generate-links": (
        "generate:generate_links",
        "Make a link dataset: a copy of a vault, with links removed.",
    ),
    "generate-queries": ("generate:generate_queries", "Make a search dataset for review."),
}


@click.group(name="eval", cls=LazyGroup, lazy=_COMMANDS)
def evaluate() -> None:
    """Evaluate search, links and answers over a vault, and make datasets for it."""
