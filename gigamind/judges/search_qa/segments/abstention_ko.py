"""Korean sentences by which an answer says that the notes do not tell, and nothing besides.

The form is closed: the notes as the place or the subject, a topic without a clause of its own, and what is missing.
"해당 기능은 무료 요금제에 포함되지 않습니다" names no notes, and is a fact.
"""

import re

from gigamind.judges.search_qa.segments.statements import has_digit

_NOTES = (
    r"(?:노트|문서|자료|메모|검색 ?결과|컨텍스트|문맥|맥락|출처|볼트|본문"
    r"|(?:(?<=제공된 )|(?<=주어진 )|(?<=주신 )|(?<=있는 ))(?:정보|내용|텍스트))"
)
_WHICH = (
    r"(?:(?:현재|위|위의|이|이번|해당|관련|관련된|모든|전체|여러|어느|어떤|두|세|다른|참고|참고한|확인한|검토한"
    r"|살펴본|검색된"
    r"|검색한|첨부된|첨부해 주신|제공|제공된|제공되는|제공하신|제공해 주신|제공받은|주어진|주신|공유된"
    r"|공유해 주신|보유한"
    r"|가지고 있는|가진|제가|참고할 수 있는|찾은|올려 주신|저장된|업로드된) ){0,4}"
)
_NOTES_NP = rf"{_WHICH}{_NOTES}(?:들)?(?: ?(?:내용|목록|전체|전부|범위|중 어느 것))?"
_PLACE = (
    rf"{_NOTES_NP} ?(?:(?:내|안|상|속)?(?:에|에는|에도|에서|에서는|에서도|에선|엔)|만으로|만으로는|으?로는?"
    r"|의 어디에도"
    r"|중에(?:는|서는)?|가운데| 어디에(?:서)?도|만 (?:봐서는|보아서는|가지고는)"
    r"|(?:을|를) (?:기준으로|바탕으로|토대로)(?:는)?"
    r"|에 (?:있는|포함된|나와 있는|담긴|적힌) (?:정보|내용)(?:만으로는|로는|에서는|만으로|중에는))"
)
_WHAT = (
    r"(?:(?:관련|해당|이|그|이런|그런|이러한|구체적인|직접적인|명확한|정확한|자세한|상세한|충분한|추가적인|별도의"
    r"|별다른"
    r"|어떠한|어떤|아무런|아무|관련된|이와 관련된|그와 관련된|이에 대한|그에 대한|질문과 관련된|질문하신|문의하신"
    r"|요청하신|찾으시는"
    r"|말씀하신|답변에 필요한|답변할 수 있는|답할 수 있는|답변을 드릴 수 있는|답변드릴 수 있는|답을 드릴 수 있는"
    r"|답변할 만한) ){1,3}"
)
_TELLING = r"(?:정보|내용|언급|설명|답|답변)"
_INFO = (
    r"(?<!\S)(?:정보|내용|언급|설명|답|답변|기록|근거|자료|데이터|기재|명시|서술|규정|단서|사항|부분|내역|문구"
    r"|항목|것|바|(?<=관련 )문서)"
)
_ABOUT = (
    r"(?:에 대한|에 관한|에 관련된|[와과] 관련된|[와과] 관련한|에 대해서?는?|에 관해서?는?| 관련| 여부"
    r"| 여부에 대한)"
)
_OF = r"(?:이|가|은|는|을|를|도|에 대해서?는?)?"
_ADVERB = (
    r"(?:(?:전혀|따로|별도로|구체적으로|명확하게|명확히|명시적으로|직접적으로|직접|정확히|정확하게|자세히|충분히"
    r"|아직|현재|어디에도"
    r"|모두|특별히|분명히|확실히|제대로|바로) ){0,2}"
)
_HARD = r"(?:어렵|어려|힘들|힘)"
_NOT_THERE = (
    r"(?:(?:나와|적혀|나타나|담겨|쓰여|써|들어|실려|(?:포함|기록|기재|설명|정리|언급|명시|서술|제시|안내|기술"
    r"|제공)(?:되어|돼)"
    r"|다뤄져|드러나|등장하고|존재하고) ?있지(?:는|도)? ?않"
    r"|(?:언급|확인|설명|서술|명시|제시|발견|안내|소개|기술)(?:이|은|도)? ?되지(?:는|도)? ?않"
    r"|다루(?:고 있)?지(?:는|도)? ?않|(?:나오|나타나|등장하|존재하|드러나|다뤄지)지(?:는|도)? ?않"
    r"|(?:찾을|찾아볼|찾아낼|확인할|알|알아낼|파악할|판단할|답할|답변할|답변을 드릴|답변드릴|답변을 할|확정할"
    r"|특정할|단정할"
    r"|말씀드릴|알려 ?드릴|설명할|설명드릴) ?수(?:가|는|도)? ?없|(?:찾|확인하|발견하)지(?:는|도)? ?못"
    rf"|(?:알|파악하|확인하|판단하|답하|답변하|답변드리|답변을 드리|말씀드리|찾|단정하)기(?:가|는|에는)? ?{_HARD}"
    rf"|(?:확인|파악|판단|답변)(?:이|은)? ?(?:{_HARD}|불가능|불가))"
)
_NOT_FOUND = r"(?:(?:찾을|찾아볼|확인할) ?수(?:가|는|도)? ?없|(?:찾|확인하|발견하)지(?:는|도)? ?못)"
_MISSING = r"(?:없|부족|충분하지(?:는)? ?않|충분치 ?않|부재|빠져 ?있|(?:포함|기록|기재|제공)되지(?:는|도)? ?않)"
_TELLS_NOT = (
    r"(?:(?:언급|포함|설명|명시|기술|제공|제시)하(?:고 있)?|다루(?:고 있)?|담고 있|말하(?:고 있)?|밝히(?:고 있)?"
    r"|알려 ?주)"
    r"지(?:는|도)? ?않"
)
_CANNOT_ANSWER = (
    r"(?:(?:정확한|명확한|구체적인|확실한|자세한) ?)?"
    r"(?:(?:답변|답|대답|말씀|안내|설명)(?:을|를|은)? ?(?:해 ?)?"
    rf"(?:(?:드릴|할|제공할|제시할) ?수(?:가|는)? ?없|(?:드리|하|제공하)기(?:가|는)? ?{_HARD}|(?:드리|하)지 ?못)"
    rf"|(?:답변|대답)(?:이|은)? ?(?:{_HARD}|불가능|불가)|알려 ?드릴 ?수(?:가|는)? ?없|알려 ?드리기(?:가"
    rf"|는)? ?{_HARD})"
)
_STEM = (
    r"(?:(?:[았었했웠겠였]|하였|되었)?(?:습니다|네요|군요|다|음|어요|지요|죠)|[아어해워]요|합니다|됩니다|듭니다"
    r"|함|하다|하네요"
    r"|는다|한다|[는은던운한]? ?(?:것|듯)(?:으로|이라고)? ?(?:같습니다|합니다|하네요|보입니다|보여요|확인됩니다"
    r"|파악됩니다"
    r"|판단됩니다|같아요|같네요|같다)|(?:는|은|한) 상태(?:입니다|이다|예요)"
    r"|은 (?:내용|정보|사항|부분|질문|주제)(?:입니다|이에요|이다)|(?:는|은) 점 (?:양해"
    r"|이해)(?:해)? ?(?:부탁드립니다|바랍니다|주세요))"
)
_SO = (
    r"(?:(?:[았었했웠]|하였)?(?:으므로|으며|고|으니|기 때문에|기에)|아서?|어서?|해서?|하여|하므로|하며|하고"
    r"|하기 때문에"
    r"|[는은한] 관계로|워서?),? (?:(?:따라서|그래서|현재로서는|현재로선) )?"
)
_LOOKED = (
    rf"{_NOTES_NP}(?:을|를) (?:(?:모두|전부|자세히|꼼꼼히|다시|다) )?(?:확인|검토|검색|조사|살펴|찾아|참고)"
    r"(?:했지만|했으나|하였으나|하였지만|해 ?보았지만|해 ?봤지만|해 ?보았으나|보았지만|보았으나|봤지만|봤으나"
    r"|한 결과|해 ?본 결과"
    r"|본 결과|해 ?보니|보니|했을 때|해도|봐도)"
)
_OPENING = (
    r"(?:(?:죄송하지만|죄송합니다만|죄송하게도|죄송스럽게도|죄송합니다|미안하지만|미안합니다만|아쉽게도|아쉽지만"
    r"|안타깝게도|안타깝지만"
    r"|유감스럽게도|유감이지만|음|다만|하지만|그러나|그런데|따라서|그래서|현재|현재로서는|현재로선|지금으로서는"
    r"|참고로|확인 결과"
    rf"|검토 결과|검색 결과|확인해 ?본 결과|{_LOOKED}),? ){{0,3}}"
)
_QUESTION = (
    r"(?:(?:이|해당|그|이런|귀하의|말씀하신|질문하신|문의하신|요청하신|주신|위) (?:질문|문의|내용|부분|사항|물음|건)"
    r"(?:에|에는|에 대해서?는?|에 대한|은|는)|질문에(?: 대해서?는?| 대한)?)"
)
_WORDS = r"(?:\S{1,30} ){0,14}?"
_HERE = rf"(?P<before>{_WORDS})(?P<place>{_PLACE})"
_THING = rf"{_WORDS}\S{{1,30}}"
_INFO_ABOUT = rf"(?:{_THING}{_ABOUT} (?:{_WHAT})?|{_WHAT})"
_NOT_KNOWN = r"(?:없는 (?:내용|정보|질문|사항)(?:이라서?|이므로|이기 때문에))"
_CLAUSES = (
    # 육아휴직은 노트에 나와 있지 않습니다
    rf"{_HERE} (?P<topic>{_WORDS}){_ADVERB}{_NOT_THERE}",
    # 노트에는 육아휴직에 대한 정보가 없습니다
    rf"{_HERE} (?P<topic>{_WORDS})(?:{_WHAT})?{_INFO}{_OF} ?{_ADVERB}{_MISSING}",
    # 제공된 노트만으로는 정확한 답변을 드릴 수 없습니다
    rf"{_HERE} (?P<topic>{_WORDS}){_CANNOT_ANSWER}",
    # 노트는 육아휴직을 다루지 않습니다
    rf"{_NOTES_NP}[은는이가] (?P<object>{_THING}(?:을|를|은|는|에 대해서?는?)) {_ADVERB}{_TELLS_NOT}",
    # 노트에서는 육아휴직을 설명하지 않습니다
    rf"{_HERE} (?P<object>{_THING}(?:을|를|에 대해서?는?)) {_ADVERB}{_TELLS_NOT}",
    # 노트는 관련 정보를 담고 있지 않습니다
    rf"{_NOTES_NP}[은는이가] (?:{_WHAT})?{_INFO}[을를이가] ?{_ADVERB}(?:{_TELLS_NOT}|{_MISSING})",
    # 육아휴직에 대한 정보를 찾지 못했습니다
    rf"(?:{_QUESTION} )?(?P<told>{_INFO_ABOUT}){_TELLING}{_OF} {_ADVERB}(?:{_NOT_THERE}|없|부족|충분하지 ?않)",
    # 관련 문서를 찾을 수 없습니다
    rf"(?P<told>{_INFO_ABOUT})(?:자료|노트|문서|데이터)[을를] {_ADVERB}{_NOT_FOUND}",
    # 이 질문과 관련된 내용은 노트에 없습니다
    rf"(?:{_QUESTION} )?(?P<told>(?:{_INFO_ABOUT})?){_INFO}[은는이가도] {_PLACE} {_ADVERB}(?:{_MISSING}|{_NOT_THERE})",
    # 이 질문에 답하기에는 노트의 정보가 부족합니다
    rf"(?:{_QUESTION} )?답(?:변)?(?:하|드리)기에는? (?:{_NOTES_NP}의 )?(?:{_WHAT})?{_TELLING}{_OF} {_MISSING}",
    # 이 질문에는 답변을 드릴 수 없습니다
    rf"(?:(?:{_QUESTION}|{_PLACE} {_NOT_KNOWN}) )?(?:{_WHAT})?{_ADVERB}{_CANNOT_ANSWER}",
    # 육아휴직에 대해서는 답변드릴 수 없습니다
    (
        rf"(?P<told>{_THING}에 (?:대해서?는?|대한|관해서?는?)) {_ADVERB}(?:정확한 )?답변(?:을|은)? ?"
        rf"(?:드릴 ?수(?:가|는)? ?없|드리기(?:가|는)? ?{_HARD})"
    ),
    # 정확한 금액은 모르겠습니다
    rf"(?P<topic>{_WORDS})(?:잘 |정확히 )?모르겠",
    # 저는 그 내용을 알지 못합니다
    rf"(?:저는|제가) (?:{_WHAT})?{_TELLING}(?:을|를|은|에 대해서?는?)? (?:잘 )?(?:알지 못|모르)",
)

