"""Measure how fast links are suggested and how many removed links return.

Without --notes the vault is generated from word lists (Korean and English mixed, deterministic, CC0), so its quality
figures only detect breakage; name a real vault for meaningful figures.  30% of the links are removed, seed 42; values
are micro averages.

    python benchmarks/links.py [--notes VAULT] [--sizes 250 500 1000 2000]
"""

import argparse
import math
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gigamind.datasets.generate_links import generate_links
from gigamind.datasets.schema import LinkItem
from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.metrics.links import LinkedNote, reliability, summarise_links
from gigamind.metrics.links import Suggested as SuggestedLink
from gigamind.retrieval.cache import Cache
from gigamind.retrieval.embedders import load_short_embedder
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
from gigamind.stats.agreement import ReliabilityBin, expected_calibration_error
from gigamind.text import ends_in_consonant
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

OPTIONS = SuggestOptions(max_suggestions=10, min_confidence=0.0, exclude_existing=False)
Suggested = dict[str, list[tuple[str, float]]]
"""Path of a note -> targets, best first, each with its confidence."""
FIGURES = "P@5 / R@5 / R@10 / calibration error (were the confidences true)"
NOTE_SENTENCES = 40  # about 2 000 characters


def words(text: str) -> list[str]:
    return text.split()


EN = words(
    "release lock battery station rider refund pager ledger canary warehouse nest swap forecast pricing theft"
    " onboarding travel vendor approval retention severity postmortem glossary retro budget sensor charger"
)
KO = words(
    "결재 휴가 환불 배터리 정류소 재배치 수요 예측 잠금 조사 회의 보고 안전 점검 상담 검색 출시 주차 이탈 분석 평가"
)
EN_KINDS = words("guide policy study plan review notes project checklist")
KO_KINDS = words("규정 안내 방법 계획 회고 실험 지침 기록")
EN_FILLER = words("the team looked at it again and wrote down what had changed since the last time")
KO_FILLER = words("그날 팀은 다시 살펴보고 지난번과 달라진 점을 적어 두었다")
PARTICLES = {True: ("은", "을", "에서", "의"), False: ("는", "를", "에서", "의")}


def synthetic(root: Path, size: int) -> None:
    """Generate a vault of `size` notes; six of ten mentions of a note are links, one in five by a shorter name."""
    rng = random.Random(size)
    titles: list[str] = []
    for number in range(size):
        names, kinds = (KO, KO_KINDS) if number % 2 else (EN, EN_KINDS)
        titles.append(f"{rng.choice(names)} {rng.choice(names)} {number} {rng.choice(kinds)}")
    root.mkdir()
    for number, title in enumerate(titles):
        korean = bool(number % 2)
        lines = [_sentence(rng, titles, korean=korean) for _ in range(NOTE_SENTENCES)]
        head = f"---\nlang: {'ko' if korean else 'en'}\n---\n# {title}\n\n"
        (root / f"{title}.md").write_text(head + "\n".join(lines), "utf-8")


def _sentence(rng: random.Random, titles: Sequence[str], *, korean: bool) -> str:
    spoken = list(KO_FILLER if korean else EN_FILLER)
    rng.shuffle(spoken)
    if rng.random() < 0.2:
        title = rng.choice(titles)
        name = title if rng.random() < 0.8 else " ".join(title.split()[1:3])
        particle = rng.choice(PARTICLES[bool(ends_in_consonant(name))]) if korean else ""
        if rng.random() < 0.6:
            name = f"[[{title}]]" if name == title else f"[[{title}|{name}]]"
        spoken.insert(rng.randrange(len(spoken)), name + particle)
    return " ".join(spoken) + "."


def names_alone(vault: Vault) -> Suggested:
    return _suggested(LinkSuggester(vault, Identities(vault.notes)))


def by_meaning(cache: Cache) -> Callable[[Vault], Suggested]:
    """Suggest with the bundled encoder; results are kept in `cache`."""

    def suggest(vault: Vault) -> Suggested:
        embedder = load_short_embedder(DEFAULT_EMBEDDER)
        return _suggested(LinkSuggester(vault, Identities(vault.notes), embedder, cache))

    return suggest


def _suggested(suggester: LinkSuggester) -> Suggested:
    notes = suggester.vault.notes
    suggester.prepare(notes, options=OPTIONS)
    found: Suggested = {
        note.path: [(one.target, one.confidence) for one in suggester.suggest(note, OPTIONS)]
        for note in notes
    }
    suggester.keep()
    return found


def quality(rows: Sequence[LinkItem], suggested: Suggested, language: str) -> str:
    """Return micro P@5, R@5 and R@10 over distinct targets, and the calibration error of the first five."""
    expected: dict[str, set[str]] = {}
    for row in rows:
        if row.language == language:
            expected.setdefault(row.source_note, set()).update(row.expected_links)
    total = sum(map(len, expected.values()))
    if not total:
        return "no links"
    notes = [
        LinkedNote(
            note,
            language,
            tuple(
                SuggestedLink(target, confidence, None, is_novel=True, accepted=None)
                for target, confidence in suggested[note]
            ),
            (),
            tuple(frozenset({t}) for t in targets),
        )
        for note, targets in expected.items()
    ]
    figures = summarise_links(notes, 10, seed=42)
    values = [
        figures[name].value or 0.0 for name in ("precision_at_5", "recall_at_5", "recall_at_10")
    ]
    shown = [replace(note, suggestions=note.suggestions[:5]) for note in notes]
    bins = reliability(shown)
    error, chance = expected_calibration_error(bins), error_of_true_confidences(bins)
    return " / ".join(f"{value:.3f}" for value in values) + f" / {error:.3f} ({chance:.3f})"


def error_of_true_confidences(bins: Sequence[ReliabilityBin]) -> float:
    """The calibration error that chance alone makes: of few suggestions it is far from 0.

    In each bin the mean distance of a binomial number of hits from its expectation, taken to be normal.
    """
    spreads = (b.outcome.n * b.confidence * (1 - b.confidence) for b in bins if b.confidence)
    return sum(math.sqrt(2 / math.pi * spread) for spread in spreads) / sum(
        b.outcome.n for b in bins
    )


def measure(notes: Path, folder: Path, ways: Mapping[str, Callable[[Vault], Suggested]]) -> None:
    made = generate_links(notes, folder / "copy", folder / "links.jsonl")
    start = time.perf_counter()
    vault = Vault.read(folder / "copy")
    reading = time.perf_counter() - start
    chars = sum(len(note.text) for note in vault.notes)
    print(
        f"\n{len(vault.notes)} notes, {chars:,} characters, {len(made.rows)} links removed; read in {reading:.2f} s"
    )
    print(f"| method | seconds | en {FIGURES} | ko {FIGURES} |\n|---|---:|---|---|")
    for name, suggest in ways.items():
        start = time.perf_counter()
        suggested = suggest(vault)
        seconds = time.perf_counter() - start
        cells = (quality(made.rows, suggested, language) for language in ("en", "ko"))
        print(f"| {name} | {seconds:.2f} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--notes", type=Path, help="a real vault; it is only read")
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000, 2000])
    options = parser.parse_args()
    sizes = [None] if options.notes else options.sizes
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            notes = options.notes or folder / "vault"
            if size:
                synthetic(notes, size)
            meaning = by_meaning(Cache(folder / "cache"))
            ways = {
                "names alone": names_alone,
                "by meaning": meaning,
                "again, all of it kept": meaning,
            }
            measure(notes, folder, ways)


if __name__ == "__main__":
    main()
