"""Measure how well each retriever and each fusion ranks: MRR@10 of keyword, vectors, weighted and balanced.

    .venv/bin/python benchmarks/verdict_fusion.py --xquad DIR       # without it, over the examples and titles alone

The slices marked so chose the constants of balanced fusion; all others only measure.  Two-word questions are the two
longest words of a question; titles ask for a note by its name.
"""

import argparse
import os
import re
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from vaults import Collection, documentation, example_queries, xquad

from gigamind.datasets.check import CheckedQuery
from gigamind.metrics.ranking import RankedQuery, measure_rankings
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.settings import RetrievalSettings, default_cache_folder
from gigamind.vault.notes import Vault

SIZES = (60, 180, 1_000, 5_000)
TITLES = 300
CHOSEN = {"en", "es"}  # languages of XQuAD that constants were chosen on, straight and across
PAIRS = (("en", "en"), ("es", "es"), ("de", "de"), ("es", "en"), ("de", "en"))  # asked, noted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xquad", type=Path, help="folder with xquad.en.json, ...")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    print(
        "| slice | notes | constants | queries | keyword | vectors | weighted | balanced |", end=""
    )
    print(" balanced - better leg | - weighted |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as place:
        for made in _collections(arguments.xquad, Path(place), arguments.sizes):
            _print_rows(*made)


@dataclass(frozen=True, slots=True)
class Question:
    """Hold a question and its answering notes, at least one."""

    text: str
    qrels: Mapping[str, int]


Slices = Mapping[str, list[Question]]


SlicesOf = Callable[[Vault, Sequence[CheckedQuery]], Slices]


def _collections(
    folder: Path | None, place: Path, sizes: Iterable[int]
) -> Iterator[tuple[Collection, bool, SlicesOf]]:
    for odd_ids in (False, True):
        yield example_queries(place / "examples", odd_ids=odd_ids), not odd_ids, _of_examples
    for size in sizes:
        titles = documentation(place / "titles", size, min(size, TITLES))
        yield titles, False, lambda _vault, queries: {"": _questions(queries)}
    if folder is None:
        return
    for asked, noted in PAIRS:
        for size in sizes:
            # The fourth part of the articles is held out: all make 180 notes, every third 60.
            articles = slice(0, None, 3) if size < 180 else slice(None)
            collection = xquad(
                folder, place / "xquad", size, notes=noted, queries=asked, articles=articles
            )
            yield collection, {asked, noted} <= CHOSEN, _with_two_words


def _with_two_words(_vault: Vault, queries: Sequence[CheckedQuery]) -> Slices:
    questions = _questions(queries)
    return {"": questions, "two words": [replace(q, text=_two_words(q.text)) for q in questions]}


def _of_examples(vault: Vault, queries: Sequence[CheckedQuery]) -> Slices:
    crossed = [query for query in queries if "cross-lingual" in query.item.tags]
    korean = [query for query in queries if query.item.language == "ko"]
    return {
        **_with_two_words(vault, queries),
        "Korean": _questions(korean),
        "cross-lingual": _questions(crossed),
        "titles": [Question(note.title, {note.path: 1}) for note in vault.notes],
    }


def _questions(queries: Iterable[CheckedQuery]) -> list[Question]:
    return [Question(query.item.query, query.qrels) for query in queries if query.item.answerable]


def _two_words(text: str) -> str:
    words = re.findall(r"[^\W_]+", text)
    longest = sorted(range(len(words)), key=lambda place: (-len(words[place]), place))[:2]
    return " ".join(words[place] for place in sorted(longest))


def _mrr(found: Iterable[RankedQuery]) -> float:
    return statistics.fmean(figures["mrr"] or 0.0 for figures in measure_rankings(list(found), 1))


def _print_rows(collection: Collection, chosen: bool, slices_of: SlicesOf) -> None:  # noqa: FBT001
    settings = RetrievalSettings(fusion="balanced", cache=default_cache_folder())
    with collection.opened(settings) as (vault, queries, retriever):
        ways = _ways(retriever)
        for kind, questions in slices_of(vault, queries).items():
            keyword, vectors, weighted, balanced = (
                _mrr(RankedQuery([h.note for h in way.search(q.text)], q.qrels) for q in questions)
                for way in ways
            )
            name = f"{collection.name}: {kind}" if kind else collection.name
            print(f"| {name} | {collection.size} | {'chosen' if chosen else 'measured'}", end="")
            print(f" | {len(questions)} | {keyword:.3f} | {vectors:.3f} | {weighted:.3f}", end="")
            print(f" | {balanced:.3f} | {balanced - max(keyword, vectors):+.3f}", end="")
            print(f" | {balanced - weighted:+.3f} |", flush=True)


def _ways(balanced: Retriever) -> list[Retriever]:
    """Return keyword, vectors, weighted and balanced rankings over one index; a question is embedded once."""
    recorded, recalled = balanced.recording()
    legs = [replace(recalled.fusion, alpha=alpha) for alpha in (0.0, 1.0)]
    return [
        replace(balanced, semantic=None, fusion=legs[0], balanced=False),
        replace(recorded, fusion=legs[1], balanced=False),
        replace(recalled, balanced=False),
        recalled,
    ]


if __name__ == "__main__":
    main()
