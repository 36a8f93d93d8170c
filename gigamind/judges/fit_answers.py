"""Fits the thresholds of a `words` judge to human verdicts on claims; all claims of an answer are in one fold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from gigamind.datasets.check_answers import CheckedAnswer, check_answers
from gigamind.datasets.jsonl import read_answers
from gigamind.errors import DatasetError
from gigamind.i18n import Language, Message
from gigamind.judges.fit import FOLDS, grouped_folds
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.by_words import FittedScore, WordsJudgeFile, judged_by_words
from gigamind.judges.search_qa.reading import Reading
from gigamind.judges.search_qa.segments.claims import comparable
from gigamind.prompting.fences import Source
from gigamind.stats.agreement import binary_agreement
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault

HEAD = (
    "Compares each claim with the notes by words. Written by `gigamind judge fit answers`; [fitted] is held out.",
)
"""The comment of a fitted `words` judge file."""
FEWEST = 10  # claims of a language with each verdict
_DIGITS = 4
_LANGUAGES: tuple[Language, ...] = ("ko", "en")


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim with its human verdict; `score` is None if the guard refuses it or no sentence has its words."""

    answer: str
    language: Language
    supported: bool
    score: float | None


def labelled_answers(
    dataset: Path, notes: Path | None
) -> tuple[list[CheckedAnswer], list[Message]]:
    """Return the answers of a dataset that have labelled claims, and why other rows cannot be used."""
    vault = read_vault(notes) if notes else None
    checked = check_answers(read_answers(dataset), vault, Identities(vault.notes if vault else ()))
    labelled = (row for row in checked.answers if row.item.labels and row.item.labels.claims)
    problems = [error.describe(dataset) for error in checked.errors]
    return [row for row in labelled if row.notes], problems


def fit_answers(answers: Sequence[CheckedAnswer], file: WordsJudgeFile) -> WordsJudgeFile:
    """Return the judge with a threshold for each language that has enough labelled claims; DatasetError if none has."""
    at_zero = dict.fromkeys(_LANGUAGES, 0.0)
    rows = list(_labelled(answers, file.model_copy(update={"min_score": at_zero})))
    least, fitted = dict(file.min_score), dict[Language, FittedScore]()
    for language in _LANGUAGES:
        own = [row for row in rows if row.language == language]
        verdicts = [row.supported for row in own]
        if min(verdicts.count(True), verdicts.count(False)) >= FEWEST:
            fitted[language] = _held_out(own, file.min_score[language])
            least[language] = fitted[language].min_score
    if not fitted:
        raise DatasetError(
            "Too few labelled claims: {least} supported and {least} other claims of one language are required. Label"
            " more claims in labels.claims of the dataset.",
            least=FEWEST,
        )
    return file.model_copy(update={"min_score": least, "fitted": fitted})


def _labelled(answers: Sequence[CheckedAnswer], file: WordsJudgeFile) -> Iterator[LabelledClaim]:
    for row in answers:
        notes = tuple(Source(note.title, note.text) for note in row.notes)
        found = judged_by_words(AnswerCase(row.item.question, row.answer, notes), file)
        labels = row.item.labels.claims if row.item.labels else ()
        verdicts = {comparable(label.text): label.verdict == "supported" for label in labels}
        for claim in found.claims:
            text = claim.claim.text
            verdict = verdicts.get(comparable(text))
            if verdict is not None:
                language: Language = "ko" if Reading(text).is_korean else "en"
                is_carried = claim.verdict == "supported" and claim.support is not None
                score = claim.support.share if is_carried and claim.support else None
                yield LabelledClaim(row.item.id, language, verdict, score)


def _threshold(rows: Sequence[LabelledClaim]) -> float:
    """Return the score with the largest balanced accuracy; of equal ones, the median."""
    scores = sorted({row.score for row in rows if row.score is not None})
    edges = [0.0, *((low + high) / 2 for low, high in pairwise(scores)), 1.0]
    yes = sum(row.supported for row in rows)

    def balanced(least: float) -> float:
        called = [row for row in rows if row.score is not None and row.score >= least]
        right = sum(row.supported for row in called)
        return round(right / yes - (len(called) - right) / (len(rows) - yes), 9)

    best = max(map(balanced, edges))
    return round(median(edge for edge in edges if balanced(edge) == best), _DIGITS)


def _held_out(rows: Sequence[LabelledClaim], default: float) -> FittedScore:
    ids = sorted({row.answer for row in rows})
    folds = min(FOLDS, len(ids))
    fold_of = dict(
        zip(ids, grouped_folds([{one} for one in ids], [True] * len(ids), folds), strict=True)
    )
    least: list[float] = []
    for fold in range(folds):
        chosen = [row for row in rows if fold_of[row.answer] != fold]
        has_both = len({row.supported for row in chosen}) > 1
        least.append(_threshold(chosen) if has_both else default)
    labels = np.array([row.supported for row in rows], dtype=np.bool_)
    called = np.array(
        [row.score is not None and row.score >= least[fold_of[row.answer]] for row in rows]
    )
    clusters = np.array([ids.index(row.answer) for row in rows])
    figures = binary_agreement(labels, called, seed=0, label=rows[0].language, clusters=clusters)
    balanced = figures["balanced_accuracy"]
    both = int((labels & called).sum())
    measured = {
        "balanced_accuracy": balanced.value,
        "low": balanced.low,
        "high": balanced.high,
        "precision": both / int(called.sum()) if called.any() else None,
        "recall": both / int(labels.sum()),
    }
    counts = {"claims": len(rows), "answers": len(ids), "supported": int(labels.sum())}
    rounded = {name: value and round(value, _DIGITS) for name, value in measured.items()}
    return FittedScore.model_validate({"min_score": _threshold(rows), **counts, **rounded})
