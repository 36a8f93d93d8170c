"""Measure how exactly and how fast a misquoted passage is found: gigamind and other tools.

A quote is a passage of about 200 characters with a share of them substituted, inserted or deleted at random.  Right:
the found span has an IoU of at least 0.95 with the true one.  Exact: both bounds are exact.  Times are CPU time.
Missing tools are listed (pip install instructor regex langextract fuzzysearch).

    python benchmarks/evidence.py [--quotes 200] [--slow-quotes 6]
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median

import numpy as np
from evidence_corpus import QUOTE_CHARS, Case, cases, corpus
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


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    method: str
    rate: float
    quotes: int
    right: float
    exact: float
    mean_ms: float
    max_ms: float


Locate = Callable[[str], Span | None]


def measure(method: str, locate: Locate, rate: float, given: list[Case]) -> Row:
    """Run one method over the cases of one rate."""
    found: list[Span | None] = []
    times: list[float] = []
    for case in given:
        started = time.process_time()
        found.append(locate(case.quote))
        times.append(1000 * (time.process_time() - started))
    right = [
        span is not None and span.iou(case.true) >= RIGHT_IOU
        for span, case in zip(found, given, strict=True)
    ]
    exact = [span == case.true for span, case in zip(found, given, strict=True)]
    return Row(method, rate, len(given), mean(right), mean(exact), mean(times), max(times))


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
SLOW = ("fuzzysearch", "instructor CitationMixin", "langextract")


def in_turn(text: str, quotes: int) -> list[dict[str, object]]:
    """Run the fast methods in turn per quote; return the median over runs of the mean CPU per quote, and p95."""
    made = {
        name: make(text)
        for name, (module, make) in METHODS.items()
        if name not in SLOW and find_spec(module)
    }
    figures: list[dict[str, object]] = []
    for rate in RATES:
        given = cases(text, rate, quotes)
        rows: dict[str, list[Row]] = {name: [] for name in made}
        for _ in range(RUNS):
            by_case = [
                {name: measure(name, locate, rate, [case]) for name, locate in made.items()}
                for case in given
            ]
            for name in made:
                own = [one[name] for one in by_case]
                times = [row.mean_ms for row in own]
                p95 = float(np.quantile(times, 0.95))
                right, exact = mean(row.right for row in own), mean(row.exact for row in own)
                rows[name].append(Row(name, rate, quotes, right, exact, mean(times), p95))
        for name, runs in rows.items():
            ms, p95 = median(row.mean_ms for row in runs), median(row.max_ms for row in runs)
            shared = {"method": name, "edits": rate, "quotes": quotes, "exact": runs[0].exact}
            figures.append({**shared, "right": runs[0].right, "ms": ms, "p95": p95})
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Alignment of misquoted passages, against peers.")
    parser.add_argument("--quotes", type=int, default=200, help="quotes per rate")
    parser.add_argument(
        "--slow-quotes",
        type=int,
        default=6,
        help="quotes per rate for peers that take seconds each",
    )
    parser.add_argument("--fast", action="store_true", help="only the methods that take ms")
    parser.add_argument("--json", type=Path, help="with --fast: where medians of five runs go")
    options = parser.parse_args()
    find_opponents()
    text = corpus()
    if options.fast:
        figures = in_turn(text, options.quotes)
        print(json.dumps(figures, indent=1))
        if options.json:
            options.json.write_text(json.dumps(figures), "utf-8")
        return
    print(f"{len(text):,} characters, quotes of about {QUOTE_CHARS}\n")
    print("| method | edits | quotes | right span | exact bounds | mean ms | max ms |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (module, make) in METHODS.items():
        if find_spec(module) is None:
            print(f"| {name} | | | not installed | | | |")
            continue
        locate = make(text)
        for rate in RATES:
            given = cases(text, rate, options.slow_quotes if name in SLOW else options.quotes)
            row = measure(name, locate, rate, given)
            print(
                f"| {name} | {row.rate:.0%} | {row.quotes} | {row.right:.2f} | {row.exact:.2f} "
                f"| {row.mean_ms:.1f} | {row.max_ms:.1f} |"
            )


if __name__ == "__main__":
    main()
