"""English sentences by which an answer says that the notes do not tell, and nothing besides.

The form is closed: the notes as the place or the subject, or the answerer's own "I could not find", and a topic without
a statement of its own.  "The document says nothing is refundable" and "I cannot find fault" are facts.
"""

import re

from gigamind.judges.search_qa.segments.statements import has_digit

_GIVEN = r"(?:provided|given|available|supplied|attached|retrieved|shared|at hand|above|listed)"
_NOTES = (
    r"(?:(?:(?:any|all|either|both|none|some) of )?(?:(?:the|these|those|your|my|any|this|that|either|all) )?"
    rf"(?:(?:{_GIVEN}|search|context|source|current|relevant|existing|reference|supporting) (?:and )?){{0,3}}"
    r"(?:notes?|documents?|documentation|contexts?|sources?|vault|search results|materials?|excerpts?|passages?"
    r"|texts?"
    rf"|information(?= {_GIVEN}| I have| you| above)|(?:(?<=provided )|(?<=given )|(?<=available ))information)"
    rf"(?: (?:themselves|{_GIVEN}|(?:that )?(?:was|were|are|is|have been) {_GIVEN}|(?:that )?I (?:have|was given"
    r"|have been given"
    r"|have access to|can see)|(?:that )?you(?:['’]ve| have)? (?:provided|shared|given me|gave me|gave)"
    r"|in the vault|to me))"
    r"{0,2})"
)
_DEGREE = (
    r"(?:(?:any|enough|sufficient|relevant|specific|further|such|more|explicit|clear|direct|exact|detailed|the"
    r"|this|that"
    r"|additional|concrete|definitive|precise|necessary|needed|required|a|an) ){0,3}"
)
_TELLING = rf"{_DEGREE}(?:information|info|mention|details?|answers?|context|notes?)"
_INFO = (
    rf"{_DEGREE}(?:information|info|mentions?|details?|references?|answers?|data|guidance|explanation|description"
    r"|discussion|content|context|records?|statement|indication|notes?)"
)
_ADVERB = (
    r"(?:(?:explicitly|specifically|directly|actually|clearly|currently|seem to|appear to|even|fully|exactly|ever"
    r"|also"
    r"|anywhere) ){0,2}"
)
_SPEAK = (
    r"(?:mention|say|specify|state|describe|discuss|address|tell(?: us| me| you)?|explain|indicate|answer|clarify"
    r"|reveal"
    r"|reference|define|detail|name|identify|list|refer to|touch on|cover|elaborate on)"
)
_HOLD = r"(?:contain|include|provide|give(?: us| me)?|have|offer|hold)"
_THINGS = r"(?:this |that )?(?:policy )?(?:documents?|vault|texts?|sources?|materials?|passages?)"
_SPOKEN = (
    r"(?:mentioned|specified|stated|described|discussed|addressed|covered|found|answered|explained|indicated"
    r"|given|detailed"
    r"|listed|named|provided|defined|clarified|included|contained|available|disclosed|identified|noted|referenced)"
)
_UNABLE = (
    r"(?:(?:could(?:n['’]t| ?not)|did(?:n['’]t| ?not)|can(?:['’]t| ?not))(?: be able to)?|(?:am|was|were"
    r"|are)(?: not|n['’]t) able to"
    r"|(?:am|was|were|are) unable to)"
)
_QUESTION = r"(?:this|that|the|your)(?: (?:specific|particular|exact))? (?:question|query|request)"
_ASKED = r"(?:whether|if|what|who|whom|whose|which|when|where|why|how|that)\b"
_ABOUT = (
    r"(?:(?:about|on|regarding|concerning|of|for|related to|relating to|pertaining to|as to|to determine|describing"
    r"|explaining|specifying|indicating|stating|covering)|that (?:would )?(?:answers?|addresses|covers|says|tells"
    r"|explains"
    r"|specif(?:y|ies)|describes?|states?))"
)
_TOPIC = r"(?: (?P<topic>\S.{0,200}?))?"
_OF = rf"(?:(?: {_ABOUT}{_TOPIC})?)"
_IN = r"(?:in|from|within|by|across|anywhere in|based on|using|with|among|given|on the basis of|in any of)"
_PLACE = rf"(?:,? {_IN} {_NOTES})"
_TAIL = (
    rf"(?:{_PLACE}|,? (?:unfortunately|sorry|at this time|at the moment|here|there"
    rf"|to (?:fully )?(?:answer|address|help with)(?: {_QUESTION}| this| that| it)?|at all|anywhere"
    r"|with certainty|for certain|for sure|definitively|accurately|reliably)){0,3}"
)
_LOOKED = r"(?:reviewed|checked|searched|read|looked (?:through|at))(?: through)?"
_OPENING = (
    r"(?:(?:as|since|because) )?(?:(?:(?:I am |we are )?(?:very |so |really )?sorry,?(?: but)?"
    r"|(?:my )?apologies,?(?: but)?"
    r"|I apologi[sz]e,?(?: but)?|I am afraid(?: that)?|unfortunately|regrettably|sadly|however|but|that said"
    r"|currently|at this time|(?:please )?note that|it (?:seems|appears|looks like)(?: that)?"
    r"|as far as I can (?:tell|see)"
    rf"|(?:based|relying|going) (?:only |solely |purely )?(?:on|off) {_NOTES}(?: alone)?|according to {_NOTES}"
    rf"|(?:from|in|within|given|using|with|across|among) {_NOTES}(?: alone)?"
    r"|(?:after |upon |on |having )?(?:reviewing|checking|searching|reading|looking (?:through|at)"
    rf"|{_LOOKED}) {_NOTES}"
    rf"|I(?:['’]ve| have)? (?:carefully )?{_LOOKED} {_NOTES},? (?:but|and)"
    r"|therefore|thus|hence|so|as such|as a result|for this reason),? ){0,4}"
)
_FREE = r"\S.{0,160}?"
_NAMED = r"(?P<subject>[^\s,][^,]{0,160}?)"
_NO = r"(?:no|not enough|insufficient)"
_THERE = (
    r"(?:there(?:['’]s| is| are| was| were| seems to be| appears to be)"
    r"|(?:I|we) (?:could |can )?(?:found|find|see|have))"
)
_DO_NOT = r"(?:do(?:es)?|did)(?: not|n['’]t)"
_BE = r"(?:is|are|was|were)"
_CLAUSES = (
    # the notes do not mention parking; of a document, to contain is no word of telling
    rf"{_NOTES} {_DO_NOT} {_ADVERB}{_SPEAK}{_TOPIC}",
    rf"(?!(?:(?:the|this|that) )?{_THINGS} ){_NOTES} {_DO_NOT} {_ADVERB}{_HOLD}{_TOPIC}",
    rf"{_NOTES} {_DO_NOT} {_ADVERB}{_HOLD} (?:{_INFO}|anything){_OF}",
    # the notes contain no information about parking
    rf"{_NOTES} {_ADVERB}(?:(?:contain|give|hold|provide|include|offer|make)s? no|ha(?:s|ve) no|lacks?) {_INFO}{_OF}",
    # the notes say nothing about parking
    (
        rf"{_NOTES} (?:(?:say|state|contain|mention|provide|include|reveal)s? nothing|{_BE} silent|ha(?:s|ve) nothing)"
        rf"(?: (?:about|on|regarding|concerning|of|related to){_TOPIC})?"
    ),
    # none of the notes mention parking
    rf"(?:none|neither|nothing) (?:of|in) {_NOTES} {_ADVERB}(?:{_SPEAK}|{_HOLD})(?:e?s)?{_TOPIC}",
    rf"no (?:notes?|documents?|sources?) {_ADVERB}{_SPEAK}(?:e?s)?{_TOPIC}",
    # I could not find the parking policy
    (
        rf"I (?:{_UNABLE} (?:find|locate|see)|do(?: not|n['’]t) (?:find|see))"
        rf" (?P<found>{_INFO}|it|this|that|one|anything|(?:the|a|an|any|your|{_ASKED}) {_FREE}){_OF}"
    ),
    rf"(?:I|we) {_UNABLE} (?:find|locate) (?:{_TELLING}|anything){_PLACE}{_OF}",
    rf"we {_UNABLE} (?:find|locate) (?:{_TELLING}|anything){_OF}{_PLACE}",
    # I cannot answer this question
    (
        rf"(?:I|we) {_UNABLE} (?:fully |accurately |definitively |reliably )?(?:answer|address|respond to|help with"
        rf"|provide an answer to|give an answer to|answer you)(?: {_QUESTION}| this| that| it)?"
    ),
    rf"I {_UNABLE} (?:provide|give(?: you)?|offer) {_INFO}{_OF}",
    # I cannot tell whether it is free
    (
        rf"I {_UNABLE} (?:determine|tell|say|confirm|verify|establish|know|be sure|be certain)"
        rf"(?: (?:this|that|it|(?P<known>(?:the|a|any|your|{_ASKED}) {_FREE})))?"
    ),
    rf"I am not (?:sure|certain){_TOPIC}",
    # I have no information about parking
    rf"I (?:do|did)(?: not|n['’]t) have (?:access to )?{_INFO}{_OF}",
    rf"I have no (?:{_TELLING}{_OF}|idea)",
    # there is no information about parking in the notes
    rf"{_THERE} (?:no {_INFO}|nothing)(?: {_GIVEN})?{_OF}{_PLACE}",
    rf"{_THERE} (?:{_NO} {_INFO}|nothing){_PLACE}{_OF}",
    rf"{_THERE} no {_DEGREE}information(?: {_GIVEN})?(?: (?:about|regarding|concerning){_TOPIC})?",
    rf"there {_BE}(?: not|n['’]t) (?:any|enough|sufficient) {_TELLING}(?: {_GIVEN})?{_OF}",
    # no information about parking is given in the notes
    rf"{_NO} {_INFO}{_OF} (?:{_BE}|could be|can be|has been) {_ADVERB}{_SPOKEN}{_PLACE}",
    rf"{_NO} {_DEGREE}(?:information|mention){_OF} (?:{_BE}|could be|can be) (?:found|available|provided|given)",
    rf"no {_DEGREE}(?:notes|documents) (?:were|could be) found",
    # parking is not mentioned in the notes
    rf"{_NAMED} {_BE}(?:n['’]t| not| nowhere) (?:to be )?{_ADVERB}(?:{_SPOKEN}(?: anywhere)?{_PLACE}|in {_NOTES})",
    rf"{_NAMED} do(?:es)?(?: not|n['’]t) appear(?: anywhere)? in {_NOTES}",
    # the answer cannot be found in the notes
    (
        r"(?:(?:the|this|that|such|your|the exact|the requested) (?:answer|information|info|detail|question)"
        rf"(?: to {_QUESTION})?|it|this) (?:(?:is|was|could|does)(?:n['’]t| not| nowhere)|can(?:['’]t| ?not))(?: be)?"
        rf" (?:\w+ly )?(?:{_SPOKEN}|answered|determined|known|inferred){_PLACE}"
    ),
    # it is unclear from the notes whether it is free
    (
        rf"(?:it(?:['’]s| is)|this is) (?:not (?:possible|clear)|unclear|impossible)"
        rf" (?:from|based on|with|given) {_NOTES}(?: to (?:answer|say|tell|determine|know))?{_TOPIC}"
    ),
    rf"it(?:['’]s| is) (?:not possible|impossible) to (?:answer|say|tell|determine){_TOPIC}{_PLACE}",
    # I don't know whether it is free
    rf"I (?:do|did)(?: not|n['’]t) know(?: (?P<unknown>(?:{_ASKED}|about|the) {_FREE}|this|that))?",
)
_FORMS = (
    *(re.compile(rf"{_OPENING}(?P<body>{clause}){_TAIL}", re.IGNORECASE) for clause in _CLAUSES),
    # based on the notes, it is not possible to say whether it is free
    re.compile(
        rf"(?:(?:unfortunately|however),? )?(?:based on|from|given) {_NOTES}(?: alone)?,? (?P<body>it(?:['’]s| is)"
        rf" (?:not (?:possible|clear)|unclear|impossible)(?: to (?:answer|say|tell|determine|know))?{_TOPIC}){_TAIL}",
        re.IGNORECASE,
    ),
)
_JOINT = re.compile(
    r";\s|(?:,|;|\s[–—-])?\s(?:and\s)?(?:so|and|therefore|thus|hence|because|as|since|given that),?\s"
    r"|,\s(?=I\b)",
    re.IGNORECASE,
)
_I_AM = re.compile(r"(?<=\bI)['’]m\b")
_ELIDED = re.compile(
    r"(^|\b(?:but|and) )(?=(?:could|can|cannot|can['’]t|am|was|do|did)\b)", re.IGNORECASE
)

