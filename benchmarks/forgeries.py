"""Measure which forged quotes (16 ways) and honest copies (11 kinds) of real texts count as proof.

Memory verifies an entry by a `promotable` quote; a judge accepts a claim by `judges.quotes.strongest`.  The forgers
draw with a seed and have their own word lists: the rule has no names, cities, opposites or tenses.  A name, a city, a
gloss, a hedge and a question are first written into the source, because few sentences have one.

    python benchmarks/forgeries.py                                  # examples/vault and the docs of installed packages
    python benchmarks/forgeries.py --text xquad.en.json --half odd  # also JSONL with "premise" or "note"
    python benchmarks/forgeries.py --show                           # each accepted forgery, each refused honest copy
    python benchmarks/forgeries.py --time                           # CPU milliseconds, by the note's length
"""

import argparse
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from forgers import FORGED_EN, FORGED_KO, HONEST, Forger, merged

from gigamind.evidence.align import Source, align
from gigamind.evidence.proof import why_unproven
from gigamind.evidence.result import Aligned
from gigamind.judges.quotes import strongest
from gigamind.judges.search_qa.passage import Passage
from gigamind.judges.search_qa.support import support
from gigamind.text import sentences as spans_of_sentences

VAULT = Path(__file__).parents[1] / "examples" / "vault"
NOTE_CHARS = 3_600
LEAST_CHARS, MOST_CHARS = 34, 300  # of a sentence: fuzzy matches prove nothing below 30
A_KIND = 24  # cases of a kind, a language and a text
MIN_QUOTE_CHARS = 8
CLAIMS = 200  # of one answer over one long note
LONG = 100_000  # characters of that note
FORGED = {"ko": {**FORGED_KO, "merged": merged}, "en": {**FORGED_EN, "merged": merged}}
COPIED = dict.fromkeys(FORGED, HONEST)


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one quote of a note; a forged one must prove nothing.  `source` is the original text in the note."""

    kind: str
    language: str
    forged: bool
    note: str
    source: str
    quote: str


def sentences(document: str) -> list[str]:
    """Return prose sentences of a text that fit a quote."""
    lines = [
        line for line in document.split("\n") if not re.match(r"\s*(?:[-#>|*`\[<+=:.]|\d+\.)", line)
    ]
    found = re.split(r"(?<=[.!?])\s+", " ".join(" ".join(lines).split()))
    return [one for one in found if LEAST_CHARS <= len(one) <= MOST_CHARS and one[-1:] in ".?!"]


def cases(
    documents: Sequence[str],
    seed: int,
    kinds: Mapping[str, Mapping[str, Forger]] = FORGED,
    honest: Mapping[str, Mapping[str, Forger]] = COPIED,
) -> Iterator[Case]:
    """Return up to `A_KIND` cases per kind and language, from sentences in random order."""
    draw = random.Random(seed)
    at_hand = [(one, text) for text in documents for one in _with_next(sentences(text))]
    for language, forged in kinds.items():
        own = [
            row for row in at_hand if bool(re.search("[가-힣]", row[0][0])) == (language == "ko")
        ]
        for kind, forge in (*forged.items(), *honest[language].items()):
            draw.shuffle(own)
            made = 0
            for (sentence, following), text in own:
                if kind == "merged":
                    found = merged(sentence, draw, following) if following else None
                else:
                    found = forge(sentence, draw)
                if found is None or (kind == "merged" and found[1] in found[0]):
                    continue
                source, quote = found
                note = _note(text, sentence, source)
                yield Case(kind, language, kind not in honest[language], note, source, quote)
                made += 1
                if made == A_KIND:
                    break


def _with_next(found: list[str]) -> list[tuple[str, str]]:
    return list(zip(found, [*found[1:], ""], strict=True)) if found else []


def _note(text: str, sentence: str, source: str) -> str:
    """Return the source on its own line within the text around its sentence."""
    lines = " ".join(text.split())
    at = lines.find(sentence)
    if at < 0:  # the sentence went over a line that is no prose
        return source
    before = lines[max(0, at - NOTE_CHARS // 2) : at]
    after = lines[at + len(sentence) : at + len(sentence) + NOTE_CHARS // 2]
    return f"{before}\n\n{source}\n\n{after}"


def memory_verifies(case: Case) -> bool:
    found = align(case.quote, case.note)
    return isinstance(found, Aligned) and found.promotable


def judge_believes(case: Case) -> bool:
    found = align(case.quote, case.note)
    return isinstance(found, Aligned) and strongest(found, case.note, MIN_QUOTE_CHARS)[1] is None


def texts_of(path: Path) -> list[str]:
    """Return notes of a folder, contexts of an XQuAD file, or premises or notes of JSONL, eight each."""
    if path.is_dir():
        notes = [one.read_text("utf-8") for one in sorted(path.rglob("*.md"))]
        return [re.sub(r"\A---\n.*?\n---\n", "", note, flags=re.DOTALL) for note in notes]
    if path.suffix == ".json":
        articles = json.loads(path.read_text("utf-8"))["data"]
        return [one["context"] for article in articles for one in article["paragraphs"]]
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    lines = list(dict.fromkeys(row.get("premise") or row.get("note") for row in rows))
    return ["\n".join(lines[at : at + 8]) for at in range(0, len(lines), 8)]


def package_docs() -> list[str]:
    """Return the documentation of installed packages."""
    named = {one.name: one for one in distributions()}
    return [str(named[name].metadata["Description"])[:20_000] for name in sorted(named)]


def print_rates(made: Sequence[Case], *, show: bool) -> None:
    counts: defaultdict[tuple[bool, str], list[tuple[str, bool, bool]]] = defaultdict(list)
    for case in made:
        row = (case.language, memory_verifies(case), judge_believes(case))
        counts[not case.forged, case.kind].append(row)
        if show and case.forged in row[1:]:
            wrong = "believed" if case.forged else "refused"
            found = align(case.quote, case.note)
            why = getattr(found, "unproven", found)
            print(f"{wrong} {case.language} {case.kind}: {case.quote}\n    {why}")
    print("| kind | quotes | memory: ko, en | judge: ko, en |\n|---|---|---|---|")
    for (honest, kind), rows in sorted(counts.items()):
        cells = [
            f"{[row[at] for row in own].count(True)} of {len(own)}"
            for at in (1, 2)
            for own in (
                [row for row in rows if row[0] == "ko"],
                [row for row in rows if row[0] == "en"],
            )
        ]
        name = f"{'honest' if honest else 'forged'}: {kind}"
        print(f"| {name} | {len(rows)} | {cells[0]}, {cells[1]} | {cells[2]}, {cells[3]} |")
    typos = [align(one.quote, one.note) for one in made if one.kind == "typo"]
    unproven = [one.unproven for one in typos if isinstance(one, Aligned) and one.unproven]
    near = sum(one.near for one in unproven)
    print(f"typos that are reported as near: {near} of {len(typos)}")
    for honest in (False, True):
        rows = [row for (kind, _), one in counts.items() if kind is honest for row in one]
        proven = [sum(bool(row[at]) for row in rows) for at in (1, 2)]
        line = f"memory {proven[0]}, judge {proven[1]} of {len(rows)}"
        print(f"{'honest, proven' if honest else 'forged, believed'}: {line}")


def print_times(made: Sequence[Case]) -> None:
    """Print CPU times by the note's length: of a quote with normalising its note, of one more, of proof and support."""
    for copies in (1, 3, 9):
        spent: defaultdict[str, list[float]] = defaultdict(list)
        lengths: list[int] = []
        for case in made[:: max(1, len(made) // 150)]:
            note = "\n\n".join([case.note, *[case.note.replace(case.quote, "")] * (copies - 1)])
            lengths.append(len(note))
            with timed(spent["a quote"]):
                found = align(case.quote, note)
                if isinstance(found, Aligned):
                    strongest(found, note, MIN_QUOTE_CHARS)
            if isinstance(found, Aligned):
                source = Source(note)
                align(case.quote, source)
                with timed(spent["with the note at hand"]):
                    align(case.quote, source)
                with timed(spent["the proof alone"]):
                    why_unproven(case.quote, found.span, note, fuzzy=found.method == "fuzzy")
                with timed(spent["the support of a claim"]):
                    support(case.quote, Passage.of(found.span, note), note=note)
        means = ", ".join(f"{what} {sum(ms) / len(ms):.2f} ms" for what, ms in spent.items())
        worst = max(spent["a quote"])
        print(f"{sum(lengths) // len(lengths):>6} characters: {means}; worst quote {worst:.1f} ms")
    note = "\n\n".join(case.note for case in made)[:LONG]
    quotes = [one for one in spans_of_sentences(note) if len(one) >= MIN_QUOTE_CHARS][:CLAIMS]
    taken: list[float] = []
    with timed(taken):
        for span in quotes:
            support(f"{span.slice(note)} 77 days", Passage.of(span, note), note=note)
    print(f"{len(quotes)} claims over {len(note)} characters: {taken[0] / 1000:.2f} s")


@contextmanager
def timed(times: list[float]) -> Iterator[None]:
    """Append the CPU milliseconds of a block."""
    started = time.process_time()
    yield
    times.append(1000 * (time.process_time() - started))


def add_text_options(parser: argparse.ArgumentParser, seed: int = 7) -> None:
    parser.add_argument("--text", type=Path, nargs="+", help="a vault, XQuAD JSON or JSONL")
    parser.add_argument("--half", choices=("odd", "even"), help="every other document")
    parser.add_argument("--seed", type=int, default=seed)


def documents_of(paths: Sequence[Path] | None, half: str | None) -> list[str]:
    """Return the texts of files, by default of the example vault and the docs of installed packages."""
    documents = [text for path in paths or [VAULT] for text in texts_of(path)]
    documents += [] if paths else package_docs()
    return documents[half == "odd" :: 2] if half else documents


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_text_options(parser)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    made = list(cases(documents_of(options.text, options.half), options.seed))
    print_times(made) if options.time else print_rates(made, show=options.show)


if __name__ == "__main__":
    main()
