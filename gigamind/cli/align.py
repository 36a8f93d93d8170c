"""`gigamind align`: says of each quote where it stands in its source, or why it does not."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import click

from gigamind.cli.alignments import markdown, print_table
from gigamind.cli.files import STDIN
from gigamind.cli.quotes import NamedSource, read_quotes, read_source
from gigamind.errors import InputError
from gigamind.evidence.align import align_all
from gigamind.evidence.config import DEFAULT, LEAST_FUZZY, AlignConfig
from gigamind.evidence.quality import quality
from gigamind.evidence.record import records
from gigamind.evidence.result import AlignResult
from gigamind.evidence.source import text_hash


@click.command(
    "align", epilog="Exit codes: 0 done; 1 bad input, or a failed quote with --require-all."
)
@click.option(
    "--source",
    "source_names",
    metavar="FILE",
    multiple=True,
    required=True,
    help='UTF-8 text to look in; repeat for several, "-" is standard input.',
)
@click.option(
    "--quotes",
    "quotes_name",
    metavar="FILE",
    required=True,
    help='JSONL: {"quote"} and, as needed, source_index or source, prefix, suffix, hint, entry_id; or "-".',
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "md"]),
    help="Instead of the table for the terminal.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(LEAST_FUZZY, 1.0),
    default=DEFAULT.fuzzy_threshold,
    show_default=True,
    help="Similarity from which a misquote is still accepted.",
)
@click.option("--no-fuzzy", is_flag=True, help="Accept exact and normalised matches only.")
@click.option("--require-all", is_flag=True, help="Exit with 1 if a quote failed.")
def align(
    source_names: tuple[str, ...],
    quotes_name: str,
    form: str | None,
    threshold: float,
    *,
    no_fuzzy: bool,
    require_all: bool,
) -> None:
    """Find where quotes stand in their sources.

    A quote is found verbatim, or up to white space, case, Unicode and Markdown, or up to a few edits; otherwise the
    reason is given.  Offsets are half-open, in code points and in UTF-16 code units.
    """
    config = _config(threshold, no_fuzzy=no_fuzzy)
    _check_streams((*source_names, quotes_name))
    sources = [read_source(name, config.max_source_chars) for name in source_names]
    quotes = read_quotes(quotes_name, sources)
    result = align_all(quotes, [source.text for source in sources], config=config)
    if form == "json":
        click.echo(json.dumps(_document(result, sources), indent=2, ensure_ascii=False))
    elif form == "md":
        click.echo(markdown(result, sources))
    else:
        print_table(result, sources)
    if require_all and result.failed:
        raise click.exceptions.Exit(1)


def _config(threshold: float, *, no_fuzzy: bool) -> AlignConfig:
    search = min(DEFAULT.search_threshold, threshold)
    return AlignConfig(fuzzy_threshold=threshold, search_threshold=search, fuzzy=not no_fuzzy)


def _check_streams(names: Sequence[str]) -> None:
    if Counter(names)[STDIN] > 1:
        raise InputError(
            '"-" (standard input) can be read once: give it for one source or the quotes'
        )


def _document(result: AlignResult, sources: Sequence[NamedSource]) -> dict[str, object]:
    rates = quality(result.outcomes)
    return {
        "schema_version": 1,
        "sources": [
            {
                "index": index,
                "name": source.name,
                "sha256": text_hash(source.text),
                "chars": len(source.text),
            }
            for index, source in enumerate(sources)
        ],
        "results": records(result, [source.text for source in sources]),
        "quality": rates and asdict(rates),
    }
