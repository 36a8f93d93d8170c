"""Forge quotes and honest copies for the benchmark of forgeries, with word lists that no rule has (CC0).

`SWAPS` and `RETOLD` are more kinds, with word lists of their own: sentences with one replaced word, and paraphrases.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

# A forger gives a source sentence, perhaps with something written into it, and a quote of it; None: it has no hold.
Pair = tuple[str, str]
Forger = Callable[[str, random.Random], Pair | None]


def pairs(text: str) -> list[tuple[str, str]]:
    return [(one.split("/")[0], one.split("/")[1]) for one in text.split()]


def replaced(sentence: str, changes: Iterable[tuple[str, str]], draw: random.Random) -> Pair | None:
    """Apply one of the changes that fits, at one of its places."""
    options = [(m, new) for old, new in changes for m in re.finditer(old, sentence)]
    if not options:
        return None
    match, new = draw.choice(options)
    quote = sentence[: match.start()] + match.expand(new) + sentence[match.end() :]
    return (sentence, quote) if quote != sentence else None


def by_table(table: Sequence[tuple[str, str]]) -> Forger:
    return lambda sentence, draw: replaced(sentence, table, draw)


def by_words(text: str, *, ko: bool) -> Forger:
    """Swap the words of each pair in both directions; English ones as whole words."""
    both = [pair for one, other in pairs(text) for pair in ((one, other), (other, one))]
    edge = ("", "") if ko else (r"\b", r"\b")
    return by_table([(f"{edge[0]}{old}{edge[1]}", new) for old, new in both])


def by_naming(text: str, frame: str) -> Forger:
    """Write one of a pair of names into the source and the other into the quote."""

    def forge(sentence: str, draw: random.Random) -> Pair:
        one, other = draw.choice(pairs(text))
        return frame.format(one, sentence), frame.format(other, sentence)

    return forge


def number(sentence: str, draw: random.Random) -> Pair | None:
    places = [m.start() for m in re.finditer(r"\d", sentence)]
    if not places:
        return None
    at = draw.choice(places)
    digit = draw.choice([one for one in "123456789" if one != sentence[at]])
    return sentence, sentence[:at] + digit + sentence[at + 1 :]


def cut_word(sentence: str, draw: random.Random) -> Pair | None:
    """Return a quote that begins or ends inside a word, at least two letters from each end."""
    words = list(re.finditer(r"[^\W\d_]{5,}", sentence))
    early = [m for m in words if m.end() < len(sentence) / 3]
    late = [m for m in words if m.start() > 2 * len(sentence) / 3]
    if early and draw.random() < 0.5:
        return sentence, sentence[draw.choice(early).start() + 2 :]
    if late and sentence.isascii():
        return sentence, sentence[: draw.choice(late).start() + 2]
    return (sentence, sentence[draw.choice(early).start() + 2 :]) if early else None


def cut_negation(sentence: str, draw: random.Random) -> Pair | None:
    if found := re.search(
        r"(?:(?<![는은인던])지 ?(?:는 )?(?:않|못|말)|[ㄹ할될을] 수 없|(?<=[가-힣])(?:이|가) 아니)",
        sentence,
    ):
        quote = sentence[: found.start() + draw.choice((0, 1))].strip()
    elif found := re.search(r"\b(?:not|never|cannot)\b|n't\b", sentence):
        quote = sentence[found.end() :].strip()
    else:
        return None
    return (sentence, quote) if len(quote) >= 16 else None


def merged(sentence: str, draw: random.Random, other: str = "") -> Pair | None:
    """Join the head of a sentence with the tail of the next."""
    first, second = sentence.split(" "), other.split(" ")
    if min(len(first), len(second)) < 6:
        return None
    at = draw.randrange(3, len(first) - 1)
    quote = " ".join(first[:at] + second[len(second) - at :])
    return f"{sentence} {other}", quote


def swapped_en(sentence: str, _: random.Random) -> Pair | None:
    names = list(re.finditer(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", sentence))
    around = re.search(
        r"\b(\w{3,}) (?:from|to|over|than|before|after|by|of) (?:the )?(\w{3,})\b", sentence
    )
    if len({m[0] for m in names}) >= 2:
        one, other = names[0], next(m for m in names if m[0] != names[0][0])
        spans = one.span(), other.span()
    elif around and around[1] != around[2]:
        spans = around.span(1), around.span(2)
    else:
        return None
    return sentence, exchanged(sentence, *spans)


def swapped_ko(sentence: str, draw: random.Random) -> Pair | None:
    words = list(
        re.finditer(r"(?<!\S)([가-힣]{2,}?)(이|가|은|는|을|를|에서|에게|로|으로)(?= )", sentence)
    )
    kinds = {"이": "s", "가": "s", "은": "s", "는": "s", "을": "o", "를": "o"}
    options = [
        (one, other)
        for one in words
        for other in words
        if one.start() < other.start()
        and one[1] != other[1]
        and kinds.get(one[2], "x") != kinds.get(other[2], "x")
    ]
    if not options:
        return None
    one, other = draw.choice(options)
    if draw.random() < 0.5:
        return sentence, exchanged(sentence, one.span(2), other.span(2))
    return sentence, exchanged(sentence, one.span(1), other.span(1))


def exchanged(text: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    (a, b), (c, d) = one, other
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def name_en(sentence: str, draw: random.Random) -> Pair | None:
    """Replace a name of the text, in half of the cases by a name with one other letter."""
    places = list(re.finditer(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", sentence))
    if not places:
        return by_naming(NAMES_EN, "{} said that {}")(sentence, draw)
    place = draw.choice(places)
    other = place[0][:-1] + ("o" if place[0][-1] != "o" else "a")
    other = draw.choice((other, draw.choice(pairs(NAMES_EN))[0]))
    return sentence, sentence[: place.start()] + other + sentence[place.end() :]


NAMES_EN = "Anderson/Andersen Catherine/Katherine Christina/Christine Miller/Milner Johansson/Johanson Smith/Jones"
NAMES_KO = "김민수/김민주 박지은/박지원 이서준/이서진 최도현/최도훈 알렉산드르/알렉산드라 크리스티나/크리스티안"
CITIES_EN = "Austin/Boston Arlington/Darlington Springfield/Sprinfield Portland/Poland Busan/Daegu"
CITIES_KO = "광주/공주 청주/충주 성주/상주 서울/부산 블라디보스토크/블라디보스톡스"
ANTONYMS_EN = (
    "increase/decrease increased/decreased more/less high/low higher/lower large/small largest/smallest first/last"
    " early/late before/after above/below open/closed public/private success/failure accept/reject win/lose won/lost"
    " north/south east/west northern/southern internal/external maximum/minimum allow/forbid include/exclude"
    " enable/disable start/stop positive/negative hot/cold old/new best/worst always/never many/few major/minor"
    " possible/impossible legal/illegal known/unknown upper/lower inside/outside with/without all/some and/or"
)
ANTONYMS_KO = (
    "증가/감소 상승/하락 높은/낮은 높다/낮다 많은/적은 많다/적다 크다/작다 큰/작은 처음/마지막 전에/후에 이상/이하"
    " 이전/이후 성공/실패 허용/금지 가능/불가능 포함/제외 시작/종료 최대/최소 남쪽/북쪽 동쪽/서쪽 긍정/부정"
    " 좋은/나쁜 항상/가끔 모든/일부 찬성/반대 승리/패배 안에/밖에 위에/아래에 오전/오후 먼저/나중에"
    " 그리고/그러나 여자/남자 아버지/어머니 빠르/느리 쉬운/어려운 옳/그르 밤/낮 사랑/증오 늘/줄 젊은/늙은"
)
DAYS_EN = (
    "Monday/Tuesday Wednesday/Thursday Friday/Saturday January/June March/May July/August April/October"
    " September/November December/February morning/evening century/decade"
)
DAYS_KO = "월요일/화요일 수요일/목요일 금요일/토요일 오늘/어제 내일/모레 작년/올해 여름/겨울 봄/가을 아침/저녁"
UNITS_EN = (
    "days/weeks hours/minutes months/years seconds/milliseconds miles/kilometres kilometres/metres million/billion"
    " percent/points dollars/euros km/m kg/g GB/MB feet/yards minutes/seconds years/decades"
)

FORGED_EN: dict[str, Forger] = {
    "number": number,
    "unit": by_words(UNITS_EN, ko=False),
    "negation": by_table(
        [
            (r"\b(is|was|are|were|can|will|would|should|could|must|has|have|had)\b(?! not)", r"\1 not"),
            (r"\b(is|was|are|were|can|will|would|should|could|must|has|have|had|do|does|did) not\b", r"\1"),
            (r"\b(is|was|are|were|do|does|did|could|would)n't\b", r"\1"),
            (r"\bnever ", ""),
            (r"\b(?:no|without)\b", "some"),
        ]
    ),
    "antonym": by_words(ANTONYMS_EN, ko=False),
    "name": name_en,
    "city": by_naming(CITIES_EN, "In {}, {}"),
    "modality": by_table(
        [
            *((rf"\b{one}\b", other) for one, other in pairs("must/may may/must can/must will/might should/must")),
            *((rf"\b{one}\b", other) for one, other in pairs("could/will would/may might/will shall/may")),
            (r"\b(?:is|are) (\w+ed)\b", r"may be \1"),
        ]
    ),
    "tense": by_table(
        [
            *((rf"\b{one}\b", other) for one, other in pairs("is/was was/is are/were were/are has/had had/has")),
            (r"\b(\w{3,})ed (the|a|in|by|to)\b", r"\1s \2"),
            (r"\bwill (\w+)\b", r"did \1"),
        ]
    ),
    "roles": swapped_en,
    "limit": by_table(
        [(r"\b(?:only|just|at least|at most|up to|nearly|almost|about|mostly|usually|often|some) ", "")]
    ),
    "date": by_words(DAYS_EN, ko=False),
    "cut negation": cut_negation,
    "cut word": cut_word,
    "question": lambda s, _: (f"Is it true that {s.rstrip('.!?')}?", f"{s.rstrip('.!?')}."),
    "hedge": lambda s, draw: (f"{draw.choice(('Reportedly', 'Allegedly', 'In theory'))} {s}", f"In fact {s}"),
}  # fmt: skip

_NEGATED_KO = (
    "한다/하지_않는다 했다/하지_않았다 된다/되지_않는다 됐다/되지_않았다 되었다/되지_않았다 있다/없다 있었다/없었다"
    " 합니다/하지_않습니다 했습니다/하지_않았습니다 됩니다/되지_않습니다 있습니다/없습니다 있는/없는 이다/이_아니다"
    " 입니다/이_아닙니다 하는/하지_않는 된/되지_않은 한/안_한 해요/안_해요 했어요/안_했어요 있어요/없어요"
)
FORGED_KO: dict[str, Forger] = {
    "number": number,
    "unit": by_table(
        [
            *((rf"(?<=\d){one}(?!간)", other) for one, other in pairs("일/년 년/개월 명/개 원/달러 분/초 시/분")),
            *((rf"(?<=\d){one}", other) for one, other in pairs("%/배 주/달 km/m 건/명 개/대 대/명 시간/분 번/년")),
        ]
    ),
    "negation": by_table(
        [
            (f"{old}(?=[ .,!?]|$)" if at == 0 else old, new)
            for one, other in pairs(_NEGATED_KO)
            for at, (old, new) in enumerate(
                ((one, other.replace("_", " ")), (other.replace("_", " "), one))
            )
        ]
    ),
    "antonym": by_words(ANTONYMS_KO, ko=True),
    "name": by_naming(NAMES_KO, "{} 씨의 설명에 따르면 {}"),
    "city": by_naming(CITIES_KO, "{}에서는 {}"),
    "modality": by_table(
        [
            (r"해야 (?:한다|합니다|해요)", "할 수 있다"),
            (r"할 수 (?:있다|있습니다|있어요)", "해야 한다"),
            (r"(?<=[가-힣])한다(?=[ .])", "할 수도 있다"),
            (r"(?<=[가-힣])합니다(?=[ .])", "해야 합니다"),
            (r"(?<=[가-힣])했다(?=[ .])", "했을 것이다"),
            (r"입니다(?=[ .])", "일지도 모릅니다"),
            (r"이다(?=[ .])", "일 것이다"),
            (r"할 것(?:이다|입니다)", "한다"),
        ]
    ),
    "tense": by_table(
        [
            *((f"{one}(?=[ .,])", other) for one, other in pairs("했다/한다 한다/했다 합니다/했습니다")),
            *((f"{one}(?=[ .,])", other) for one, other in pairs("였다/이다 이다/이었다 있다/있었다")),
            *((f"{one}(?=[ .,])", other) for one, other in pairs("있었다/있다 된다/됐다 됐다/된다")),
            *((f"{one}(?=[ .,])", other) for one, other in pairs("하는/했던 하던/하는 되는/됐던 었다/는다")),
        ]
    ),
    "roles": swapped_ko,
    "limit": by_table(
        [
            # No bound is the 만 of 지만.
            (r"(?<=[가-힣\d])(?:(?:(?<!지)|(?<=까지))만|까지|부터|밖에|마다|만큼|조차|보다)(?= )", ""),
            (r"(?<!\S)(?:거의|약|오직|단지|최대|최소|주로|대부분|보통|가끔|일부|대략) ", ""),
            (r"(?<!\S)\S+ 제외하고 ", ""),
        ]
    ),
    "date": by_words(DAYS_KO, ko=True),
    "cut negation": cut_negation,
    "cut word": cut_word,
    "question": lambda s, _: (f"{s.rstrip('.!?')}는 말이 사실인가?", f"{s.rstrip('.!?')}."),
    "hedge": lambda s, draw: (f"{draw.choice(('아마', '소문에', '이론상'))} {s}", f"실제로 {s}"),
}  # fmt: skip

_LIMITING = re.compile(
    r"않|못|없|아니|금지|제외|만\b|까지|부터|\b(?:not|no|never|only|just|without|except|must|may|can|if|unless)\b|n't|\d|[A-Z\[\]()]"
)


def without_bracket(sentence: str, draw: random.Random) -> Pair:
    """Remove a gloss from the source, or one that was written into it."""
    if found := re.search(r"(?<=\w) ?\([^()]{2,30}\)", sentence):
        return sentence, sentence[: found.start()] + sentence[found.end() :]
    spaces = [m.start() for m in re.finditer(r"(?<=\w) (?=\w)", sentence)]
    spaces = [at for at in spaces if not re.search(r"\[\[[^\]]*$", sentence[:at])]
    at = draw.choice(spaces or [len(sentence)])
    gloss = draw.choice(
        (" (see 4.2)", " (the second one)", "(이하 갑)", "(2판)", " (ISO 9001)", "[3]")
    )
    return sentence[:at] + gloss + sentence[at:], sentence


def with_ellipsis(sentence: str, draw: random.Random) -> Pair | None:
    words = sentence.split(" ")
    for _ in range(20):
        size = draw.choice((1, 2, 3, 5))
        if len(words) < size + 6:
            continue
        at = draw.randrange(3, len(words) - size - 2)
        if not _LIMITING.search(" ".join(words[at : at + size])):
            mark = draw.choice(("...", "…", "[...]", "(중략)"))
            return sentence, " ".join([*words[:at], mark, *words[at + size :]])
    return None


def with_comma(sentence: str, draw: random.Random) -> Pair | None:
    words = r"(?<=[a-z가-힣])"
    return replaced(sentence, [(f"{words},(?= )", ""), (f"{words} (?=[a-z가-힣])", ", ")], draw)


def respaced(sentence: str, draw: random.Random) -> Pair | None:
    changes = [(" ", "  "), (" ", "\n")]
    if re.search("[가-힣]", sentence):
        changes = [
            ("(?<=[가-힣]) (?=[가-힣])", ""),
            ("(?<=[가-힣]{2})(?=하[게고는]|되[어는고])", " "),
        ]
    return replaced(sentence, changes, draw)


def with_typo(sentence: str, draw: random.Random) -> Pair | None:
    """Make one typo in a word of at least four letters or three syllables that is no name or number."""
    words = list(re.finditer(r"(?<![\w-])(?:[a-z]{4,}|[가-힣]{3,})(?![\w-])", sentence))
    if not words:
        return None
    word = draw.choice(words)
    at = draw.randrange(word.start() + 1, word.end() - 1)
    char = sentence[at]
    if "가" <= char <= "힣":
        parts = list(unicodedata.normalize("NFD", char))
        parts[1] = draw.choice([one for one in "ᅡᅥᅩᅮᅵᅢᅦ" if one != parts[1]])
        typed = unicodedata.normalize("NFC", "".join(parts))
    else:
        typed = draw.choice((char * 2, "", draw.choice("aeionrst".replace(char, ""))))
    return sentence, sentence[:at] + typed + sentence[at + 1 :]


def part(sentence: str, draw: random.Random) -> Pair | None:
    """Return whole words of a sentence without denial, from its start or to its end."""
    words = sentence.split(" ")
    if len(words) < 8 or _LIMITING.search(sentence[1:].lower()):
        return None
    at = draw.randrange(4, len(words) - 3)
    return sentence, " ".join(draw.choice((words[:at], words[at:])))


def full_width(sentence: str, _: random.Random) -> Pair:
    return sentence, "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in sentence)


HONEST: dict[str, Forger] = {
    "bracket": without_bracket,
    "ellipsis": with_ellipsis,
    "particle": by_table(
        [
            (r"(?<=[가-힣]{2})(?:을|를|은|는|의)(?= )", ""),
            (r"(?<=[가-힣]{2}[간-힣])은(?= )", "이"),
            (r"(?<=[가-힣]{2})가(?= )", "는"),
        ]
    ),
    "article": by_table([(r"(?<= )(?:the|an?) (?=[a-z])", ""), (r"(?<= of )(?=[a-z]{4})", "the ")]),
    "comma": with_comma,
    "spacing": respaced,
    "quotation marks": lambda s, draw: (s, draw.choice(("“{}”", '"{}"', "‘{}’", "「{}」")).format(s)),
    "case": lambda s, draw: (s, draw.choice((s.lower(), s.upper()))) if s.lower() != s.upper() else None,
    "full width": full_width,
    "part": part,
    "typo": with_typo,
}  # fmt: skip

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
