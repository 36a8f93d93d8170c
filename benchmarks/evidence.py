"""Measure how exactly and how fast a misquoted passage is found: gigamind and other tools.

A quote is a passage of about 200 characters with a share of them substituted, inserted or deleted at random.  Right:
the found span has an IoU of at least 0.95 with the true one.  Exact: both bounds are exact.  Times are CPU time.
Missing tools are left out (pip install instructor regex langextract fuzzysearch).

    python benchmarks/evidence.py [--quotes 200] [--slow-quotes 6]
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from statistics import mean

import numpy as np
from evidence_corpus import Case, cases, corpus
from opponents import find_opponents
from rapidfuzz import fuzz

from gigamind.evidence.align import Source, align
from gigamind.evidence.fuzzy import search
from gigamind.evidence.normalize import visible
from gigamind.evidence.result import Aligned
from gigamind.evidence.schema import DEFAULT, LEAST_FUZZY
from gigamind.spans import Span

RATES = (0.0, 0.05, 0.10, 0.15)
RIGHT_IOU = 0.95
OURS, ALONE = "gigamind", "gigamind, position only"
RUNS = 5


Locate = Callable[[str], Span | None]


def ours(text: str) -> Locate:
    source = Source(text)
    align("a quote that warms the caches up", source)

    def locate(quote: str) -> Span | None:
        found = align(quote, source)
        return found.span if isinstance(found, Aligned) else None

    return locate


def ours_alone(text: str) -> Locate:
    """Find only the position, without changes, proof and hints of `align`."""
    source = visible(text)
    search("a quote that warms the caches up", source, DEFAULT.search_threshold, LEAST_FUZZY)

    def locate(quote: str) -> Span | None:
        form = visible(quote).text
        found = search(form, source, DEFAULT.search_threshold, DEFAULT.fuzzy_threshold)
        return source.span(found[0].start, found[0].end) if found else None

    return locate


def by_rapidfuzz(text: str) -> Locate:
    def locate(quote: str) -> Span | None:
        found = fuzz.partial_ratio_alignment(quote, text)
        return found and Span(found.dest_start, found.dest_end)

    return locate


def by_edlib(text: str) -> Locate:
    """Find with edlib, which knows 256 characters: those of the quote get numbers, all others share one."""
    import edlib

    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)

    def locate(quote: str) -> Span | None:
        own = np.unique(np.frombuffer(quote.encode("utf-32-le"), np.uint32))
        numbers = np.zeros(int(max(codes.max(), own.max())) + 1, np.uint8)
        numbers[own] = np.arange(1, len(own) + 1)
        coded = numbers[np.frombuffer(quote.encode("utf-32-le"), np.uint32)]
        limit = int(0.2 * len(quote))
        found = edlib.align(
            coded.tobytes(), numbers[codes].tobytes(), mode="HW", task="locations", k=limit
        )
        return next((Span(first, last + 1) for first, last in found["locations"] or ()), None)

    return locate


def by_fuzzysearch(text: str) -> Locate:
    from fuzzysearch import find_near_matches

    def locate(quote: str) -> Span | None:
        found = find_near_matches(quote, text, max_l_dist=int(0.15 * len(quote) / 0.85))
        best = min(found, key=lambda match: match.dist, default=None)
        return best and Span(best.start, best.end)

    return locate


def by_instructor(text: str) -> Locate:
    from instructor import CitationMixin

    def locate(quote: str) -> Span | None:
        spans = CitationMixin(substring_quotes=[quote]).get_spans(text)
        return next((Span(*span) for span in spans), None)

    return locate


def by_langextract(text: str) -> Locate:
    from langextract.core.data import Extraction
    from langextract.resolver import Resolver

    def locate(quote: str) -> Span | None:
        asked = [Extraction(extraction_class="quote", extraction_text=quote)]
        for found in Resolver().align(asked, text, token_offset=0, char_offset=0):
            where = found.char_interval
            if where is not None and where.start_pos is not None:
                return Span(where.start_pos, where.end_pos)
        return None

    return locate


METHODS: dict[str, tuple[str, Callable[[str], Locate]]] = {
    OURS: ("gigamind", ours),
    ALONE: ("gigamind", ours_alone),
    "rapidfuzz": ("rapidfuzz", by_rapidfuzz),
    "edlib": ("edlib", by_edlib),
    "fuzzysearch": ("fuzzysearch", by_fuzzysearch),
    "instructor CitationMixin": ("instructor", by_instructor),
    "langextract": ("langextract", by_langextract),
}
SLOW = {"fuzzysearch", "instructor CitationMixin", "langextract"}


def in_turn(
    made: Mapping[str, Locate], rate: float, given: list[Case], runs: int = RUNS
) -> Iterator[dict[str, object]]:
    """Run the methods in turn per quote; yield shares, and medians over runs of the CPU per quote."""
    found: dict[str, list[Span | None]] = {}
    ms = {name: np.zeros((runs, len(given))) for name in made}
    for run in range(runs):
        found = {name: [] for name in made}
        for place, case in enumerate(given):
            for name, locate in made.items():
                started = time.process_time()
                found[name].append(locate(case.quote))
                ms[name][run, place] = 1000 * (time.process_time() - started)
    for name, spans in found.items():
        both = list(zip(spans, (case.true for case in given), strict=True))
        yield {
            "method": name,
            "edits": rate,
            "quotes": len(given),
            "right": mean(
                float(span is not None and span.iou(of) >= RIGHT_IOU) for span, of in both
            ),
            "exact": mean(float(span == of) for span, of in both),
            "ms": float(np.median(ms[name].mean(axis=1))),
            "p95": float(np.median(np.quantile(ms[name], 0.95, axis=1))),
            "max": float(ms[name].max()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Alignment of misquoted passages, against peers.")
    parser.add_argument("--quotes", type=int, default=200, help="quotes per rate")
    parser.add_argument(
        "--slow-quotes", type=int, default=0, help="for peers that take seconds each"
    )
    options = parser.parse_args()
    find_opponents()
    text = corpus()
    figures: list[dict[str, object]] = []
    for names, quotes, runs in (
        (METHODS.keys() - SLOW, options.quotes, RUNS),
        (SLOW, options.slow_quotes, 1),
    ):
        made = {
            name: make(text)
            for name, (module, make) in METHODS.items()
            if quotes and name in names and find_spec(module)
        }
        for rate in RATES:
            figures += in_turn(made, rate, cases(text, rate, quotes), runs)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