# Words at which a topic has become a statement, or an exception, of its own.
_AND_MORE = re.compile(r"\band (?:(?:the|a|an|any|its|their|your|his|her) )?\S+ \S+ \S")
_CLAUSE = re.compile(
    r"[;:!?()]|\s[-–—]+\s|[–—]|--|[.]\s|,\s*(?:so|and then|which|who|where|as|or else|meaning|it|they|he|she|we"
    r"|you|there)\b"
    r"|\b(?:mention|explain|reveal|discuss|describe) that \w+ \w"  # what is mentioned, or not, is so
    r"|\b(?:because|since|although|though|whereas|while|except|besides|unless|instead|however|therefore|but|yet"
    r"|other than"
    r"|apart from|aside from|beyond|despite|only|so|hence|thus)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|had|can|could|will|would|may|must|should|does|did|cannot)\b|n['’]t\b|\b(?:it|they"
    r"|we) ",
    re.IGNORECASE,
)
_ASKED_FIRST = re.compile(rf"^(?:.{{0,80}}\b)?{_ASKED}", re.IGNORECASE)
_FAULT = re.compile(
    r"(?:the|a|an|any|no)?\s?(?:\w+ )?(?:problems?|issues?|faults?|errors?|mistakes?|reasons?|differences?|bugs?"
    r"|contradictions?|evidence|vulnerabilit(?:y|ies))\b",
    re.IGNORECASE,
)
# "the 2024 budget", "rider app 4 in the notes": the number is part of a name.
_NAMED_NUMBER = re.compile(
    r"\b(?:the|for|of|about|fiscal|FY) ?(?:year )?(?:19|20)\d\d\b|\bQ[1-4]\b|\b[A-Z][A-Za-z]*-\d{1,3}\b"
    r"|(?<!\bin)(?<!\bof)(?<!\bto)(?<!\bby)(?<!\bat)(?<!\bis)(?<!\bfor)(?<!\bthan)(?<!\bafter)(?<!\bwithin)"
    r" \d{1,2}(?=\s*$| in )"
)


