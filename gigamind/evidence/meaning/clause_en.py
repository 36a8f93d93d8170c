"""What an English quote lost of its clause: a negation mostly stands before the words that it turns round."""

import re

from gigamind.evidence.meaning.clause import Clause

_VERB = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|will|would|can|could|must|may|might|shall|should|does|do|did|went|took|began"
    r"|got|goes|(?:appl|carr|repl)(?:y|ies)|[a-z]{3,}ed)\b"
    # Words that are nouns as well, when something follows that may be their object.
    r"|\b(?:go|(?:pass|finish|reach|match)(?:es)?|(?:run|take|start|end|cost|last|get|need|open|close|cover|include"
    r"|require|expire|work|ship|sign|support|allow|return|keep|use|pay|begin|send|receive|store|save|delete|meet|arrive"
    r"|book|stay|hold|make|give|show|contain|provide|remain|become|lead|report|lock|leave|fall|rise|grow|move|read"
    r"|write|ask|call|expect|approve|review|check|decide|handle|bring|live|drive|manage|own|sell|buy|know|see|say|tell"
    r"|build|speak|sit|stand|turn|change|replace|update|contact|visit|follow|add|remove|set|reset|log|enter|print|scan"
    r"|charge|belong|depend|exist|help|offer|serve|stop|continue|connect|sync|restart|come|share|charge|accept)s?)"
    r"(?=\s+[*_`\"']*\w)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|never|none|neither|nor|cannot|nobody|nothing|nowhere|hardly|rarely|seldom|barely|scarcely)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
# These reach no further than to the next comma.
_NOT_NEAR = re.compile(
    r"\b(?:no|without|forbidden|prohibited|banned|refus(?:es?|ed|al)|fail(?:s|ed)?|unable|false|untrue|wrong to"
    r"|den(?:y|ies|ied)|instead of|rather than|prevent(?:s|ed)?|myth|doubt(?:s|ed|ful)?)\b",
    re.IGNORECASE,
)
_NO_AT_FIRST = re.compile(r"^\W*no\b", re.IGNORECASE)
# Of a negation behind a whole statement only these turn it round: "at no cost" and "without an account" do not.
_NOT_BEHIND = re.compile(
    r"\b(?:not|never|cannot|no longer|false|untrue|wrong|neither)\b|n['’]t\b"
    r"|\b(?:under|in|at|on|by|to) no (?:circumstance|case|time|account|mean|way|one)s?\b|\bto nobody\b",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\bnot (?:only|just|merely)\b|, no \w+(?=[.,]|$)|\bwhether or not\b|\bnothing but\b|\bno matter\b"
    r"|\bno(?:t)? (?:later|more|less|earlier|fewer) than(?= \w)",
    re.IGNORECASE,
)
# "Data that is not encrypted | is deleted": the negation stays with the subject of the quote.
_OF_THE_SUBJECT = re.compile(
    r"\b(?:that|which|who) (?:\w+ ){0,2}(?:not|never) \w+"
    r"|\b(?:that|which|who) \w+n['’]t \w+"
    r"|(?<=\w )(?<!is )(?<!are )(?<!was )(?<!were )(?<!do )(?<!does )(?<!did )(?<!will )(?<!must )(?<!may )not \w+"
    r"|\bwithout \w+",
    re.IGNORECASE,
)
_BREAKS_BEFORE = re.compile(
    r"[;—–]|\b(?:but|however|whereas|although|though|because)\b", re.IGNORECASE
)
_BREAKS_BEFORE_STATEMENT = re.compile(r"[,:|]|\b(?:and|while|so)\b", re.IGNORECASE)
_OWN_CLAUSE = re.compile(
    r"\W*(?:because|but|which|who|while|whereas|although|so|and|if|when|even|not|no|never|it|they|we|you|he|she|this"
    r"|these|there)\b",
    re.IGNORECASE,
)
_BREAKS_BEHIND_STATEMENT = re.compile(
    r"[;,:|—–]| #|\b(?:and|or|but|however|whereas|while|although|though|because|since|unless|if|when|which|who|so"
    r"|otherwise)\b",
    re.IGNORECASE,
)
# What follows has a subject of its own, or only says where else it is not so.
_BREAKS_ALWAYS = re.compile(
    r";|\b(?:but|whereas|although|though|otherwise)\b|\band (?:it|they|we|you|he|she|nobody|no one)\b"
    r"|\band (?:\w+ ){1,3}(?:does|is|was|has)\b"
    r"|,\s*(?:not|never) (?:on|in|at|to|for|from|by|with|before|after|the|an?)\b",
    re.IGNORECASE,
)
_BREAKS_OFF = re.compile(rf"(?:{_BREAKS_BEHIND_STATEMENT.pattern})\s*$", re.IGNORECASE)
_SWITCHED_OFF = re.compile(r"[\s\"'*`]*[:=|][\s\"'*`]*(?:off|disabled|0)\b", re.IGNORECASE)
_NEAR = re.compile(r"[,:]")
_COMPARED_BEFORE = re.compile(
    r"\b(?:more|less|fewer|greater|higher|lower|older|later|earlier) than\s*$"
    r"|\b(?:over|under|above|below|exceed(?:s|ing)?|at (?:least|most)|up to)\s*$",
    re.IGNORECASE,
)
_COMPARED_BEHIND = re.compile(
    r"[^.,;|]{0,12}?\bor (?:more|less|fewer|above|below|older|younger|later|earlier|higher|lower)\b",
    re.IGNORECASE,
)


