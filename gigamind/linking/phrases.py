"""Find noun phrases in running text, by rules for Korean particles and verb endings and English function words."""

import re
from functools import lru_cache

from gigamind.text import is_particle

MAX_WORDS = 5
_WORD = re.compile(r"[^\W_]+(?:[.+#'’/][^\W_]+)*[+#]*")  # Next.js, C++, CI/CD
_HANGUL_END = re.compile("[가-힣]$")
_STOP_WORDS = (
    # English: function words, and common verbs and adverbs
    """
    a an the this that these those it its it's he she they them their his her our your my we you i me us
    and or but nor so yet if then than as because while when where which who whom whose what why how
    of in on at to for with by from into onto over under about after before between through during without within
    is are was were be been being am do does did done doing have has had having can could will would shall should
    may might must not no yes only also just very too more most less least such same other another any some each
    every all both either neither own there here up down out off again once now always never often still even much
    many few use used uses using see make makes made get gets set let like need needed needs want see add run open
    via per etc e.g i.e instead however therefore thus well let's don't doesn't can't won't isn't aren't
    following example examples above below e g new one two first last
    """
    # Korean: demonstratives, adverbs, dependent nouns and conjunctions
    """
    이 그 저 이런 그런 저런 이것 그것 저것 여기 거기 저기 것 수 등 때 및 또는 그리고 그러나 하지만 그래서 따라서
    즉 또 또한 더 가장 매우 모두 모든 각 각각 다른 같은 여러 어떤 무엇 언제 어디 누가 왜 어떻게 다음 위 아래 안 못
    잘 꼭 바로 다시 이미 아직 먼저 나중 지금 오늘 내일 어제 우리 저희 나 너 자신 경우 동안 이후 이전 대한 위한 통한
    관한 따른 의한 있는 없는 예 예를 들어 만약 만일 항상 자주 보통 주로 대신 함께 서로 거의 약 총 한 두 세 네 첫
    번째 가지 개 명 번 뿐 무조건
    """
)
_STOP = frozenset(_STOP_WORDS.split())
# Endings of verbs and adjectives behind a stem: 사용하는, 확인합니다, 중요한, 찾고 (but 보고), 뜨게 (but 무게).
# 면 follows a vowel or ㄹ of a stem (누르면, 끌면), in nouns mostly other consonants (측면). Exceptions are few (화면,
# 표면, 도면), and no stem ends like them.
_BEFORE_IF = "".join(
    syllable for syllable in map(chr, range(ord("가"), ord("힣") + 1)) if (ord(syllable) - ord("가")) % 28 in {0, 8}
).translate(dict.fromkeys(map(ord, "화표도초후수노외")))  # fmt: skip
_VERBAL = re.compile(
    rf"(?:(?<!\w)(?![서라])[{_BEFORE_IF}]면|(?<=\w)[{_BEFORE_IF}]면"  # 서면 and 라면 are nouns
    r"|[가-힣]니다|세요|네요|어요|아요|해요|돼요|지요|[였었았했]다|[한된난린간온]다|[이는]다|[하되있없]고"
    r"|(?<![가-힣]보)(?<![보광참창경권신재회최])고|(?<![가무휴집])게|[하되있없않라다시키]는|[하되했]던|[가-힣]며|[하되지]지"
    r"|더라도|도록|거나|면서|하여|되어|[해돼]서|때문에|위해|통해|대해|따라|관해|[하되]기|하려고|[해돼어아]야"
    r"|[는인]데|지만|므로|[가-힣]{2}[한할된될운던])$"
)
_TENSED = re.compile("[었았했됐였겠]$")  # a tensed verb before something that looks like a particle
# 팀의 is a noun with a particle, but 나이 and 종이 are nouns
_AFTER_ONE_SYLLABLE = frozenset(
    {"은", "는", "을", "를", "의", "에", "에서", "에게", "과", "와", "으로", "까지", "부터"}
)


def phrases(text: str) -> list[tuple[int, int]]:
    """Return offsets of each phrase in a folded text: every run of nouns, and its parts with the same last word.

    "지난 회의의 휴가 정책을" gives "지난 회의", "회의", "휴가 정책" and "정책": both languages put the head last.
    """
    offsets: list[tuple[int, int]] = []
    row: list[int] = []  # where its words begin
    end = 0
    for match in _WORD.finditer(text):
        size, closes = _noun(match[0])
        if row and (not size or text[end : match.start()] != " "):
            offsets += [(start, end) for start in row[-MAX_WORDS:]]
            row = []
        if size:
            row.append(match.start())
            end = match.start() + size
            if closes:
                offsets += [(start, end) for start in row[-MAX_WORDS:]]
                row = []
    return offsets + [(start, end) for start in row[-MAX_WORDS:]]


@lru_cache(maxsize=65_536)  # a vault repeats its words
def _noun(word: str) -> tuple[int, bool]:
    """Return how much of a word is a noun, 0 for none, and whether a following particle ends the phrase."""
    if word in _STOP or word.isdigit() or (len(word) == 1 and word.isascii()):
        return 0, False
    if not _HANGUL_END.search(word):
        return len(word), False
    if _VERBAL.search(word):
        return 0, False
    for end in range(1, len(word)):  # the longest particle, the shortest stem
        if (end > 1 or word[1:] in _AFTER_ONE_SYLLABLE) and is_particle(word[:end], word, end):
            stem = word[:end]
            is_noun = stem not in _STOP and not stem.isdigit() and not _TENSED.search(stem)
            return (end, True) if is_noun else (0, False)
    return (len(word), False) if len(word) > 1 else (0, False)