def says_nothing_en(text: str) -> bool:
    """Whether a sentence, without its full stop, is clause for clause that the notes do not tell."""
    return _each_says_so(_I_AM.sub(" am", text))


def _each_says_so(text: str) -> bool:
    if _matches(text):
        return True
    return any(
        _matches(text[: joint.start()]) and _each_says_so(text[joint.end() :])
        for joint in _JOINT.finditer(text)
    )


def _matches(clause: str) -> bool:
    whole = _ELIDED.sub(r"\1I ", clause, count=1)
    return any((found := form.fullmatch(whole)) and _is_bare(found) for form in _FORMS)


def _is_bare(found: re.Match[str]) -> bool:
    """Whether what stands around the turn of phrase only names what the notes do not tell."""
    body = _NAMED_NUMBER.sub("", found["body"])
    if has_digit(body) or _CLAUSE.search(body) or _AND_MORE.search(body):
        return False
    groups = found.groupdict(default="")
    if "found" in groups and _FAULT.match(groups["found"]):
        return False
    named = [groups.get(name, "") for name in ("topic", "found", "known", "unknown", "subject")]
    return not any(_states(part) for part in named)


def _states(topic: str) -> bool:
    verb = _VERB.search(topic)
    return bool(verb) and not _ASKED_FIRST.match(topic[: verb.start() + 1])
