"""How often a changed quote is taken for proof, and an honest copy refused: aligned, by critical tokens, by wording.

Pairs of a passage and a quote, Korean and English alike: those that the rules were tuned on, and those held out, which
were written afterwards and never tuned on.  The passage is the whole source.  The last line of a set does not ask the
aligner, which refuses the shortest and the most abridged quotes.  The table is printed, then CPU milliseconds.

    python benchmarks/wording.py
"""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from gigamind.evidence.align import align
from gigamind.evidence.meaning.wording import changed_wording, changed_words
from gigamind.evidence.result import Aligned

DATA = Path(__file__).parents[1] / "tests" / "data"
SETS = {"tuned": "quote_wording.jsonl", "held out": "quote_wording_heldout.jsonl"}
SENTENCES = (
    "휴가는 팀장에게 미리 신청해야 하며 승인 후에 사용할 수 있습니다. "
    "Requests are approved by the team lead within three working days of the filing. "
)
Believes = Callable[[str, str], bool]


def aligned(quote: str, passage: str) -> bool:
    return isinstance(align(quote, passage), Aligned)


def without_critical(quote: str, passage: str) -> bool:
    found = align(quote, passage)
    return isinstance(found, Aligned) and not found.critical


def without_changes(quote: str, passage: str) -> bool:
    found = align(quote, passage)
    return isinstance(found, Aligned) and not changed_wording(found, passage)


def same_words(quote: str, passage: str) -> bool:
    return not changed_words(quote, passage)


METHODS: dict[str, Believes] = {
    "aligned": aligned,
    "aligned, nothing critical": without_critical,
    "**aligned, no changed word**": without_changes,
    "no changed word": same_words,
}


def print_rates() -> None:
    """One line a set and method: believed though changed, refused though honest."""
    print("| pairs | method | changed, believed: ko, en | honest, refused: ko, en |")
    print("|---|---|---|---|")
    for name, file in SETS.items():
        rows = [json.loads(line) for line in (DATA / file).read_text("utf-8").splitlines()]
        for method, believes in METHODS.items():
            cells = [
                _share(
                    [
                        believes(row["quote"], row["passage"]) is changed
                        for row in rows
                        if (row["lang"], row["changed"]) == (lang, changed)
                    ]
                )
                for changed in (True, False)
                for lang in ("ko", "en")
            ]
            print(f"| {name} | {method} | {cells[0]}, {cells[1]} | {cells[2]}, {cells[3]} |")


def _share(wrong: list[bool]) -> str:
    return f"{sum(wrong)} of {len(wrong)}"


def print_times() -> None:
    """Every tenth word changed, in texts of growing length; the median of nine."""
    draw = random.Random(1)
    for chars in (200, 500, 5000):
        passage = (SENTENCES * 50)[:chars]
        words = passage.split(" ")
        quote = " ".join("other" if draw.random() < 0.1 else word for word in words)
        times: list[float] = []
        for _ in range(9):
            started = time.process_time()
            changed_words(quote, passage)
            times.append(1000 * (time.process_time() - started))
        print(f"{chars:>5} characters: {sorted(times)[4]:.1f} ms")


if __name__ == "__main__":
    print_rates()
    print_times()
