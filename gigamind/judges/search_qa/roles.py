"""The role of each sentence of an answer: the model reports it, and code only rejects roles that would hide a fact.

A sentence is no claim if it says nothing beyond its role, by the words for it, or that the notes lack something.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from gigamind.evidence.align import align
from gigamind.evidence.critical import NEGATION
from gigamind.evidence.result import Aligned
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.reply import ReportedRole
from gigamind.judges.search_qa.segments import Piece, Role, without_note_names
from gigamind.judges.search_qa.words import GRAMMAR, HANGUL, Reading, stem, stems
from gigamind.prompting.fences import Source
from gigamind.text import sentences

Veto = Literal[
    "form", "citation", "number", "word_of_a_note", "states", "no_words", "answered", "proven"
]

# Words by which answers refer to themselves, to notes and to the question (measured: benchmarks/MEASUREMENTS.md).
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
_TELLING = _OF_NOTES | _OF_TELLING
OF_ITSELF = GRAMMAR | _TELLING | _BESIDE
_POLITE = stems(
    """hello hi hey dear welcome thank thanks please sorry apologies apologize great good nice best excellent
    interesting day time luck sure course certainly absolutely happy glad gladly hope helpful useful let feel
    reach hesitate want like would'd follow-up following follows below list step steps summary overview details
    key point points main look looking try clarification suggest some potential common assist assistance
    support everything review 안녕 안녕하 반갑 감사 고맙 천만 별말 물론 좋은 훌륭 궁금 언제 언제든 편하 편히
    부담 말씀 말해 물어 알고 싶은 싶으 바랍 바라 도움 되셨 되었 되길 되시 드리 드릴 드립 주세 주십 주시 주셔
    보세 네 예 그럼 먼저 바로 다음 아래 같습 같은 같다 정리 안내 요약 간단 개요 목록 순서 방법 단계 절차 즐거
    하루 보내 점이 있으시면 생기 필요하 요청 추가로 살펴 검토"""
)
_COURTEOUS = _POLITE - stems("네 예")
_OF_SOURCES = _OF_NOTES | stems("the and of see reference cited 및 와 과 참고 참조 관련")
_POINTING = stems("here below following follows these step list 다음 아래 이렇")

_CLAUSES = re.compile(
    r"[,;:—–](?: and\b)?|\b(?:but|however|while|although|though|whereas|because|so|and|yet)\b"
    r"|(?<=지만)\s|(?<=는데)\s|(?<=으나)\s|(?<=[가-힣]고)\s|(?<=[가-힣]며)\s|(?<=니다)\s"
)
_BY_FORM: tuple[ReportedRole, ...] = (
    "abstention", "question", "heading", "lead_in", "source", "courtesy",
)  # fmt: skip
_OVER_OTHERS: frozenset[Role] = frozenset({"lead_in", "heading"})  # may name what follows
_ASKS = re.compile(r"[?？][\W_]*$")
_END = 80  # characters at the end of a sentence that are checked
_LAST_WORD = re.compile(r"\b(\w++)\W*[:：]$")
_TOPIC = re.compile(
    r"^\W*(?:regarding|concerning|about|as (?:for|to)|for|on|in|with|from|based|according|given|whether|if)\b"
    r"|대(?:한|해|하여)|관(?:한|해|하여|련)|[은는]$",
    re.IGNORECASE,
)  # a clause that only names the topic
_FEWEST_ASKED = 2  # minimum number of words of the question that make a statement
_FEWEST_OF_CLAUSE = 3  # words; fewer after a comma, such as a country after its town, state nothing
_MOST_NAMED = 3  # words of an abstention beyond its own and the question's
_RETOLD, _FEWEST_RETOLD = 0.6, 2  # share and number of a note sentence's words that retell it
_ANSWERS = re.compile(r"\W*(?:yes|no|네|예|아니요|아니오|아뇨)\b\s*[,.]", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:who|what|when|where|why|which|how)|누구|누가|무엇|무슨|뭐|언제|어디|몇|며칠|얼마|왜|어떻|어떤|어느",
    re.IGNORECASE,
)
_SET_PHRASES = re.compile(r"\bfeel free\b", re.IGNORECASE)


class Roles:
    """The roles that the sentences of one answer may have, given its question and notes."""

    def __init__(self, question: str, notes: Sequence[Source], claims: Sequence[Piece]) -> None:
        self._claims = claims
        self._is_open = bool(_OPEN.search(question))
        self._question = stems(question)
        self._numbers = known_numbers(question)
        titles = " ".join(note.title for note in notes)
        self._titles, self._numbers_of_titles = stems(titles), known_numbers(titles)
        self._notes = stems(" ".join(f"{note.title} {note.text}" for note in notes))
        self._sources = notes

    def by_form(self, claim: Piece) -> ReportedRole:
        """Return the role of a sentence by its form and words alone: a claim, unless all of it fits another role."""
        for role in _BY_FORM:
            if self.veto(claim, role) is None:
                return role
        return "claim"

    def veto(self, claim: Piece, role: Role) -> Veto | None:
        """Return why a sentence is a claim although the model reports another role; None if it is no claim."""
        if not self._has_form(claim, role):
            return "form"
        # The note that an abstention cites may show that something is missing.
        if claim.cited and role not in {"source", "abstention"}:
            return "citation"
        text = _SET_PHRASES.sub(" ", without_note_names(claim.text))
        if new_numbers(text, self._numbers_of_titles if role == "source" else self._numbers):
            return "number"
        if role == "abstention":
            return self._veto_of_abstention(text)
        return self._veto_of_words(claim, role, text)

    def _veto_of_abstention(self, text: str) -> Veto | None:
        """Return why a sentence is no abstention: it says of nothing that it is missing, or states something else.

        A clause that says so may name what is missing. The others may only list what the notes have.
        """
        if not self._is_open and _ANSWERS.match(text):
            return "states"
        own = OF_ITSELF | _POLITE | ASKED_FOR
        said, lacks = stems(text) - own - self._question - self._titles, False
        for clause, loose in _clauses(text):
            words = stems(clause) - own
            beyond = words - self._question - self._titles
            new = beyond - self._notes
            lacking = _lacks_something(clause, self._question)
            if denies_knowledge(clause) or (self._is_open and len(new) <= 1 and lacking):
                lacks = True
                if len(new) > _MOST_NAMED:
                    return "states"
                continue
            from_question = words & self._question
            answers = (
                len(from_question) >= _FEWEST_ASKED and not loose and not _TOPIC.search(clause)
            )
            if new or answers or (beyond and not lacking):
                return "states"
        if not lacks:
            return "no_words"
        known = OF_ITSELF | self._question | self._titles
        spans = ((note.text, span) for note in self._sources for span in sentences(note.text))
        in_notes = (stems(span.slice(note)) - known for note, span in spans)
        retold = (len(one & said) >= max(_FEWEST_RETOLD, _RETOLD * len(one)) for one in in_notes)
        return "word_of_a_note" if len(said & self._notes) > _MOST_NAMED or any(retold) else None

    def _veto_of_words(self, claim: Piece, role: Role, text: str) -> Veto | None:
        if role in _OVER_OTHERS and NEGATION.search(text.casefold()):
            return "states"
        left = self._beyond(text, role, claim)
        if left:
            return "states" if left.isdisjoint(self._notes) else "word_of_a_note"
        alone = role == "courtesy" and _COURTEOUS.isdisjoint(stems(text))  # "네." may be the answer
        return "form" if alone else None

    def _has_form(self, claim: Piece, role: Role) -> bool:
        if claim.shape in {"row", "code"}:
            return False
        match role:
            case "heading":
                return claim.shape == "heading"
            case "question":
                return bool(_ASKS.search(claim.text[-_END:]))
            case "lead_in":
                # It introduces what follows: by a word for it, or by a colon after "include" and the like.
                words, last = stems(claim.text), _LAST_WORD.search(claim.text.rstrip("*_ ")[-_END:])
                is_grammar = last is not None and stem(last[1].casefold()) in GRAMMAR
                by_word = not words.isdisjoint(_POINTING | _TELLING if last else _POINTING)
                return (is_grammar or by_word) and claim.id < self._claims[-1].id
            case _:
                return True

    def _beyond(self, text: str, role: Role, claim: Piece) -> frozenset[str]:
        if role == "source":
            return stems(text) - _OF_SOURCES - self._titles
        allowed = OF_ITSELF | _POLITE
        if role != "courtesy":
            allowed |= self._question | ASKED_FOR
        if role in _OVER_OTHERS:
            later = (other.text for other in self._claims if other.id > claim.id)
            allowed |= self._titles | stems(" ".join(later))
        return stems(text) - allowed


def _clauses(text: str) -> list[tuple[str, bool]]:
    """Return the clauses of a sentence, and whether each link may connect mere words: "and", or a first comma."""
    clauses: list[tuple[str, bool]] = []
    at, before = 0, ""
    for end in (*_CLAUSES.finditer(text), None):
        part, behind = text[at : end.start() if end else len(text)], end[0] if end else ""
        loose = (before or behind) == "and" or (not before and behind == ",")
        if clauses and len(part.split()) < _FEWEST_OF_CLAUSE:
            part, loose = f"{clauses[-1][0]} {part}", clauses.pop()[1]
        clauses.append((part, loose))
        at, before = (end.end() if end else 0), behind.strip()
    return clauses


_DENIAL = re.compile(
    rf"{NEGATION.pattern}|\b(?:un(?:clear|known|certain|able|sure|specified)|impossible|difficult|hard|insufficient|lacks?|nothing|silent)\b"
    r"|모[르릅른]|불분명|불명확|어렵|부족|미상"
)
_ONLY = re.compile(r"\bonly\b|(?<!지)만(?!\w)|뿐")
_SAYS_NO = re.compile(r"\S*다(?:고|는|며)")  # "없다고 나와 있습니다": the notes state a negative
_NEAR = 5  # words from a negation to the negated word: after it in English, before it in Korean
_REACH = 120  # characters around a negation that are checked


def is_abstention(words: str, sentence: str) -> bool:
    """Return whether words of a sentence state that the notes do not say something or the author does not know it."""
    place = align(words, sentence)
    return isinstance(place, Aligned) and place.method != "fuzzy" and denies_knowledge(words)


def _lacks_something(text: str, asked: AbstractSet[str]) -> bool:
    """Return whether words deny something that is asked for, or say that the notes have only something else."""
    folded = text.casefold().replace("’", "'")
    if _ONLY.search(folded) and not _TELLING.isdisjoint(stems(folded)):
        return True
    denials = (match.end() for match in _DENIAL.finditer(folded))
    reading = Reading(text)
    denied = {stem(reading.keys[at]) for at in reading.denials}
    is_denied = any(not _SAYS_NO.match(folded, end) for end in denials)
    return (
        is_denied
        and bool(denied)
        and denied <= asked | _TELLING
        and not (OF_ITSELF - GRAMMAR).isdisjoint(stems(folded))
    )


def denies_knowledge(text: str) -> bool:
    """Return whether words state that the notes do not say something or the author does not know it."""
    folded = text.casefold().replace("’", "'")
    for denial in _DENIAL.finditer(folded):
        start = folded.rfind(" ", 0, denial.start()) + 1
        near = folded[start : start + _REACH].split()[: _NEAR + 1]
        if HANGUL.search(denial[0]):
            near = folded[max(0, denial.end() - _REACH) : denial.end()].split()[-_NEAR - 1 :]
        if not _SAYS_NO.match(folded, denial.end()) and not _TELLING.isdisjoint(
            stems(" ".join(near))
        ):
            return True
    return False
