"""What a sentence of an answer is there for: a claim, or a heading, a question, a courtesy, which state nothing.

A courtesy is one from end to end: "환불은 언제든 가능합니다" and "thank you, the fee was dropped" are facts.
"""

import re
from dataclasses import dataclass
from typing import Literal

from gigamind.judges.search_qa.segments.abstention import abstains
from gigamind.judges.search_qa.segments.citations import (
    citations,
    is_sources_line,
    names_of_notes,
    without_citations,
)
from gigamind.judges.search_qa.segments.statements import asks, has_digit
from gigamind.spans import Span

_END = r"[\W_]*"
_KO_MORE = (
    r"(?:(?:그 ?밖에|이 ?외에|혹시|만약|또|더|추가로|추가적으로|다른|관련(?:해서|하여)?|이와 관련해|노트에 대해"
    r"|이에 대해),? ){0,4}"
    r"(?:(?:더|추가로) )?(?:궁금하신|궁금한|필요하신|필요한|알고 싶은|알고 싶으신|확인이 필요한|도움이 필요한"
    r"|질문이나 궁금한|문의|질문|다른)? ?(?:점|것|게|사항|내용|부분|정보|질문|문의|도움|자료)?(?:이|가)? ?(?:더 )?"
    r"(?:있으시면|있으면|있다면|있으시다면|있으신 경우|생기면|생기시면|필요하시면|필요하면|필요하시다면)"
)
_KO_EASILY = r"(?:언제든지|언제든|편하게|편히|부담 없이|바로|저에게|추가로|다시|더)"
_KO_ASK = (
    r"(?:물어봐|물어|문의해|문의|질문해|질문|말씀해|말씀|알려|연락|요청해) ?"
    r"(?:보세요|봐 ?주세요|주세요|주십시오|주시기 바랍니다|주시면 (?:됩니다|감사하겠습니다|도와드리겠습니다"
    r"|답변드리겠습니다)"
    r"|하세요|하십시오|해 ?주세요|해 ?주십시오|해 ?주시기 바랍니다)"
)
_KO_THANKS = (
    r"(?:(?:정말|대단히|매우|진심으로|항상|늘|좋은) )?"
    r"(?:(?:질문|문의|관심|확인|이용)(?:해 ?| ?)?(?:주셔서|에|을) )?(?:정말 |대단히 )?"
    r"(?:감사합니다|감사드립니다|감사해요|고맙습니다|고마워요)"
)
_KO_HELPED = (
    r"(?:(?:이|위|제|제 답변|이 답변|이 내용|이 정보|위 내용|답변|설명|정보|내용)(?:이|가)? )?"
    r"(?:(?:조금이나마|조금이라도|많은|질문에|궁금증 해결에) )?(?:도움이 |참고가 )?"
    r"(?:되셨기를|되셨길|되었기를|되었길|되시길|되시기를|되길|되기를|되었으면|되셨으면|됐으면) "
    r"(?:바랍니다|바라요|바랄게요|바라겠습니다|희망합니다|좋겠습니다|좋겠네요|좋겠어요|합니다)"
)
_KO_ANSWERING = (
    r"(?:(?:네|그럼|먼저|바로|질문에|문의하신 내용에|제공된 노트를 바탕으로|주어진 노트를 바탕으로|노트를 바탕으로"
    r"|노트를 기준으로|대해|간단히|아래에|다음과 같이),? ){0,4}"
    r"(?:답변|설명|안내|정리)(?:해)? ?(?:드리겠습니다|드릴게요|하겠습니다|할게요)"
)
_KO_COURTESY = re.compile(
    r"[\W_]*(?:안녕(?:하세요|하십니까)?|(?:만나서 )?반갑습니다|반가워요|알겠습니다|(?:정말 )?죄송합니다|천만에요"
    r"|별말씀을요"
    rf"|(?:정말 |아주 |매우 )?좋은 질문(?:입니다|이에요|이네요|이십니다)|{_KO_THANKS}|{_KO_HELPED}"
    rf"|(?:{_KO_MORE},? |(?:언제든지?|편하게|편히|부담 없이) )(?:{_KO_EASILY} ){{0,3}}{_KO_ASK}|{_KO_ANSWERING}"
    rf"|(?:즐거운|좋은|행복한) 하루 (?:되세요|보내세요|되시길 바랍니다)){_END}"
)
_EN_MORE = (
    r"if (?:you|there(?:['’]s| is)) ?(?:have|['’]d like|would like|need|want|are looking for|require)?"
    r"(?: (?:any|anything|more|further|other|another|additional|else|questions?|help|information|info|details?"
    r"|assistance|clarification|concerns?|about|on|with|to|know|or|and|this|that|these|topics?|the|notes?|specific"
    r"|in|particular|me|I|can|look|up|find|ask|follow-up)){1,14}"
)
_EN_ASK = (
    r"(?:(?:please|just|so|and|do|always) ){0,2}(?:let me know|feel free to (?:ask|reach out|let me know|contact me)"
    r"|(?:do not|don['’]t) hesitate to (?:ask|reach out|contact me|let me know))"
    r"(?: (?:away|again|me|anytime|any time|anything|at any time|more|further|follow-up|questions?)){0,3}"
)
_EN_GLAD = (
    r"(?:(?:and|so|then) )?(?:(?:I['’]m|I am|I['’]d be|I would be|I['’]ll be|always|more than) ){0,3}"
    r"(?:happy|glad) to (?:help|assist)(?: (?:you|further|more|out|with|that|this|anything|else|any|other"
    r"|questions?)){0,5}"
)
_EN_HELPS = (
    r"(?:I )?(?:really |sincerely |do )?hope (?:this|that|it|the above|my answer)(?: (?:information|answer|summary))?"
    r" (?:helps|helped|is helpful|was helpful|is useful|answers your question|clears (?:it|things) up"
    r"|clarifies (?:it|things))(?: (?:you|out)){0,2}"
)
_EN_COURTESY = re.compile(
    r"[\W_]*(?:(?:hello|hi|hey|greetings|welcome|good (?:morning|afternoon|evening))"
    r"(?: (?:there|everyone|all|team|again)){0,2}"
    r"|(?:(?:that['’]s|that is|this is|what) )?(?:a |an )?(?:very |really )?(?:great|good|excellent"
    r"|interesting) question"
    r"|(?:thank you|thanks|many thanks)(?: (?:very|so) much| a lot)?"
    r"(?: for (?:asking|(?:your|the|this) (?:\w+ )?(?:question|patience|time|interest|message)|reaching out))?"
    r"|you(?:['’]re| are) (?:very |most )?welcome|no problem|(?:(?:I am|I['’]m) )?(?:very "
    r"|so )?sorry(?: about that)?|I apologi[sz]e|have a (?:great|nice|good|lovely) (?:day|one|time)"
    rf"|{_EN_HELPS}(?:[,;!.—–-]* (?:and )?{_EN_ASK}(?: {_EN_MORE})?)?"
    rf"|{_EN_ASK}(?:,? {_EN_MORE})?(?:,? (?:and )?{_EN_GLAD})?|{_EN_MORE},? (?:{_EN_ASK}|(?:please |just )?ask"
    rf"|{_EN_GLAD})"
    rf"|{_EN_GLAD}(?: {_EN_MORE})?){_END}",
    re.IGNORECASE,
)
_MAX_CHARS = 160