# Behind a clause that says so, it is enough: "노트에 설명이 없어 정확히 알 수 없습니다".
_THEN = (*_CLAUSES, rf"(?P<topic>{_WORDS}){_ADVERB}{_NOT_THERE}")
_LAST = tuple(re.compile(f"{_OPENING}{clause}{_STEM}") for clause in _CLAUSES)
_FIRST = tuple(re.compile(f"{_OPENING}{clause}{_SO}") for clause in _CLAUSES)
_AFTER = tuple(re.compile(f"{_OPENING}{clause}{_STEM}") for clause in _THEN)
_JOINT = re.compile(rf"(?<=[없않못족렵려가])(?:했|하였)?{_SO}(?=\S)")

# Words at which a topic has become a clause, or an exception, of its own.
_CLAUSE = re.compile(
    r"(?:(?<![창보최광재신참경중사원공권충피예통차해선금장])고|[가-힣]며|므로|[해어아여워와져돼려라면]서|지만"
    r"|[는은한인]데"
    r"|니까|으니|거나|도록|다가|자마자|때문에|덕분에|하면|되면|따르면|의하면|으면|라면|다면|려면"
    r"|(?<!관련)(?<![대관])하여"
    r"|외에도?|외에는|말고는?|밖에|뿐|뿐만|아니라|대신|제외하고|제외하면|니다|[가-힣]{2}다|[어아해워]요|하지만"
    r"|그러나|다만"
    r"|그리고|(?<!\S)단|[않못][은는한]|없는|아닌)[,.!?]*(?=\s|$)|[:：;()（）|!?？→]|\s[-–—]+\s|[-–—]{2}|[.。]\s"
)
_FAULT = re.compile(
    r"(?:문제점?|오류|결함|이상|차이점?|하자|위반|악성 ?코드|버그|취약점)[을를이가은는도]? ?$"
)
_TIME_OR_PLACE = re.compile(r"(?:에는|에서|에서는|에게|에게는|까지|부터|[가-힣]{2}[은는])(?:\s|$)")
_LETS_IN = re.compile(
    r"(?:[은는이가을를도지,]|대한|대해서?는?|대해선|관한|관해서?는?|관련|관련해|관련하여|관련해서는?|여부) ?$"
)
_NAMED_NUMBER = re.compile(
    r"\b(?:19|20)\d\d(?:년도?의?)?(?: (?:\d{1,2}월|[상하]반기|\d분기)의?)?(?=\s)|\b\d분기(?=\s)"
    r"|[A-Za-z]+[- ]?\d{1,3}(?:\.\d+)*(?=\s|[은는이가을를의에])"
)


def says_nothing_ko(text: str) -> bool:
    """Whether a sentence, without its full stop, is clause for clause that the notes do not tell."""
    at = 0
    for joint in _JOINT.finditer(text):
        if _matches(_FIRST, text[at : joint.end()]):
            at = joint.end()
    return _matches(_AFTER if at else _LAST, text[at:])


def _matches(forms: tuple[re.Pattern[str], ...], clause: str) -> bool:
    return any((found := form.fullmatch(clause)) and _is_bare(found) for form in forms)


def _is_bare(found: re.Match[str]) -> bool:
    """Whether what stands around the turn of phrase only names what the notes do not tell."""
    groups = found.groupdict(default="")
    before, told, topic = (groups.get(name, "") for name in ("before", "told", "topic"))
    if before and not _LETS_IN.search(before):
        return False
    if _TIME_OR_PLACE.search(told) or _FAULT.search(topic):
        return False
    named = (
        _NAMED_NUMBER.sub("", part) for part in (before, told, topic, groups.get("object", ""))
    )
    return not any(has_digit(part) or _CLAUSE.search(part) for part in named)
