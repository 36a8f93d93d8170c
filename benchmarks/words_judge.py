"""Measure how far the judge without a model (`judges/words.toml`) agrees with people.

    python benchmarks/words_judge.py                    # the labelled examples, and false sentences of texts
    python benchmarks/words_judge.py --data DIR         # with begin_wow_dev.jsonl and kornli_dev.jsonl
    python benchmarks/words_judge.py --text xquad.en.json kornli_dev.jsonl --half odd    # sentences of other texts

An answer of BEGIN or KorNLI counts as supported if all its claims are.  The halves are those of grounding.py; its
first halves and the labelled examples chose the thresholds of `support`.  Nothing was chosen here.
"""

import argparse
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from forgeries import VAULT, cases, package_docs, texts_of
from grounding import ANSWERS, pairs_of, rows
from swaps import RETOLD, SWAPS

from gigamind.assets import asset
from gigamind.judges.load import load_answer_judge
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.by_words import WordsJudge, judged_by_words
from gigamind.judges.search_qa.judgement import Judgement
from gigamind.judges.search_qa.segments.claims import comparable
from gigamind.prompting.fences import Source
from gigamind.stats.agreement import binary_agreement

_judge = load_answer_judge(asset("judges") / "words.toml", "auto")
assert isinstance(_judge, WordsJudge)
FILE = _judge.file
CLAIMS = Path(__file__).with_name("claims.jsonl")
Found = Sequence[tuple[bool, bool]]  # by people, by the judge


def judged(question: str, answer: str, *notes: Source) -> Judgement:
    return judged_by_words(AnswerCase(question, answer, notes), FILE)


def is_supported(text: str, claim: str) -> bool:
    claims = judged("", claim, Source("", text)).claims
    return bool(claims) and all(one.verdict == "supported" for one in claims)


def examples() -> Iterator[tuple[str, bool, bool]]:
    """Return each labelled claim: its language (or cross-lingual), the human label, the verdict."""
    notes = {
        unicodedata.normalize("NFC", path.relative_to(VAULT).as_posix()): path.read_text("utf-8")
        for path in VAULT.rglob("*.md")
    }
    for row in rows(ANSWERS):
        context = (
            Source(
                one.get("title") or Path(one["path"]).stem, one.get("text") or notes[one["path"]]
            )
            for one in row["context_notes"]
        )
        found = judged(row["question"], row["answer"], *context)
        verdicts = {comparable(one.claim.piece.text): one.verdict for one in found.claims}
        group = "another language" if "cross-lingual" in row["tags"] else row["language"]
        for label in row["labels"]["claims"]:
            verdict = verdicts.get(comparable(label["text"]))
            yield group, label["verdict"] == "supported", verdict == "supported"


def of_teams() -> Iterator[tuple[str, bool, bool]]:
    """Return claims about team notes, half of them deceptive: the set, the author's label, the verdict."""
    for row in rows(CLAIMS):
        for claim in row["claims"]:
            found = judged(row["question"], claim["text"], Source("", row["text"])).claims
            supported = bool(found) and all(one.verdict == "supported" for one in found)
            yield f"of teams, {row['language']}, {row['half']}", claim["supported"], supported


def row_of(name: str, found: Found) -> str:
    people, called = sum(one for one, _ in found), sum(one for _, one in found)
    both = sum(one and other for one, other in found)
    truth, verdicts = (np.array(one, dtype=np.bool_) for one in zip(*found, strict=True))
    kappa = binary_agreement(truth, verdicts, seed=0, label=name)["cohen_kappa"]
    cells = [both / called if called else None, both / people if people else None, kappa.value]
    shown = (f"{one:.2f}" if one is not None else "-" for one in cells)
    return f"| {name} | {len(found):,} | {people} | {called} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of BEGIN and KorNLI")
    parser.add_argument("--text", type=Path, nargs="+", help="a vault, XQuAD JSON or JSONL")
    parser.add_argument("--half", choices=("odd", "even"), help="every other document of them")
    parser.add_argument("--seed", type=int, default=9)
    options = parser.parse_args()
    print("| what | n | supported by people | by the judge | precision | recall | kappa |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, pairs in pairs_of(options.data).items() if options.data else ():
        for half, what in ((True, "chosen on"), (False, "measured")):
            found = [
                (one.supported, is_supported(one.text, one.claim))
                for one in pairs
                if one.is_for_choosing is half
            ]
            print(row_of(f"{name}, {what}", found))
    groups: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for group, people, called in examples():
        groups[f"examples, {group}"].append((people, called))
    for group, people, called in of_teams():
        groups[group].append((people, called))
    for group, found in groups.items():
        print(row_of(group, found))
    made: defaultdict[tuple[bool, str], dict[str, list[bool]]] = defaultdict(
        lambda: {"ko": [], "en": []}
    )
    documents = [text for path in options.text or [VAULT] for text in texts_of(path)]
    documents += [] if options.text else package_docs()
    documents = documents[options.half == "odd" :: 2] if options.half else documents
    swapped = cases(documents, options.seed, SWAPS, RETOLD)
    for case in (*cases(documents, options.seed), *swapped):
        supported = is_supported(case.note, case.quote)
        made[case.forged, case.kind][case.language].append(supported)
    print("\n| of such sentences, supported | ko | en |\n|---|---:|---:|")
    for (forged, kind), found in sorted(made.items()):
        shares = (f"{sum(called)} of {len(called)}" for called in found.values())
        print(f"| {'false' if forged else 'honest'}: {kind} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
