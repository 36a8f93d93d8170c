"""Says whether a passage supports a claim, without a model: a guard that may only refuse, and a score.

The score is the share of the claim's words that the passage carries. A claim is supported if the guard passes and the
score reaches the threshold of its language, which `gigamind judge fit answers` fits. See benchmarks/README.md.
"""

import unicodedata
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache

from rapidfuzz import fuzz, process

from gigamind.evidence.critical import are_opposed
from gigamind.judges.search_qa.guard import (
    SAME_MATTER,
    changes_number_word,
    contradiction_of_form,
    has_new_name,
    is_unlimited,
    limits_differ,
    negates_otherwise,
    refusal_by_number,
    swaps_roles,
)
from gigamind.judges.search_qa.passage import Contradiction, Passage, Refusal, Support, is_row
from gigamind.judges.search_qa.question import Asked, completed
from gigamind.judges.search_qa.reading import Reading, changes_of, is_content, is_edited
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.substitution import (
    substitution,
    substitution_in_item,
    substitution_of_row,
)

LEAST: Mapping[bool, float] = {True: 0.62, False: 0.77}
"""Scores from which a claim counts as supported, by whether it is Korean; a judge of words has its own."""


def support(
    claim_text: str,
    passage: Passage,
    *,
    title: str = "",
    question: str = "",
    note: str = "",
    asked: Asked | None = None,
) -> Support:
    """Return how a passage supports a claim, given in Markdown with its citations.

    Args:
        title: of the note.
        question: its numbers do not count as added by the claim.
        note: the whole note, which may have a number or name that the passage lacks.
        asked: the question with its notes, which completes a short answer; None for a sentence among others.
    """
    claim, source = Reading(without_note_names(claim_text)), Reading(passage.text)
    context = Reading(f"{passage.heading}\n{title}")
    around = f"{source.text}\n{context.text}\n{Reading(question).text}"
    own = len(claim.content & source.content) / len(claim.content) if claim.content else 1.0
    share = score(claim, source, context, is_terse=passage.is_terse)
    by_number = refusal_by_number(claim, source, around, note, own)
    contradictions: list[Contradiction] = []
    if by_form := contradiction_of_form(claim, source, own):
        contradictions.append(by_form)
    if by_number == "number":
        contradictions.append("number")
    in_table = is_row(passage.said)
    sentence = Reading(passage.said) if passage.lead else source
    # A row may consist of figures and codes only; its header has a language.
    language = source if in_table else sentence
    if claim.is_foreign_to(is_korean=language.is_korean):
        return Support(tuple(contradictions), share, doubtful=True, foreign=True)
    changes = list(changes_of(claim, source))
    # A short answer is negated if its question is.
    whole = Reading(completed(claim.raw, question)) if asked else claim
    negates = negates_otherwise(whole, source, own)
    if negates == "contradicts":
        contradictions.append("negation")
    if own >= SAME_MATTER:
        rules: dict[Contradiction, bool] = {
            "number": by_number != "number" and changes_number_word(changes),
            "limit": is_unlimited(claim, source),
            "polarity": any(are_opposed(*one.texts) for one in changes if one.is_short),
            "roles": swaps_roles(claim, source),
        }
        contradictions.extend(name for name, found in rules.items() if found)
    keys = {*source.keys, *context.keys, *Reading(question).keys}
    replaced = substitution(claim, source)
    if passage.is_terse and not replaced:
        replaced = substitution_in_item(claim, sentence)
        replaced = replaced or substitution_of_row(claim, passage.said, passage.beside, keys)
    refusals: dict[Refusal, object] = {
        "new_name": has_new_name(claim, around, note),
        "new_number": by_number == "new_number",
        "other_word": replaced,
        "other_sentence": _mixes_sentences(claim, {*source.keys, *context.keys}, passage.near),
        "other_limits": negates or limits_differ(claim, source, changes),
        "other_question": asked
        and asked.is_left_open_by(claim.raw, f"{title}\n{passage.heading}\n{passage.text}"),
    }
    refusal: Refusal | None = next((name for name, found in refusals.items() if found), None)
    sparse = share < LEAST[claim.is_korean]
    return Support(
        tuple(contradictions),
        share,
        doubtful=bool(sparse or contradictions or refusal) or is_edited(changes, keys),
        sparse=sparse,
        refusal=refusal,
    )


_FEW = 2  # words of the sentences around the source


def _mixes_sentences(claim: Reading, known: AbstractSet[str], near: str) -> bool:
    """Return whether a claim says of its source sentence what the sentences around it say."""
    others = claim.content - known
    return len(others) >= _FEW and len(others & set(Reading(near).keys)) >= _FEW


def score(claim: Reading, source: Reading, context: Reading, *, is_terse: bool) -> float:
    """Return the share of the claim's words that source and context carry, in [0, 1]; content words count twice.

    A word that they lack counts by its similarity to the most similar one, in letters or jamo, from 0.5.
    """
    known = {*source.keys, *context.keys}
    letters = [*_letters(source), *_letters(context)]
    parts: list[tuple[float, str]] = []
    after_number = False
    for word, key in zip(claim.words, claim.keys, strict=True):
        # The guard compares numbers and their units.
        is_amount = word.is_number or (word.tight and after_number)
        after_number = word.is_number
        if is_amount or key in known:
            parts.append((1.0, key))
        elif any(map(str.isalnum, key)):
            parts.append((_similarity(_decomposed(word.text), letters), key))
    # Rows and list items omit the grammar between their words.
    weights = [2 if is_content(key) else not is_terse for _, key in parts]
    carried = sum(w * credit for w, (credit, _) in zip(weights, parts, strict=True))
    return carried / sum(weights) if any(weights) else 1.0


_LEAST_SIMILAR = 50  # percent


def _letters(reading: Reading) -> list[str]:
    return [_decomposed(word.text) for word in reading.words]


@lru_cache(maxsize=16_384)
def _decomposed(word: str) -> str:
    return unicodedata.normalize("NFD", word)


def _similarity(word: str, others: list[str]) -> float:
    best = process.extractOne(word, others, scorer=fuzz.ratio, score_cutoff=_LEAST_SIMILAR)
    return best[1] / 100 if best else 0.0
