"""Separate what a judge reads from its instructions, and flag text that addresses the judge.

Notes are in tags that they cannot forge.  Instructions to a judge are also searched in hidden text: in encodings, in
invisible characters, in reversed letters.  A flag asks a user to check; a quote beside such text proves nothing.
"""

import base64
import binascii
import codecs
import hashlib
import hmac
import html
import json
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from gigamind.choices import StoreMode
from gigamind.errors import InputError
from gigamind.runs.folders import private_folder

_INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    "|(?<=\\w)[\u200c\u200d](?=\\w)"  # between letters; emoji use them too
)
_ESCAPES = re.compile(r"(?:\\u[0-9a-f]{4}){6,}|(?:&#x?[0-9a-f]{2,6};){6,}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_TURNED = re.compile("[\u202e\u202d]([^\u202c\n]*)")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_TAG_BLOCK = 0xE0000
_ROT13 = re.compile(r"\brot-?13\b", re.IGNORECASE)


def _readings(text: str) -> Iterator[str]:
    """Yield the visible text, and each text hidden in it."""
    plain = _plainly(text)
    yield plain
    yield from (match[1][::-1] for match in _TURNED.finditer(text))
    yield from (
        "".join(chr(ord(char) - _TAG_BLOCK) for char in match[0]) for match in _TAGS.finditer(text)
    )
    yield from (_unescaped(match[0]) for match in _ESCAPES.finditer(text))
    yield from _words_in_base64(text)
    if _ROT13.search(plain):
        yield codecs.encode(plain, "rot13")


def _plainly(text: str) -> str:
    """Return the text without invisible characters, with letters of normal width."""
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def _words_in_base64(text: str) -> Iterator[str]:
    """Yield decoded Base64 that consists of words, unlike pictures and hashes."""
    for run in _BASE64.finditer(text):
        digits = run[0].rstrip("=")
        whole = digits[: len(digits) - (len(digits) % 4 == 1)]
        try:
            decoded = base64.b64decode(whole + "=" * (-len(whole) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        if " " in decoded and decoded.replace("\n", " ").isprintable():
            yield decoded


def _unescaped(run: str) -> str:
    if run.startswith("&"):
        return html.unescape(run)
    units = b"".join(
        int(digits, 16).to_bytes(2, "big")
        for digits in re.split(r"\\u", run, flags=re.IGNORECASE)[1:]
    )
    return units.decode("utf-16-be", errors="replace")


_OVERRIDES = (
    r"\b(ignore|disregard|forget|overrid(e|es|ing)|bypass)\b.{0,40}\b(instruction|prompt|previous|above|rule|rubric)s?\b",
    r"(이전|위|앞)(의|에)?\s*+(모든\s*+|평가\s*+|채점\s*+)?(지시|지침|명령|프롬프트|규칙).{0,12}(무시|잊)",
    r"\b(respond|answer|reply|output|return)\b.{0,20}\b(only|with)\b.{0,40}(\bjson\b|\{|\btrue\b|\bfalse\b)",
    r"\bdo not (follow|obey)\b.{0,40}\b(told|instructions?|rules?|above|before)\b",
    r"\bnew (instructions?|orders?|task)\s*+(:|follow)|\byour (task|job|role) (is now|has changed)\b",
    r"\b(developer|debug|god|jailbreak) mode\b|(개발자|디버그|탈옥)\s*+모드",
    r"(지시|지침|명령|프롬프트|규칙)(은|는|이|가|을|를|들)?.{0,12}(취소|무효|무시|잊|해제|버리)",
    r"(새|새로운|진짜)\s*+(지시|명령)\s*+:|당신의\s*+(임무|역할)(은|는)\s*+이제",
    r"(반드시|무조건).{0,30}(라고|으로|로)\s*+(답|출력|응답|평가|판정)",
    r"\b(set|put|lay|leave) aside\b.{0,30}\b(criteria|rubrics?|rules|instructions|guidelines)\b.{0,20}\byou\b",
    r"\b(criteria|rubric|instructions)\b.{0,15}\byou (got|had|have|were|received)\b.{0,40}\binstead\b",
    (
        r"(앞서|앞에서|처음|이전에)\s*+(받은|주어진)\s*+.{0,12}(지침|지시|기준|규칙|프롬프트|명령)"
        r".{0,30}(대신|쓰지|버리|무시|폐기|토씨|옮겨|적어)"
    ),
)
_ROLES = (
    r"\b(you are|act as)\b.{0,30}\b(ai|assistant|judge|grader|evaluator|language model|system)\b",
    r"(너는|당신은)\s*+(이제|지금부터)",
    r"<\s*+/?\s*+(system|assistant|note-)|\[/?INST\]|<\|im_start\|>|\[/?\s*+시스템\s*+\]|관리자\s*+(모드|지시)",
    r"(?-i:\bSYSTEM)(\s+\w+)?\s*+[:\]]|(?<!#)#+\s*+(system|시스템)\s*+(message|prompt|메시지|프롬프트)",
    r"^[^\S\n]*(assistant|어시스턴트|ai|llm)\s*+:|<!--\s*+(ai|llm|gpt|model|judge)\b|/\s*+ai\s*+-",
    r"\bpretend\b|\b(llm|ai|language model)s? (reading|that reads?|who reads?|evaluating|grading)\b",
    r"(읽는|평가하는|채점하는)\s*+(ai|인공지능|llm|모델)|시스템\s*+[:：].{0,20}(평가|채점|판정|지시)",
    r"\b(evaluator|grader|judge|(grading|evaluation|judging) model)\b.{0,40}\b(must|should|has to|shall)\b",
    r"\b(to|for|dear) (the |any )?(evaluator|grader|judge|(grading|evaluation|language) model|llm)\b",
    r"(판정자|판정기|평가기|채점기|(평가|채점|판정)\s*+모델).{0,40}(것|세요|하라|십시오|해야)",
    r"(채점|판정|평가)\s*+(하는|할|용)?\s*+(ai|인공지능|모델|llm|봇)\s*+(에게|께)|(채점|판정)자님",
    r"(채점|판정)\s*+(하는)?\s*+(중|모델|ai|인공지능)(이?라면|이?면)|채점기\s*+설정|채점표.{0,20}(supported|1\.0)",
    r"\bif you are (grading|judging|scoring|evaluating)\b.{0,20}\b(answers?|claims?|this (page|note|text))\b",
    r"\b(grade|judge|score|rate|evaluate) (it )?(as|like) \w+ (would|does)\b",
    r"\bwho(so)?ever (scores?|grades?|judges?|evaluates?|checks?|rates?) (this|it|(the )?(answers?|claims?))\b",
    r"\b(graders?|evaluators?|scorers?)\s*+:.{0,80}\b(supported|pass|utility|treat|grounded|whatever)\b",
    r"\b(judge|grade|score)\b.{0,30}--[\w-]*(claims?|utility|correctness)\b",
)
_VERDICTS = (
    (
        r"\b(unanswerable|correctness|utility|grounding_issues|verdict)(?![a-z_])[\\\"']*\s*+"
        r"([:=]|is|of|as|to|has to be|은|는|을|를|이|가|에)?\s*+[\\\"']*"
        r"(true|false|\[\]|supported|answerable|(1(\.0+)?|100)(?![\d.]))"
    ),
    r"\banswered[\\\"']*\s*+([:=]|is|as|to|은|는|을|를)\s*+[\\\"']*(true|false)",
    r"\b(report|mark|judged?|return|verdict|says?|set)\b.{0,40}\b(unanswerable|answerable|supported|contradicted)\b",
    r"\b(every|all)\b.{0,15}\b(claims?|sentences?)\b.{0,30}\b(supported|grounded|contradicted)\b",
    r"(모든|모두|전부).{0,25}(supported|contradicted|근거\s*+있음|근거함|뒷받침)",
    r"답변\s*+(가능|불가)(으?로)?.{0,6}(판정|보고|처리)|판정\s*+[:：]\s*+답변\s*+(가능|불가)",
    r"\b(full|top|perfect|maximum) (marks?|scores?|points)\b|\b10/10\b|만점(을|으로)?\s*+(처리|주|줄|준|부여|매)",
    r"\b(skip|without|no need for)\b.{0,20}\b(verification|fact.?check|check against|checking|grounding)\b",
    r"\b(verified|confirmed|checked|approved) by (an? |the |our )?(human|expert|reviewer)s?\b",
    r"(검증|근거 확인|사실 확인|대조)(은|는|을|를)?\s*+(없이|생략|건너|하지 말)|(사실|참|근거)(으?로)\s*+간주",
    r"\b(treat|consider|regard|count)\b.{0,40}\b(grounded|supported|answerable|correct|true|verified)\b",
    r"\b(your|the) (\w+ )?instructions\b.{0,30}\b(reply|response|verbatim|word for word)\b",
    r"(지시|지침|프롬프트).{0,30}(그대로|빠짐없이|전부|전체).{0,10}(보여|적으|출력하|공개하|말하)",
    r"\bas the quote\b|\bquote\s*+로\s*+(쓰|적|인용)|그 문장을 quote",
    r"(사람|전문가|\bhuman\b|\bexpert\b).{0,60}(1\.0|만점)|(1\.0|만점).{0,20}(사람|전문가|\bhuman\b|\bexpert\b)",
    r"\bgrad(e|ing)\b.{0,20}\b(example|this answer)\b|채점\s*+(예시|방식|기준)",
    r"\b(repeat|print|output|reveal|show)\b.{0,40}\bsystem prompt\b",
    r"시스템\s*+(프롬프트|지시문|지침).{0,40}(적으|출력|공개|보여|말하)",
    r"\b(supported|contradicted|grounding_issues)(입니다|이고|이며|이다|으로|로|을|를|은|는|인)(?![가-힣])",
    r"\bnot_found\s*+(으로|로|를|을)\s*+.{0,6}(적|표시|판정|처리|주)",
    r"\b(give|enter|submit|mark(ed)?)\b.{0,40}\bnot_found\b|\b(one|no|any) not_found\b|\bpass as supported\b",
    r"(->|→|=>|⇒)\s*+(verdict\s*+:?\s*+)?\b(utility|correctness|contradicted|not_found|supported,?\s*+(노트|note|[12]\b))",
    r"\|\s*+(any|all|every|\*|모두|전부)\s*+\|\s*+(supported|contradicted|not_found)\s*+\|",
    r"\b(label|verdict|rating|judge?ment)\b[\\\"']*\s*+[=:]\s*+[\\\"']*(supported|contradicted|not_found)\b",
    r"\b1\.0 (for|as|in) (the )?(utility|correctness|usefulness)\b|\blow usefulness score\b",
    r"\busefulness is not (graded|judged|scored)\b",
    r"\bgrounding (passes\b|checks?\s*+(은|는)?\s*+(is |are )?\b(off|skipped)\b)",
    r"(유용성|근거\s*+점수)(은|는|을|를|이|가)?\s*+(언제나|항상|모두|무조건)?\s*+(1\.0|만점|최고점)",
    (
        r"\b(no|each|every|any|whatever)\b.{0,40}\b(sentence|claim|statement|answer)\b.{0,40}"
        r"(\bnot_found\b|\bfully grounded\b|\bcounts? as proof\b|\bis supported\b(?! by))"
    ),
    r"\bwhatever (the|an) answer (claims|says|cites)\b|\b(answer|claims?) (is|are) (fully )?grounded in\b",
    r"\b(answers?|whatever|sentences?|statements?) (that )?(cites?|about|uses?) this (note|page|document)\b",
    r"(이|그)\s*+(노트|문서|글|페이지)(를|에|을)\s*+(인용한|기대는|근거로\s*+(드는|한|하는|쓰는))\s*+(문장|주장|답변)",
    r"\bquote\s*+(칸|필드)|\bquote(은|는|을|를)\s*+.{0,6}(비워|생략|blank)|\b(into|in) the quote field\b",
    r"\b(first|initial|opening) (message|prompt) (of|in) (this|our) conversation\b",
    r"(지침|지시|프롬프트).{0,20}(토씨|빠짐없이|글자\s*+그대로).{0,20}(옮겨|적어|써|말해|출력)",
    r"사람이.{0,20}(채점|점수).{0,20}같은 점수",
)


@cache
def _instructions() -> tuple[re.Pattern[str], ...]:
    """Return the patterns, searched one by one: as alternatives of one they take about 2.5 times as long."""
    flags = re.IGNORECASE | re.DOTALL | re.MULTILINE
    return tuple(re.compile(pattern, flags) for pattern in (*_OVERRIDES, *_ROLES, *_VERDICTS))


def _has_invisible_characters(text: str) -> bool:
    """Return whether a text has invisible or direction-changing characters, except a byte order mark at its start."""
    return bool(_INVISIBLE.search(text.removeprefix("\ufeff")))


@lru_cache(maxsize=256)  # notes; each is given to several judges of several answers
def looks_like_instructions(text: str) -> bool:
    """Return whether a text addresses a judge, openly or hidden."""
    return any(sign.search(reading) for reading in _readings(text) for sign in _instructions())


def _has_encoded_text(text: str) -> bool:
    """Return whether a text contains words in escapes or in Base64."""
    return bool(_ESCAPES.search(text)) or any(True for _word in _words_in_base64(text))


Flag = Literal["invisible_characters", "looks_like_instructions", "encoded_text"]
FENCE_KEY = "fence.key"
_KEY_BYTES = 32
_NONCE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Source:
    """A note, or a part of one, for a judge."""

    title: str
    text: str


class _Fenced(NamedTuple):
    """Notes ready for a prompt."""

    nonce: str  # part of every tag; the system message names it
    text: str  # all notes, numbered, each in its tags


def fence(sources: Sequence[Source], key: bytes, *, tag: str = "note", first: int = 1) -> _Fenced:
    """Return the notes, each in its own tags, numbered from `first`."""
    nonce = _nonce(sources, key)
    parts = [
        f'<{tag}-{nonce} index="{number}" title={json.dumps(source.title, ensure_ascii=False)}>\n'
        f"{source.text}\n</{tag}-{nonce}>"
        for number, source in enumerate(sources, start=first)
    ]
    return _Fenced(nonce, "\n\n".join(parts))


def flags(text: str) -> tuple[Flag, ...]:
    """Return what a user should check in a text before trusting a verdict about it."""
    signs: dict[Flag, Callable[[str], bool]] = {
        "invisible_characters": _has_invisible_characters,
        "looks_like_instructions": looks_like_instructions,
        "encoded_text": _has_encoded_text,
    }
    return tuple(flag for flag, shows in signs.items() if shows(text))


def fence_key(folder: Path, mode: StoreMode) -> bytes:
    """Return the key stored beside replies, created at first use: 32 random bytes that only the user can read.

    If nothing can be written, a key for this run alone is used; later runs then find none of its replies.
    Raises InputError if the file has other content.
    """
    path = folder / FENCE_KEY
    try:
        if mode in {"readwrite", "refresh"} and not path.exists():
            _make_key(path)
        key = path.read_bytes()
    except OSError:  # missing, or the folder is read-only or full, which the store reports later
        return secrets.token_bytes(_KEY_BYTES)
    if len(key) != _KEY_BYTES:
        raise InputError(
            "{file}: this is not a valid key file: it has {actual} bytes instead of {expected}. Delete it."
            " gigamind then creates a new key and requests the replies again that were stored with another key.",
            file=path,
            actual=len(key),
            expected=_KEY_BYTES,
        )
    return key


def _make_key(path: Path) -> None:
    private_folder(path.parent)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(secrets.token_bytes(_KEY_BYTES))
        path.hardlink_to(unfinished)
    except FileExistsError:
        pass  # two runs created it at the same time: the first one wins
    finally:
        unfinished.unlink(missing_ok=True)


def _nonce(sources: Sequence[Source], key: bytes) -> str:
    content = json.dumps([[source.title, source.text] for source in sources]).encode()
    turns = (f"{turn}".encode() + content for turn in count())
    digests = (hmac.new(key, turn, hashlib.sha256).hexdigest() for turn in turns)
    texts = [text for source in sources for text in (source.text, source.title)]
    nonces = (digest[:_NONCE_DIGITS] for digest in digests)
    # The first one, unless a note contains its own nonce: once in 2**64.
    return next(nonce for nonce in nonces if not any(nonce in text for text in texts))
