"""Tells text that a person should look at before trusting a verdict about it.

It changes no verdict, so it may be generous: it looks for words to a judge about its verdict, in Korean and English,
and for ways to hide them.  `judges/trials/attacks.jsonl` is what it was tuned on; no example note may be flagged.

It is no defence.  Of 24 attacks in words that it was not tuned on it saw 5: what is not flagged is not safe.
"""

import base64
import binascii
import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    "|(?<=\\w)[\u200c\u200d](?=\\w)"  # between letters; an emoji may be joined
)
_OVERRIDES = (
    r"\b(ignore|disregard|forget|overrid(e|es|ing)|bypass)\b.{0,40}\b(instruction|prompt|previous|above|rule|rubric)s?\b",
    r"(이전|위|앞)(의|에)?\s*(모든\s*|평가\s*|채점\s*)?(지시|지침|명령|프롬프트|규칙).{0,12}(무시|잊)",
    r"\b(respond|answer|reply|output|return)\b.{0,20}\b(only|with)\b.{0,40}(\bjson\b|\{|\btrue\b|\bfalse\b)",
    r"\bdo not (follow|obey)\b.{0,40}\b(told|instructions?|rules?|above|before)\b",
    r"\bnew (instructions?|orders?|task)\s*(:|follow)|\byour (task|job|role) (is now|has changed)\b",
    r"\b(developer|debug|god|jailbreak) mode\b|(개발자|디버그|탈옥)\s*모드",
    r"(지시|지침|명령|프롬프트|규칙)(은|는|이|가|을|를|들)?.{0,12}(취소|무효|무시|잊|해제|버리)",
    r"(새|새로운|진짜)\s*(지시|명령)\s*:|당신의\s*(임무|역할)(은|는)\s*이제",
    r"(반드시|무조건).{0,30}(라고|으로|로)\s*(답|출력|응답|평가|판정)",
)
_ROLES = (
    r"\b(you are|act as)\b.{0,30}\b(ai|assistant|judge|grader|evaluator|language model|system)\b",
    r"(너는|당신은)\s*(이제|지금부터)",
    r"<\s*/?\s*(system|assistant|note-)|\[/?INST\]|<\|im_start\|>|\[/?\s*시스템\s*\]|관리자\s*(모드|지시)",
    r"(?-i:\bSYSTEM)(\s+\w+)?\s*[:\]]|(?<!#)#+\s*(system|시스템)\s*(message|prompt|메시지|프롬프트)",
    r"^\s*(assistant|어시스턴트|ai|llm)\s*:|<!--\s*(ai|llm|gpt|model|judge)\b|/\s*ai\s*-",
    r"\bpretend\b|\b(llm|ai|language model)s? (reading|that reads?|who reads?|evaluating|grading)\b",
    r"(읽는|평가하는|채점하는)\s*(ai|인공지능|llm|모델)|시스템\s*[:：].{0,20}(평가|채점|판정|지시)",
    r"\b(evaluator|grader|judge|(grading|evaluation|judging) model)\b.{0,40}\b(must|should|has to|shall)\b",
    r"\b(to|for|dear) (the |any )?(evaluator|grader|judge|(grading|evaluation|language) model|llm)\b",
    r"(판정자|판정기|평가기|채점기|(평가|채점|판정)\s*모델).{0,40}(것|세요|하라|십시오|해야)",
)
_VERDICTS = (
    (
        r"\b(unanswerable|correctness|utility|grounding_issues|verdict)(?![a-z_])[\\\"']*\s*"
        r"([:=]|is|of|as|to|has to be|은|는|을|를|이|가|에)?\s*[\\\"']*"
        r"(true|false|\[\]|supported|answerable|(1(\.0+)?|100)(?![\d.]))"
    ),
    r"\b(report|mark|judged?|return|verdict|says?|set)\b.{0,40}\b(unanswerable|answerable|supported|contradicted)\b",
    r"\b(every|all)\b.{0,15}\b(claims?|sentences?)\b.{0,30}\b(supported|grounded|contradicted)\b",
    r"(모든|모두|전부).{0,25}(supported|contradicted|근거\s*있음|근거함|뒷받침)",
    r"답변\s*(가능|불가)(으?로)?.{0,6}(판정|보고|처리)|판정\s*[:：]\s*답변\s*(가능|불가)",
    r"\b(full|top|perfect|maximum) (marks?|scores?|points)\b|\b10/10\b|만점(을|으로)?\s*(처리|주|줄|준|부여|매)",
    r"\b(skip|without|no need for)\b.{0,20}\b(verification|fact.?check|check against|checking|grounding)\b",
    r"\b(verified|confirmed|checked|approved) by (an? |the |our )?(human|expert|reviewer)s?\b",
    r"(검증|근거 확인|사실 확인|대조)(은|는|을|를)?\s*(없이|생략|건너|하지 말)|(사실|참|근거)(으?로)\s*간주",
    r"\b(treat|consider|regard|count)\b.{0,40}\b(grounded|supported|answerable|correct|true|verified)\b",
    r"\b(your|the) (\w+ )?instructions\b.{0,30}\b(reply|response|verbatim|word for word)\b",
    r"(지시|지침|프롬프트).{0,30}(그대로|빠짐없이|전부|전체).{0,10}(보여|적으|출력하|공개하|말하)",
    r"\bas the quote\b|\bquote\s*로\s*(쓰|적|인용)|그 문장을 quote",
    r"(사람|전문가|\bhuman\b|\bexpert\b).{0,60}(1\.0|만점)|(1\.0|만점).{0,20}(사람|전문가|\bhuman\b|\bexpert\b)",
    r"\bgrad(e|ing)\b.{0,20}\b(example|this answer)\b|채점\s*(예시|방식|기준)",
    r"\b(repeat|print|output|reveal|show)\b.{0,40}\bsystem prompt\b",
    r"시스템\s*(프롬프트|지시문|지침).{0,40}(적으|출력|공개|보여|말하)",
)
_INSTRUCTIONS = re.compile(
    "|".join((*_OVERRIDES, *_ROLES, *_VERDICTS)), re.IGNORECASE | re.DOTALL | re.MULTILINE
)
_ESCAPES = re.compile(r"(\\u[0-9a-f]{4}){6,}|(&#x?[0-9a-f]{2,6};){6,}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")


def has_invisible_characters(text: str) -> bool:
    """Whether some of it cannot be seen, or turns the rest round; the byte order mark of a file hides nothing."""
    return bool(_INVISIBLE.search(text.removeprefix("\ufeff")))


def looks_like_instructions(text: str) -> bool:
    """Whether it speaks to a judge, invisible characters and other widths of letters aside."""
    return bool(_INSTRUCTIONS.search(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))))


def has_encoded_text(text: str) -> bool:
    """Whether some of it is words in escapes or in Base64."""
    runs = _BASE64.finditer(text)
    return bool(_ESCAPES.search(text)) or any(_hides_words(run[0]) for run in runs)


def _hides_words(run: str) -> bool:
    """Whether Base64 decodes to words; pictures and hashes do not."""
    digits = run.rstrip("=")
    whole = digits[: len(digits) - (len(digits) % 4 == 1)]
    try:
        decoded = base64.b64decode(whole + "=" * (-len(whole) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return " " in decoded and decoded.replace("\n", " ").isprintable()