def loses_negation(clause: Clause) -> bool:
    """Whether a negation that stands outside the quote bears on it."""
    return _negated_before(clause) or _negated_behind(clause)


def loses_comparison(clause: Clause) -> bool:
    """Whether the quote begins or ends with a number that is a bound in its sentence: "more than 5 attempts"."""
    if re.match(r"\W*\d", clause.quote) and _COMPARED_BEFORE.search(clause.head):
        return True
    return bool(re.search(r"\d\W?\w{0,10}\s*$", clause.quote)) and bool(
        _COMPARED_BEHIND.match(clause.tail)
    )


def _negated_before(clause: Clause) -> bool:
    verb = _VERB.search(clause.quote)
    leading = verb is not None and not clause.quote[: verb.start()].strip(" \t*_`\"'")
    states = (verb is not None and not leading) or any(map(str.isdigit, clause.quote))
    head = _behind_last(_BREAKS_BEFORE, clause.head)
    if head.rstrip().endswith(",") and _OWN_CLAUSE.match(clause.quote):
        return False
    if states:
        head = _behind_last(_BREAKS_BEFORE_STATEMENT, head)
    elif head.count("|") > 1:  # of the cells of a row, only a first one names what the others say
        head = head.rpartition("|")[2]
    if leading:
        head = _OF_THE_SUBJECT.sub(" ", head)
    head = _HARMLESS.sub(" ", head)
    near = _behind_last(_NEAR, head)
    return any((_NOT.search(head), _NO_AT_FIRST.match(head), _NOT_NEAR.search(near)))


def _negated_behind(clause: Clause) -> bool:
    tail = _HARMLESS.sub(" ", clause.tail)
    if _SWITCHED_OFF.match(tail):
        return True
    if not (_VERB.search(clause.quote) or clause.has_value):
        rest = _before_first(_BREAKS_ALWAYS, tail)
        return bool(_NOT.search(rest) or _NOT_NEAR.search(rest))
    if _BREAKS_OFF.search(clause.quote):
        return False
    return bool(_NOT_BEHIND.search(_before_first(_BREAKS_BEHIND_STATEMENT, tail)))


def _behind_last(breaks: re.Pattern[str], text: str) -> str:
    ends = [found.end() for found in breaks.finditer(text)]
    return text[ends[-1] :] if ends else text


def _before_first(breaks: re.Pattern[str], text: str) -> str:
    found = breaks.search(text)
    return text[: found.start()] if found else text
