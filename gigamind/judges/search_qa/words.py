"""Words by which answers refer to themselves, to notes and to the question (measured: benchmarks/MEASUREMENTS.md)."""

import re
import unicodedata
from functools import cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
HANGUL = re.compile("[가-힣]")
_POSSESSIVE = re.compile(r"['’]\w{1,2}$")
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|ly|e|d|y)$|(?<=\w{3})s$")
_SYLLABLES, _LETTERS = 2, 5  # letters that distinguish words; the rest is usually an ending


@cache
def stem(word: str) -> str:
    """Return roughly what a lower-case word shares with its other forms: "휴가는", "휴가를"; "stated", "states"."""
    if HANGUL.search(word):
        return word[:_SYLLABLES]
    return _ENDING.sub("", _POSSESSIVE.sub("", word))[:_LETTERS]


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text."""
    return frozenset(map(stem, _WORD.findall(unicodedata.normalize("NFC", text).casefold())))


GRAMMAR = stems(
    """a an the this that these those some any all each both other others such same more most much many few and or
    but nor if then than as so also too only just even very still yet while although though however therefore
    thus hence because since whereas of to in on at by for from with without within about into over under
    between among through during before across after up out off per via i you we they he she it its me us them
    my your our their his her who whom whose which what whether is are was were be been being am do does did
    done doing have has had having will would can could should may might must shall not no none never cannot
    don't doesn't didn't isn't aren't wasn't can't couldn't won't there here one ones i'm i'd i'll it's that's
    here's what's you'd you're there's let's 이 그 저 및 등 수 것 것은 것이 것을 더 또 또는 또한 이를 이는 이에
    이와 이런 이러 그러 그런 대한 대해 대하 관한 관해 따라 따르면 위한 위해 통해 의해 의하 경우 있는 있습 있지
    있으 있다 있어 있을 없는 없습 없으 없다 없어 없이 않은 않는 않습 않다 않아 않으 않고 못했 못하 아닙 아니
    합니 하는 하고 하지 하여 해서 했습 한다 하기 됩니 되는 되어 되지 된다 입니 이며 지만 에서 에는 에게 으로
    부터 까지 때문 저는 제가 저희 우리"""
)
_OF_NOTES = stems(
    """note passage document documentation text context source material excerpt article content vault result
    search 노트 문서 자료 내용 본문 텍스트 출처 근거 검색 결과 문맥 컨텍 지문"""
)
_OF_TELLING = stems(
    """information info detail mention say state specify specific tell find found know determine answer clear
    unclear explicit describe discuss address conclude conclusion confirm infer indicate suggest provide give
    contain include cover reference explain definitive certain sure accurate verify identify locate evidence
    deny clarify reveal support contradict unknown understand 정보 언급 명시 기재 적혀 나와 나오 담겨 포함 찾을
    찾지 찾아 확인 알 알려 답 답변 답을 답할 판단 설명 제공 파악 다루 모르 모릅 불분명 확실 명확 구체"""
)
_BESIDE = stems(
    """provided given available based base question query ask asked asking however unfortunately directly direct
    exact exactly possible impossible able unable difficult enough sufficient insufficient further additional
    relevant related necessary need needed regarding concerning according above currently current solely alone
    help lack make full fully actual actually particular only anything something nothing either neither several
    various 주어진 제시 질문 물음 문의 관련 직접 직접적 해당 현재 죄송 죄송하지만 아쉽 아쉽게도 안타깝
    안타깝게도 어렵 불가 부족 충분 정확 추가 별도 다른 어떤 어느 무엇 모두 아직 따로 필요 가능"""
)
# The answers that questions expect: "how long" a duration, "how much" an amount.
ASKED_FOR = stems(
    """number amount time date day hour period duration long age size cost price value rate name person people
    place location address way method process reason cause purpose meaning mean refer definition define term
    type kind list difference status frame effect affect impact relation relationship connection require
    required total overall whole average option case 숫자 개수 수량 금액 비용 가격 얼마 시간 시각 날짜 기간
    기한 언제 나이 크기 이름 누구 사람 인원 장소 위치 어디 주소 방법 어떻 절차 이유 왜 원인 목적 의미 뜻 정의
    종류 유형 차이 상태 조건 여부 전체 평균 며칠 몇"""
)
TELLING = _OF_NOTES | _OF_TELLING
OF_ITSELF = GRAMMAR | TELLING | _BESIDE
POLITE = stems(
    """hello hi hey dear welcome thank thanks please sorry apologies apologize great good nice best excellent
    interesting day time luck sure course certainly absolutely happy glad gladly hope helpful useful let feel
    reach hesitate want like would'd follow-up following follows below list step steps summary overview details
    key point points main look looking try clarification suggest some potential common assist assistance
    support everything review 안녕 안녕하 반갑 감사 고맙 천만 별말 물론 좋은 훌륭 궁금 언제 언제든 편하 편히
    부담 말씀 말해 물어 알고 싶은 싶으 바랍 바라 도움 되셨 되었 되길 되시 드리 드릴 드립 주세 주십 주시 주셔
    보세 네 예 그럼 먼저 바로 다음 아래 같습 같은 같다 정리 안내 요약 간단 개요 목록 순서 방법 단계 절차 즐거
    하루 보내 점이 있으시면 생기 필요하 요청 추가로 살펴 검토"""
)
COURTEOUS = POLITE - stems("네 예")
OF_SOURCES = _OF_NOTES | stems("the and of see reference cited 및 와 과 참고 참조 관련")
POINTING = stems("here below following follows these step list 다음 아래 이렇")


_FEWEST_WORDS, _LEAST_GRAMMAR = 20, 0.1
_LATIN_OR_HANGUL = re.compile(r"[a-zA-Z\u00c0-\u024f가-힣ㄱ-ㅎㅏ-ㅣ]")


def is_of_another_language(text: str) -> bool:
    """Return whether a longer text is neither Korean nor English, so that the word lists do not apply."""
    words = _WORD.findall(text.casefold())
    letters = sum(map(str.isalpha, text))
    if len(_LATIN_OR_HANGUL.findall(text)) < letters / 2:
        return letters >= _FEWEST_WORDS
    latin = [word for word in words if not HANGUL.search(word) and word.isalpha()]
    if len(latin) < max(_FEWEST_WORDS, len(words) / 2):
        return False
    return sum(stem(word) in GRAMMAR for word in latin) < _LEAST_GRAMMAR * len(latin)
