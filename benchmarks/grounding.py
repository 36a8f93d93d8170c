"""Measure how well code alone decides which claims the sentence around a quote supports.

    python benchmarks/grounding.py                          # the labelled examples, claims made false
    python benchmarks/grounding.py --data DIR               # with begin_wow_dev.jsonl and kornli_dev.jsonl as well
    python benchmarks/grounding.py --text xquad.en.json --half odd --seed 9     # claims made from other texts
    python benchmarks/grounding.py --show                   # each accepted false claim, each contradicted honest one

BEGIN (Dziri et al.  2022), KorNLI (Ham et al.  2020), KLUE-NLI and FeverSymmetric are not in the repository.  Half of
each, by the hash of the id, chooses thresholds; the other half only measures.
"""

import argparse
import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from calibration import auc
from forgeries import VAULT, Case, add_text_options, cases, documents_of

from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.judges.search_qa.passage import Passage, Support
from gigamind.judges.search_qa.support import support
from gigamind.prompting.fences import Source
from gigamind.spans import Span
from gigamind.text import sentences

ANSWERS = VAULT.parent / "answers.jsonl"
Fate = Literal["contradicted", "doubtful", "believed"]
FATES: tuple[Fate, ...] = ("believed", "doubtful", "contradicted")


@dataclass(frozen=True, slots=True)
class Pair:
    """Hold a text and a statement about it with a human label."""

    id: str
    text: str
    claim: str
    supported: bool

    @property
    def is_for_choosing(self) -> bool:
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 0