def is_courtesy(text: str) -> bool:
    """Whether a sentence, from end to end, is a greeting, an offer or a thank-you."""
    if len(text) > _MAX_CHARS or has_digit(text):
        return False
    return bool(_KO_COURTESY.fullmatch(text) or _EN_COURTESY.fullmatch(text))


Role = Literal["claim", "heading", "lead_in", "question", "abstention", "courtesy", "other"]

Cut = Literal["sentence", "part", "uncut"]

_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer.

    Attributes:
        span: code points of the answer; citations that belong to it included.
        text: composed, as it reads without list markers and citations; a table row with its column names.
        cited: numbers of the notes that it names, from 1, in their order, each once; not checked.
        cut: of a claim, whether it is a sentence as our code cuts it, or a part of one that a model cut; `uncut` where
            the parts that the model told do not stand in the sentence.
    """

    span: Span
    text: str
    role: Role
    cited: tuple[int, ...]
    cut: Cut = "sentence"


def piece(answer: str, span: Span, role: Role | None = None, text: str | None = None) -> Piece:
    """The piece under a span; without a role, that of a sentence with such words."""
    raw = span.slice(answer)
    shown = without_citations(raw) if text is None else text
    role = role or role_of(shown)
    return Piece(span, shown, role, names_of_notes(raw) if role == "other" else citations(raw))


def role_of(text: str) -> Role:
    """What a sentence without its citations is."""
    if not _WORD.search(text) or is_sources_line(text):
        return "other"
    if asks(text):
        return "question"
    if abstains(text):
        return "abstention"
    if is_courtesy(text):
        return "courtesy"
    return "claim"
