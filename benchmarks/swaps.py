"""Make sentences with one replaced word, and honest paraphrases: more kinds than `forgers`.

The word lists are separate, CC0: they chose no rule.
"""

import random
import re

from forgers import Forger, Pair, by_table, by_words, exchanged

NUMBERS_EN = "two/three four/seven five/nine six/eleven ten/twelve twenty/thirty first/second third/fourth once/twice"
NUMBERS_KO = "한/세 두/네 다섯/여덟 여섯/아홉 열/스무 첫째/셋째 하나/둘 하루/사흘 이틀/나흘"
OPPOSITES_EN = "inner/outer earlier/later left/right front/rear full/empty strong/weak buyer/seller teacher/pupil"
OPPOSITES_KO = (
    "앞/뒤 왼쪽/오른쪽 안쪽/바깥쪽 과거/미래 부모/자녀 선생/학생 원인/결과 장점/단점 공격/방어"
)


def noun_en(sentence: str, draw: random.Random) -> Pair | None:
    """Replace a noun, found by its article, with another noun of the sentence."""
    places = list(
        re.finditer(
            r"(?<=\b[Tt]he )[a-z]{4,}\b(?= (?:of|in|is|was|are|were|has|to|and|for)\b)", sentence
        )
    )
    if len({place[0] for place in places}) < 2:
        return None
    one, other = draw.sample(places, 2)
    if one[0] == other[0]:
        return None
    return sentence, sentence[: one.start()] + other[0] + sentence[one.end() :]


def noun_ko(sentence: str, draw: random.Random) -> Pair | None:
    """Replace a word and its particle with another that has the same particle."""
    places = list(re.finditer(r"(?<!\S)[가-힣]{2,}(?:을|를|은|는|이|가)(?= )", sentence))
    pairs = [(a, b) for a in places for b in places if a[0] != b[0] and a[0][-1] == b[0][-1]]
    if not pairs:
        return None
    one, other = draw.choice(pairs)
    return sentence, sentence[: one.start()] + other[0] + sentence[one.end() :]


def without_clause(sentence: str, _: random.Random) -> Pair | None:
    """Drop a clause between two commas, or before the first comma of a long sentence."""
    if found := re.search(r", [^,]{6,60},(?= )", sentence):
        return sentence, sentence[: found.start()] + sentence[found.end() :]
    return None


def reordered_en(sentence: str, _: random.Random) -> Pair | None:
    """Move the leading phrase of a sentence to its end."""
    found = re.fullmatch(r"((?:In|On|At|During|After|For) [^,]{4,50}), ([^,]{20,})\.", sentence)
    return (
        (sentence, f"{found[2][0].upper()}{found[2][1:]} {found[1][0].lower()}{found[1][1:]}.")
        if found
        else None
    )


def reordered_ko(sentence: str, draw: random.Random) -> Pair | None:
    """Swap two neighbours whose particles mark their roles."""
    found = list(
        re.finditer(r"(?<!\S)([가-힣]{2,}(?:에서|에게|으로)) ([가-힣]{2,}(?:을|를))(?= )", sentence)
    )
    if not found:
        return None
    match = draw.choice(found)
    return sentence, exchanged(sentence, match.span(1), match.span(2))


SWAPS: dict[str, dict[str, Forger]] = {
    "en": {
        "number word": by_words(NUMBERS_EN, ko=False),
        "opposite": by_words(OPPOSITES_EN, ko=False),
        "noun of the sentence": noun_en,
    },
    "ko": {
        "number word": by_table([
            (rf"(?<!\S){old}(?= )", new)
            for pair in NUMBERS_KO.split() for old, new in (pair.split("/"), pair.split("/")[::-1])
        ]),
        "opposite": by_words(OPPOSITES_KO, ko=True),
        "noun of the sentence": noun_ko,
    },
}  # fmt: skip
RETOLD: dict[str, dict[str, Forger]] = {
    "en": {
        "clause left out": without_clause,
        "order": reordered_en,
        "inflection": by_table([(r"\bhave been\b", "were"), (r"\bhas been\b", "was")]),
    },
    "ko": {
        "clause left out": without_clause,
        "order": reordered_ko,
        "inflection": by_table(
            [("했다(?=\\.)", "했습니다"), ("한다(?=\\.)", "합니다"), ("합니다(?=\\.)", "한다")]
        ),
    },
}  # fmt: skip