def pairs_of(folder: Path) -> dict[str, list[Pair]]:
    def read(file: str, note: str, claim: str, supported: str) -> list[Pair]:
        return [
            Pair(row["id"], row[note], row[claim], row["label"] == supported)
            for row in rows(folder / file)
        ]

    return {
        "BEGIN": read("begin_wow_dev.jsonl", "note", "response", "Fully attributable"),
        "KorNLI": read("kornli_dev.jsonl", "premise", "hypothesis", "entailment"),
        "KLUE": read("klue_nli_part.jsonl", "premise", "hypothesis", "entailment"),
        "FEVER symmetric": read("fever_symmetric_dev.jsonl", "evidence", "claim", "SUPPORTS"),
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def word_coverage(pair: Pair) -> float:
    """Return the share of the statement's words that the text has: the reference for support."""
    there, words = (re.findall(r"\w+", one.lower()) for one in (pair.text, pair.claim))
    return sum(word in set(there) for word in words) / len(words) if words else 0.0


def free_support(pair: Pair) -> float:
    """Return the share; contradicted statements rank below all others."""
    found = support(pair.claim, Passage("", pair.text), note=pair.text)
    return found.share - bool(found.contradictions)


def fate(found: Support) -> Fate:
    if found.contradictions:
        return "contradicted"
    return "doubtful" if found.doubtful else "believed"


def f1(scores: Sequence[float], truth: Sequence[bool], threshold: float) -> float:
    called = [score >= threshold for score in scores]
    hits = sum(one and true for one, true in zip(called, truth, strict=True))
    return 2 * hits / (sum(called) + sum(truth))


def print_collections(folder: Path) -> None:
    print("| collection | by | AUC chosen on | AUC measured | threshold | F1 measured |")
    print("|---|---|---:|---:|---:|---:|")
    ways: dict[str, Callable[[Pair], float]] = {
        "word coverage": word_coverage,
        "support": free_support,
    }
    for name, pairs in pairs_of(folder).items():
        halves = [[one for one in pairs if one.is_for_choosing is half] for half in (True, False)]
        truths = [[one.supported for one in half] for half in halves]
        for way, score in ways.items():
            scores = [[score(one) for one in half] for half in halves]
            best = max(sorted(set(scores[0])), key=lambda at: f1(scores[0], truths[0], at))
            aucs = [auc(own, truth) or 0.0 for own, truth in zip(scores, truths, strict=True)]
            measured = f1(scores[1], truths[1], best)
            print(
                f"| {name} | {way} | {aucs[0]:.3f} | {aucs[1]:.3f} | {best:.2f} | {measured:.3f} |"
            )
        for half, what in zip(halves, ("chosen on", "measured"), strict=True):
            for supported in (True, False):
                found: list[Fate] = [
                    fate(support(one.claim, Passage("", one.text), note=one.text))
                    for one in half
                    if one.supported is supported
                ]
                label = "supported" if supported else "not supported"
                print(f"{name}, {what}, {label} by people: {counted(found)}")


def counted(found: Iterable[Fate]) -> str:
    counts = Counter(found)
    all_of_them = sum(counts.values())
    parts = [f"{counts[one]} {one}" for one in FATES]
    return f"{', '.join(parts)} of {all_of_them}"


def judged(case: Case) -> Support | None:
    """Return the verdict on a claim whose quote is its source sentence."""
    at = case.note.find(case.source)
    if at < 0:
        return None
    passage = Passage.of(Span(at, at + len(case.source)), case.note)
    return support(case.quote, passage, note=case.note)


def print_claims(made: Iterable[Case], *, show: bool) -> None:
    fates: defaultdict[tuple[bool, str, str], list[Fate]] = defaultdict(list)
    for case in made:
        found = judged(case)
        if found is None:
            continue
        fates[not case.forged, case.kind, case.language].append(fate(found))
        if show and fate(found) == ("believed" if case.forged else "contradicted"):
            print(
                f"{case.kind} {case.language} {found.contradictions}: {case.quote}\n  {case.source}"
            )
    print("| claim | ko | en |\n|---|---|---|")
    for honest, kind in sorted({key[:2] for key in fates}):
        cells = [counted(fates[honest, kind, language]) for language in ("ko", "en")]
        print(f"| {'honest' if honest else 'false'}: {kind} | {cells[0]} | {cells[1]} |")


def labelled_answers() -> Iterator[tuple[dict[str, Any], list[Source]]]:
    """Yield the rows of the labelled examples with their notes."""
    notes = {
        unicodedata.normalize("NFC", path.relative_to(VAULT).as_posix()): path.read_text("utf-8")
        for path in VAULT.rglob("*.md")
    }
    for row in rows(ANSWERS):
        yield (
            row,
            [
                Source(
                    one.get("title") or Path(one["path"]).stem,
                    one.get("text") or notes[one["path"]],
                )
                for one in row["context_notes"]
            ],
        )


def print_examples() -> None:
    """Print the labelled answers by their quotes, and by the last line of note 1, as a judge that reads nothing."""
    fates: defaultdict[str, list[Fate]] = defaultdict(list)
    for row, context in labelled_answers():
        first, question = context[0], row["question"]
        for claim in row["labels"]["claims"]:
            note = context[(claim["note"] or 1) - 1]
            passage = Passage.of(sentences(first.text)[-1], first.text)
            lied = support(
                claim["text"], passage, title=first.title, question=question, note=first.text
            )
            fates[f"{claim['verdict']}, by the last line of note 1"].append(fate(lied))
            found = align(claim["quote"] or "", note.text)
            if isinstance(found, Aligned):
                passage = Passage.of(found.span, note.text)
                judged = support(
                    claim["text"], passage, title=note.title, question=question, note=note.text
                )
                across = is_korean(claim["text"]) != is_korean(passage.text)
                way = "across languages" if across else "in one language"
                fates[f"{claim['verdict']}, {way}, by the labelled quote"].append(fate(judged))
    for name, found in sorted(fates.items()):
        print(f"examples: {name}: {counted(found)}")


def is_korean(text: str) -> bool:
    return bool(re.search("[가-힣]{2}.*[가-힣]{2}", text, re.DOTALL))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of the two collections")
    add_text_options(parser)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if options.data:
        print_collections(options.data)
    made = cases(documents_of(options.text, options.half), options.seed)
    print_claims(made, show=options.show)
    print_examples()


if __name__ == "__main__":
    main()
