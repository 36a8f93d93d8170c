"""Generate text and misquotes of the evidence benchmark: Korean and English, from word lists, deterministic, CC0."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.spans import Span

CORPUS_CHARS = 100_000
QUOTE_CHARS = 200


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
