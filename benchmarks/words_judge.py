"""Measure how far the judge without a model (`judges/words.toml`) agrees with people.

    python benchmarks/words_judge.py                    # the labelled examples, and false sentences of texts
    python benchmarks/words_judge.py --data DIR         # labelled pairs, see `pairs_of` in grounding.py
    python benchmarks/words_judge.py --data DIR --text xquad.en.json VAULT --ablate    # without each part of the guard
    python benchmarks/words_judge.py --text xquad.en.json kornli_dev.jsonl --half odd    # sentences of other texts
    python benchmarks/words_judge.py --short xquad.en.json    # right and wrong answers of a few words

An answer counts as supported if all its claims are.  The halves of the pairs are those of grounding.py.  A wrong short
answer is the answer to another question of the same paragraph.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
from forgeries import VAULT, Case, add_text_options, cases, documents_of
from forgers import RETOLD, SWAPS
from grounding import labelled_answers, pairs_of, rows

from gigamind.assets import asset
from gigamind.judges.load import OF_ANSWERS, load_judge
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa import support as judge_module
from gigamind.judges.search_qa.by_words import WordsJudge, _judged_by_words
from gigamind.judges.search_qa.segments import comparable
from gigamind.prompting.fences import Source
from gigamind.records.judged import SearchQAEvaluation
from gigamind.stats.agreement import binary_agreement

_judge = load_judge(asset("judges") / "words.toml", kinds=OF_ANSWERS)
assert isinstance(_judge, WordsJudge)
FILE = _judge.file
CLAIMS = Path(__file__).with_name("claims.jsonl")
Found = Sequence[tuple[bool, bool]]  # by people, by the judge


def judged(question: str, answer: str, *notes: Source) -> SearchQAEvaluation:
    return _judged_by_words(AnswerCase(question, answer, notes), FILE)


def is_supported(text: str, claim: str, question: str = "") -> bool:
    claims = judged(question, claim, Source("", text)).claims
    return bool(claims) and all(one.verdict == "supported" for one in claims)


def examples() -> Iterator[tuple[str, bool, bool]]:
    """Return each labelled claim: its language (or cross-lingual), the human label, the verdict."""
    for row, context in labelled_answers():
        found = judged(row["question"], row["answer"], *context)
        verdicts = {comparable(one.text): one.verdict for one in found.claims}
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


# The functions of `support` that a part of the guard is, and what each returns where the part is off.
PARTS: Mapping[str, Sequence[tuple[str, Callable[..., object]]]] = {
    "nothing": (),
    "numbers": (
        ("number_refusal", lambda *_, **__: None),
        ("_changes_number_word", lambda *_: False),
    ),
    "negation": (("_negates_otherwise", lambda *_: None),),
    "limits": (("_limits_differ", lambda *_: False),),
    "names": (("_has_new_name", lambda *_: False),),
    "roles": (("_swaps_roles", lambda *_: False),),
    "question, reported": (("_contradiction_of_form", lambda *_: None),),
    "substitution": (("substitution", lambda *_: None), ("_is_of_another_row", lambda *_: False)),
}
PARTS = {**PARTS, "the whole guard": [row for rows in PARTS.values() for row in rows]}


@contextmanager
def without(part: str) -> Iterator[None]:
    """Switch a part of the guard off."""
    before = {name: getattr(judge_module, name) for name, _ in PARTS[part]}
    for name, other in PARTS[part]:
        setattr(judge_module, name, other)
    yield
    for name, own in before.items():
        setattr(judge_module, name, own)


def balanced(found: Found) -> float:
    return (
        sum(
            sum(called == people for people, called in own) / len(own)
            for people_say in (True, False)
            if (own := [row for row in found if row[0] is people_say])
        )
        / 2
    )


def print_ablation(folder: Path, texts: Sequence[tuple[str, Sequence[str]]], seed: int) -> None:
    """Print balanced accuracy, and forgeries believed and honest copies refused, without each part."""
    collections = pairs_of(folder)
    made = {
        name: list(dict.fromkeys((*cases(text, seed), *cases(text, seed, SWAPS, RETOLD))))
        for name, text in texts
    }
    heads = [*collections, *(f"{name}: forged, honest" for name in made)]
    print(f"| without | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    for part in PARTS:
        with without(part):
            scores = [
                f"{balanced(in_parallel(_of_pair, [(p.text, p.claim, p.supported) for p in pairs])):.3f}"
                for pairs in collections.values()
            ]
            for own in made.values():
                found = in_parallel(_of_case, own)
                forged = [called for is_forged, called in found if is_forged]
                honest = [called for is_forged, called in found if not is_forged]
                scores.append(
                    f"{sum(forged)} of {len(forged)}, {honest.count(False)} of {len(honest)}"
                )
        print(f"| {part} | {' | '.join(scores)} |")


Given = TypeVar("Given")
Out = TypeVar("Out")


def in_parallel(function: Callable[[Given], Out], items: Sequence[Given]) -> list[Out]:
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        return list(pool.map(function, items, chunksize=32))


def _of_pair(pair: tuple[str, str, bool]) -> tuple[bool, bool]:
    return pair[2], is_supported(pair[0], pair[1])


def _of_case(case: Case) -> tuple[bool, bool]:
    return case.forged, is_supported(case.note, case.quote)


def short_answers(path: Path, seed: int) -> Iterator[tuple[str, str, str, bool]]:
    """Yield note, question, answer and whether it is the right one, two answers for each question."""
    draw = random.Random(seed)
    articles = json.loads(path.read_text("utf-8"))["data"]
    for paragraph in (one for article in articles for one in article["paragraphs"]):
        known = [(one["question"], one["answers"][0]["text"]) for one in paragraph["qas"]]
        for question, right in known:
            others = [
                text
                for _, text in known
                if text.lower() not in right.lower() and right.lower() not in text.lower()
            ]
            if others:
                yield paragraph["context"], question, right, True
                yield paragraph["context"], question, draw.choice(others), False


def _of_short(row: tuple[str, str, str, bool]) -> tuple[bool, bool]:
    note, question, answer, right = row
    found = judged(question, answer, Source("", note))
    return right, bool(found.claims) and found.correctness == 1.0


def print_short(path: Path, seed: int) -> None:
    found = in_parallel(_of_short, list(short_answers(path, seed)))
    for right in (True, False):
        own = [row[1] for row in found if row[0] is right]
        what = "right" if right else "wrong"
        print(f"{path.name}, {what} short answers believed: {sum(own)} of {len(own)}")


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
    parser.add_argument("--data", type=Path, help="folder of labelled pairs")
    parser.add_argument("--ablate", action="store_true", help="switch off each part of the guard")
    parser.add_argument("--short", type=Path, help="a file like SQuAD")
    add_text_options(parser, seed=9)
    options = parser.parse_args()
    if options.short:
        print_short(options.short, options.seed)
        return
    if options.ablate:
        texts = [
            (path.name, documents_of([path], options.half)) for path in options.text or [VAULT]
        ]
        print_ablation(options.data, texts, options.seed)
        return
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
    documents = documents_of(options.text, options.half)
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
