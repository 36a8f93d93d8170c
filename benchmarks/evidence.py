"""Measure how exactly and how fast a misquoted passage is found: gigamind and other tools.

A quote is a passage of about 200 characters with a share of them substituted, inserted or deleted at random.  Right:
the found span has an IoU of at least 0.95 with the true one.  Exact: both bounds are exact.  Times are CPU time.
Korean and English text comes from word lists (CC0) and a seed.  Missing tools are left out (pip install instructor
regex langextract fuzzysearch).

    python benchmarks/evidence.py [--quotes 200] [--slow-quotes 6]
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import mean

import numpy as np
from opponents import find_opponents
from rapidfuzz import fuzz

from gigamind.evidence.align import Source, align
from gigamind.evidence.fuzzy import search
from gigamind.evidence.normalize import Folding
from gigamind.evidence.result import Aligned
from gigamind.evidence.schema import DEFAULT, LEAST_FUZZY
from gigamind.spans import Span

CORPUS_CHARS = 100_000
QUOTE_CHARS = 200
RATES = (0.0, 0.05, 0.10, 0.15)
RIGHT_IOU = 0.95
OURS, ALONE = "gigamind", "gigamind, position only"
RUNS = 5


Locate = Callable[[str], Span | None]


def phrases(text: str) -> list[str]:
    return text.split("|")


KO_SUBJECTS = phrases(
    "사용자|노트|검색기|색인|임베딩|그래프|평가자|판정기|배포판|관리자|세션|질의|답변|링크|저장소|문단|제목|태그|일정"
    "|담당자|회의록|초안|인용문|근거|점수|기준선|표본|순위|캐시|작업자|모델|프롬프트|스키마|이벤트|보고서|예산"
)
KO_PARTICLES = phrases("은|는|이|가|도|만")
KO_OBJECTS = phrases(
    "변경 사항을|결과를|오차를|신뢰구간을|오류 기록을|중복 항목을|날짜를|권한을|설정값을|원문을|해시를|토큰 수를"
    "|지연 시간을|비용을|재시도 횟수를|연결 관계를|누락된 문서를|첫 번째 제안을|다음 단계를|검토 의견을|승인 절차를"
)
KO_ADVERBS = phrases(
    "항상|먼저|매주|다시|천천히|자동으로|정확하게|나중에|함께|조용히|한꺼번에|필요할 때만"
)
KO_VERBS = phrases(
    "확인한다|기록합니다|비교했다|저장한다|삭제하지 않는다|계산해야 한다|보여 준다|요약했다|거부한다|설명합니다"
    "|측정했다|정렬한다|갱신하였다|돌려준다|남겨 둔다|옮겼다"
)
EN_SUBJECTS = phrases(
    "reader|index|vault|note|writer|judge|baseline|sample|quote|passage|release|manager|session|embedding|graph"
    "|threshold|cache|worker|model|schema|event|report|budget|query|answer|chunk|heading|folder"
)
EN_VERBS = phrases(
    "keeps|measures|compares|stores|rejects|explains|updates|returns|counts|aligns|reviews|publishes|repeats|ignores"
    "|records|loads|merges|splits"
)
EN_OBJECTS = phrases(
    "every result|the first suggestion|a stale link|its own history|two nearby dates|the missing evidence|old drafts"
    "|an open question|the daily budget|all failed quotes|a broken heading|the next release|each retry"
    "|a careful answer|the shortest path|several duplicates"
)
EN_TAILS = phrases(
    "before noon|without delay|for the whole team|in a single pass|after each meeting|on a quiet machine|by hand"
    "|when nobody asks|at most twice|as the policy says"
)


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one misquoted passage and its origin."""

    quote: str
    true: Span


def sentences(rnd: random.Random) -> Iterator[str]:
    """Yield sentences without end; one in six has a number, one in three is English."""
    while True:
        number = f" {rnd.randrange(2, 4000)}" if rnd.random() < 1 / 6 else ""
        if rnd.random() < 1 / 3:
            subject, verb = rnd.choice(EN_SUBJECTS), rnd.choice(EN_VERBS)
            yield f"The{number} {subject} {verb} {rnd.choice(EN_OBJECTS)} {rnd.choice(EN_TAILS)}."
        else:
            subject = rnd.choice(KO_SUBJECTS) + rnd.choice(KO_PARTICLES)
            count = f"{number}건의" if number else ""
            words = (
                subject,
                rnd.choice(KO_ADVERBS),
                count.strip(),
                rnd.choice(KO_OBJECTS),
                rnd.choice(KO_VERBS),
            )
            yield " ".join(word for word in words if word) + "."


def corpus(seed: int = 7) -> str:
    """Return about 100 000 characters: paragraphs of eight to fourteen sentences."""
    rnd = random.Random(seed)
    source = sentences(rnd)
    paragraphs: list[str] = []
    length = 0
    while length < CORPUS_CHARS:
        paragraphs.append(" ".join(next(source) for _ in range(rnd.randint(8, 14))))
        length += len(paragraphs[-1]) + 2
    return "\n\n".join(paragraphs)[:CORPUS_CHARS]


def edited(text: str, rate: float, rnd: random.Random) -> str:
    """Return `text` with `rate` of its characters, rounded down, substituted, deleted, or preceded by another.

    Drawn again when it leaves two spaces in a row: they are one after normalising, which would be another edit.
    """
    alphabet = "가나다라마바사을를이은abcdefgst"
    while True:
        touched = set(rnd.sample(range(len(text)), int(rate * len(text))))
        parts: list[str] = []
        for position, char in enumerate(text):
            kind = rnd.randrange(3) if position in touched else None
            if kind is None:
                parts.append(char)
            elif kind == 0:
                parts.append(rnd.choice(alphabet.replace(char, "")))
            elif kind == 1:
                parts.append(rnd.choice(alphabet) + char)
        changed = "".join(parts)
        if changed == " ".join(changed.split()):
            return changed


def cases(text: str, rate: float, count: int) -> list[Case]:
    """Return misquoted passages of whole words within one paragraph."""
    rnd = random.Random(f"{rate}")
    made: list[Case] = []
    while len(made) < count:
        at = rnd.randrange(len(text) - 2 * QUOTE_CHARS)
        start = text.index(" ", at) + 1
        end = text.rindex(" ", start, start + QUOTE_CHARS + rnd.randrange(20))
        passage = text[start:end]
        if "\n" not in passage and text.count(passage) == 1:
            made.append(Case(edited(passage, rate, rnd), Span(start, end)))
    return made


def ours(text: str) -> Locate:
    source = Source(text)
    align("a quote that warms the caches up", source)

    def locate(quote: str) -> Span | None:
        found = align(quote, source)
        return found.span if isinstance(found, Aligned) else None

    return locate


def ours_alone(text: str) -> Locate:
    """Find only the position, without changes, proof and hints of `align`."""
    source = Folding.visible(text)
    search("a quote that warms the caches up", source, DEFAULT.search_threshold, LEAST_FUZZY)

    def locate(quote: str) -> Span | None:
        form = Folding.visible(quote).text
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
