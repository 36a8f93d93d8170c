"""The role of each sentence of an answer: the model reports it, and code only rejects roles that would hide a fact.

A sentence is exempt from being a claim if it says nothing beyond its role: each word is among the few by which answers
refer to themselves, the question or, in a lead-in, what follows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gigamind.evidence.align import align
from gigamind.evidence.critical import NEGATION
from gigamind.evidence.result import Aligned, Alignment, is_same_place
from gigamind.judges.search_qa.abstention import denies_knowledge, is_abstention
from gigamind.judges.search_qa.judged import JudgedClaim, Veto
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.reply import ClaimFinding, ReportedRole
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.claims import Claim
from gigamind.judges.search_qa.segments.pieces import Role
from gigamind.judges.search_qa.words import (
    ASKED_FOR,
    COURTEOUS,
    GRAMMAR,
    OF_ITSELF,
    OF_SOURCES,
    POINTING,
    POLITE,
    TELLING,
    stem,
    stems,
)
from gigamind.prompting.fences import Source

CLAUSES = re.compile(
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
_MAX_BEYOND = 1  # words of an abstention beyond its own and the question's
_SET_PHRASES = re.compile(r"\bfeel free\b", re.IGNORECASE)


class Roles:
    """The roles that the sentences of one answer may have, given its question and notes."""

    def __init__(self, question: str, notes: Sequence[Source], claims: Sequence[Claim]) -> None:
        self._claims = claims
        self._texts = [note.text for note in notes]
        self._question = stems(question)
        self._numbers = known_numbers(question)
        titles = " ".join(note.title for note in notes)
        self._titles, self._numbers_of_titles = stems(titles), known_numbers(titles)
        self._notes = stems(" ".join(f"{note.title} {note.text}" for note in notes))

    def by_form(self, claim: Claim) -> ReportedRole:
        """Return the role of a sentence by its form and words alone: a claim, unless all of it fits another role."""
        for role in _BY_FORM:
            if self.veto(claim, role, claim.piece.text) is None:
                return role
        return "claim"

    def veto(self, claim: Claim, role: Role, words: str) -> Veto | None:
        """Return why a sentence is a claim although the model reports another role; None if it is no claim.

        Args:
            words: of an abstention: the words which state that the notes do not say something.
        """
        piece = claim.piece
        if not self._has_form(claim, role):
            return "form"
        if piece.cited and role != "source":
            return "citation"
        text = _SET_PHRASES.sub(" ", without_note_names(piece.text))
        if new_numbers(text, self._numbers_of_titles if role == "source" else self._numbers):
            return "number"
        if role == "abstention" and not is_abstention(words, piece.text):
            return "no_words"
        return self._veto_of_words(claim, role, text)

    def _veto_of_words(self, claim: Claim, role: Role, text: str) -> Veto | None:
        if role in _OVER_OTHERS and NEGATION.search(text.casefold()):
            return "states"
        left = self._beyond(text, role, claim)
        if role == "abstention" and len(left) <= _MAX_BEYOND:
            places = (align(claim.piece.text, note) for note in self._texts)
            copied = any(isinstance(place, Aligned) for place in places)
            left = stems(text) if copied else self._of_facts(text)
        if left:
            return "states" if left.isdisjoint(self._notes) else "word_of_a_note"
        alone = role == "courtesy" and COURTEOUS.isdisjoint(stems(text))  # "네." may be the answer
        return "form" if alone else None

    def _has_form(self, claim: Claim, role: Role) -> bool:
        piece = claim.piece
        if piece.shape in {"row", "code"}:
            return False
        match role:
            case "heading":
                return piece.shape == "heading"
            case "question":
                return bool(_ASKS.search(piece.text[-_END:]))
            case "lead_in":
                # It introduces what follows: by a word for it, or by a colon after "include" and the like.
                words, last = stems(piece.text), _LAST_WORD.search(piece.text.rstrip("*_ ")[-_END:])
                is_grammar = last is not None and stem(last[1].casefold()) in GRAMMAR
                by_word = not words.isdisjoint(POINTING | TELLING if last else POINTING)
                return (is_grammar or by_word) and claim.id < self._claims[-1].id
            case _:
                return True

    def _beyond(self, text: str, role: Role, claim: Claim) -> frozenset[str]:
        if role == "source":
            return stems(text) - OF_SOURCES - self._titles
        allowed = OF_ITSELF | POLITE
        if role != "courtesy":
            allowed |= self._question | ASKED_FOR
        if role in _OVER_OTHERS:
            later = (other.piece.text for other in self._claims if other.id > claim.id)
            allowed |= self._titles | stems(" ".join(later))
        return stems(text) - allowed

    def _of_facts(self, text: str) -> frozenset[str]:
        """Return the words of the clauses of an abstention that do not abstain themselves.

        Words of the question alone also count, because they may answer a yes/no question.
        """
        fact_words: frozenset[str] = frozenset()
        for clause, loose in _clauses(text):
            if denies_knowledge(clause):
                continue
            words = stems(clause)
            from_question = (words & self._question) - OF_ITSELF - ASKED_FOR
            fact_words |= words - OF_ITSELF - POLITE - ASKED_FOR - self._question
            if len(from_question) >= _FEWEST_ASKED and not loose and not _TOPIC.search(clause):
                fact_words |= from_question
        return fact_words


def _clauses(text: str) -> list[tuple[str, bool]]:
    """Return the clauses of a sentence, and whether each link may connect mere words: "and", or a first comma."""
    clauses: list[tuple[str, bool]] = []
    at, before = 0, ""
    for end in (*CLAUSES.finditer(text), None):
        part, behind = text[at : end.start() if end else len(text)], end[0] if end else ""
        loose = (before or behind) == "and" or (not before and behind == ",")
        if clauses and len(part.split()) < _FEWEST_OF_CLAUSE:
            part, loose = f"{clauses[-1][0]} {part}", clauses.pop()[1]
        clauses.append((part, loose))
        at, before = (end.end() if end else 0), behind.strip()
    return clauses


def with_roles(
    judged: Sequence[JudgedClaim],
    findings: Mapping[int, ClaimFinding],
    roles: Roles,
    answer: Alignment | None,
) -> tuple[JudgedClaim, ...]:
    """Return the sentences with the roles that they count as; `answer` is the proven place of the answering words."""
    sentences = [_in_role(sentence, findings[sentence.claim.id], roles) for sentence in judged]
    return tuple(
        replace(sentence, role="claim", veto="answered", untold=False)
        if sentence.role == "abstention" and _is_answered(sentence, sentences, answer)
        else sentence
        for sentence in sentences
    )


def _in_role(sentence: JudgedClaim, finding: ClaimFinding, roles: Roles) -> JudgedClaim:
    role, text = finding.role, sentence.claim.piece.text
    if role == "claim":
        return replace(sentence, untold=is_abstention(finding.abstention_quote, text))
    proven = sentence.verdict == "supported"  # it makes a statement, because a note does
    veto = "proven" if proven else roles.veto(sentence.claim, role, finding.abstention_quote)
    if veto is not None:
        return replace(sentence, reported_role=role, veto=veto)
    return JudgedClaim(
        sentence.claim, "not_found", "not_found", None, None, None, (),
        role=role, reported_role=role, untold=role == "abstention",
    )  # fmt: skip


def _is_answered(
    abstention: JudgedClaim, judged: Sequence[JudgedClaim], answer: Alignment | None
) -> bool:
    """Return whether a claim next to an abstention uses the very words that answer the question, and has its topic."""
    if not isinstance(answer, Aligned):
        return False
    topic = stems(abstention.claim.piece.text) - OF_ITSELF
    return any(
        claim.verdict == "supported"
        and isinstance(place := claim.evidence, Aligned)
        and is_same_place(place, answer)
        and topic <= stems(f"{claim.claim.piece.text} {place.quote.text}")
        for claim in judged
    )
