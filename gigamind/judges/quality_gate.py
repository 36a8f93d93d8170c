"""Checks a response of a product by a checklist: which questions its feature asks, and which of them it passes.

The questions stand in the judge's file, and a yes counts only with a quote that stands in the response or its notes.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, field_validator

from gigamind.errors import InputError, LlmError
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.i18n import _
from gigamind.judges.asking import Asking, PlannedCall, counted
from gigamind.judges.protocol import KEY, AnswerCase, LocalisedJudge, Proof, Scale, Verdict
from gigamind.judges.quotes import best_proof
from gigamind.judges.search_qa.segments.citations import citations
from gigamind.judges.spec import (
    LANGUAGES,
    LlmJudge,
    LlmJudgeFile,
    PromptLanguage,
    fingerprint_of,
    load_llm_judge,
)
from gigamind.llm.client import Message
from gigamind.llm.fences import Flag, fence
from gigamind.llm.prompts import as_json
from gigamind.llm.replies import Auxiliary, ModelReply, Most, Quotation
from gigamind.wording import Language

# Part of the fingerprint.  Raise it whenever the code gives the same reply another verdict.
# 2: quotes that are too short, cut off a word or negation, or speak to the judge prove nothing.
# 3: any word changed but by the closed set of evidence/proof.py refuses: tenses and endings, too.
# 4: what a verdict does not need is read leniently.
# 5: "[노트 9]" of five notes is no source.
RULES = 5

Phrase = Annotated[str, Field(min_length=1, pattern=r"\S")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class ChecklistItem(BaseModel, extra="forbid", frozen=True):
    """One question of a checklist, in both languages.

    Attributes:
        quote: where the words that prove a yes must stand.
        cites: whether they name sources, so that a citation of a note that there is not proves nothing.
    """

    id: Name
    quote: Literal["answer", "notes", "either"] = "answer"
    cites: bool = False
    ko: Phrase
    en: Phrase


class Checklist(BaseModel, extra="forbid", frozen=True):
    """What the responses of one feature are checked for; passed when the share of yes is `min_pass_ratio` or more."""

    items: Annotated[tuple[ChecklistItem, ...], Field(min_length=1)]
    min_pass_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.75

    @field_validator("items")
    @classmethod
    def _check_ids(cls, items: tuple[ChecklistItem, ...]) -> tuple[ChecklistItem, ...]:
        repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
        if repeated:
            raise ValueError(f"more than one item is called {', '.join(repeated)}")
        if any(item.id == "pass_rate" for item in items):
            # Comparisons hold each item's rate beside it, under the same block.
            raise ValueError(
                "no item can be called pass_rate: that is the share of answers that pass"
            )
        return items


class ChecklistJudgeFile(LlmJudgeFile):
    """A judge file of kind `checklist`.

    Attributes:
        unverified: what a yes counts as when its quote proves nothing.
        min_quote_chars: letters and digits that a quote must have, unless it is a whole line or cell, or a citation in
            brackets.
    """

    kind: Literal["checklist"]
    unverified: Literal["no", "as_told"] = "no"
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 4
    features: Annotated[dict[Name, Checklist], Field(min_length=1)]


_GIVEN = ("nonce", "notes", "request", "answer", "items")  # the variables that its prompts may use
_TIE = 1e-9  # a share of 7 of 10 is the ratio 0.7, whatever floats make of either


class CheckedItem(ModelReply, frozen=True):
    """What the model observes of one item."""

    id: Annotated[str, Most(100)] = Field(description="id of the item, as given")
    yes: bool = Field(description="true if the response fulfils the item")
    quote: Annotated[Quotation, Auxiliary("")] = Field(
        description="for a yes, the words that show it, copied; empty for a no"
    )


class ChecklistReply(ModelReply, frozen=True):
    """What the model observes."""

    items: Annotated[tuple[CheckedItem, ...], Most(100)] = Field(
        description="one entry for each item, none left out"
    )


@dataclass(frozen=True, slots=True)
class ChecklistJudge(LlmJudge[ChecklistJudgeFile]):
    """A checklist judge with its prompt and questions in one language."""

    language: Language

    def checklist(self, feature: str) -> Checklist:
        """What the responses of a feature are checked for.

        Raises:
            InputError: the judge file has no such feature.
        """
        features = self.file.features
        if feature not in features:
            raise InputError(
                f'the checklist judge has no feature "{feature}"; it has {", ".join(sorted(features))}'
            )
        return features[feature]


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """One item of a checklist.

    Attributes:
        yes: by the rule of the judge file.
        told: what the model said; None when it was not asked.
        verified: a yes whose quote stands where the item asks for it, unchanged, and proves something.
        evidence: of a yes: where its quote stands, or why it does not; source 0 is the response, from 1 on the notes.
    """

    id: str
    question: str
    yes: bool
    told: bool | None
    verified: bool
    evidence: Alignment | None


@dataclass(frozen=True, slots=True)
class ChecklistVerdict:
    """Whether a response passes its checklist.

    Attributes:
        share: items with a yes / items, in [0, 1].
        flagged: what a person should look at: 0 is the response, from 1 on the notes with their titles.
    """

    feature: str
    passed: bool
    share: float
    items: tuple[ItemVerdict, ...]
    flagged: dict[int, tuple[Flag, ...]]


def load_checklist_judge(path: Path, language: Language) -> ChecklistJudge:
    """The judge of a file, with its prompt in one language.

    Raises:
        InputError: see `load_llm_judge`.
    """
    judge = load_llm_judge(path, language, ChecklistJudgeFile, ChecklistReply, _GIVEN)
    mark = fingerprint_of(judge.file, judge.fingerprint, f"rules {RULES}")
    return ChecklistJudge(judge.file, judge.prompt, mark, language)


def passes(yes: int, items: int, min_pass_ratio: float) -> bool:
    """The rule: `yes` of `items`, of which there is at least one, are enough."""
    return yes / items >= min_pass_ratio - _TIE


async def judge_checklist(
    judge: ChecklistJudge, feature: str, case: AnswerCase, asking: Asking
) -> ChecklistVerdict:
    """One verdict; a blank response fulfils no item, without asking.  Items left out are asked for once more.

    Args:
        feature: of the product, whose response the answer is.

    Raises:
        InputError: the judge file has no such feature.
        LlmError: the model gave no usable reply, or left items out twice (`invalid_output`): the response is unscored,
            neither passed nor failed.
    """
    checklist = judge.checklist(feature)
    if not case.answer.strip():
        return verdict_of({}, judge, feature, case)
    entries: dict[str, CheckedItem] = {}
    for _attempt in range(2):
        left = [item for item in checklist.items if item.id not in entries]
        messages = checklist_messages(judge, case, left, asking.fence_key)
        reply = await asking.ask(messages, ChecklistReply, fingerprint=judge.fingerprint)
        entries |= _usable(reply, left)
        if len(entries) == len(checklist.items):
            return verdict_of(entries, judge, feature, case)
    missing = ", ".join(item.id for item in checklist.items if item.id not in entries)
    raise LlmError(f"the answer has no entry, or two, for the items {missing}", "invalid_output")


def verdict_of(
    entries: dict[str, CheckedItem], judge: ChecklistJudge, feature: str, case: AnswerCase
) -> ChecklistVerdict:
    """The verdict that the entries of a reply amount to; an item without an entry is a no that nobody told."""
    checklist = judge.checklist(feature)
    items = tuple(_item(item, entries.get(item.id), case, judge) for item in checklist.items)
    yes = sum(item.yes for item in items)
    return ChecklistVerdict(
        feature=feature,
        passed=passes(yes, len(items), checklist.min_pass_ratio),
        share=yes / len(items),
        items=items,
        flagged=case.flagged,
    )


def checklist_messages(
    judge: ChecklistJudge, case: AnswerCase, items: Sequence[ChecklistItem], key: bytes
) -> list[Message]:
    """What is sent to ask about some items of a checklist."""
    fenced = fence(case.notes, key)
    asked = (
        {
            "id": item.id,
            "question": _question(item, judge.language),
            "quote_from": item.quote,
        }
        for item in items
    )
    return judge.prompt.render(
        nonce=fenced.nonce,
        notes=fenced.text,
        request=as_json(case.question),
        answer=as_json(case.answer),
        items="\n".join(json.dumps(item, ensure_ascii=False) for item in asked),
    )


def _usable(reply: ChecklistReply, asked: Sequence[ChecklistItem]) -> dict[str, CheckedItem]:
    """Entries for the items that were asked for; of two for one item, neither can be believed."""
    counts = Counter(entry.id for entry in reply.items)
    known = {item.id for item in asked}
    return {entry.id: entry for entry in reply.items if entry.id in known and counts[entry.id] == 1}


def _item(
    item: ChecklistItem, entry: CheckedItem | None, case: AnswerCase, judge: ChecklistJudge
) -> ItemVerdict:
    said_yes = entry is not None and entry.yes
    evidence, verified = None, False
    if entry is not None and said_yes:
        evidence, verified = _evidence(entry.quote, item, case, judge.file.min_quote_chars)
        verified = verified and not (item.cites and _cites_no_note(evidence, case))
    believed = verified or judge.file.unverified == "as_told"
    return ItemVerdict(
        id=item.id,
        question=_question(item, judge.language),
        yes=said_yes and believed,
        told=None if entry is None else entry.yes,
        verified=verified,
        evidence=evidence,
    )


def _evidence(
    quote: str, item: ChecklistItem, case: AnswerCase, least: int
) -> tuple[Alignment | None, bool]:
    """The best of the places that the item allows, None when there is none, and whether it proves something."""
    texts = case.texts
    allowed = {"answer": range(1), "notes": range(1, len(texts)), "either": range(len(texts))}
    quotes = [Quote(quote, source_index=place) for place in allowed[item.quote]]
    places = align_all(quotes, texts).outcomes
    proofs = [best_proof(place, texts, least, marks=True) for place in places]
    return max(
        proofs, key=lambda proof: (proof[1], isinstance(proof[0], Aligned)), default=(None, False)
    )


def _cites_no_note(evidence: Alignment | None, case: AnswerCase) -> bool:
    """Whether a quote of the answer has citations, and no citation of the answer is of a note that there is."""
    if not isinstance(evidence, Aligned):
        return False
    quoted = case.answer[max(0, evidence.span.start - 1) : evidence.span.end + 1]  # brackets, too
    return bool(citations(quoted)) and not any(
        0 < number <= len(case.notes) for number in citations(case.answer)
    )


def _question(item: ChecklistItem, language: Language) -> str:
    return item.ko if language == "ko" else item.en


_LEAST_ITEM = 25  # tokens of an item in a reply


@dataclass(frozen=True)
class QualityGate(LocalisedJudge[AnswerCase, ChecklistVerdict, ChecklistJudge]):
    """The judge of kind `checklist`: which items of a feature's checklist an answer fulfils."""

    feature: str
    kind = "checklist"
    scales: ClassVar[Mapping[str, Scale]] = {"pass_rate": "binary"}

    @property
    def file(self) -> ChecklistJudgeFile:
        """The judge file."""
        return self.judge_in("").file

    @property
    def checklist(self) -> Checklist:
        """What answers are checked for."""
        return self.file.features[self.feature]

    def fingerprint(self, model: str) -> str:
        marks = [judge.fingerprint for judge in self.by_language.values()]
        return fingerprint_of(self.file, self.feature, model, *marks)

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if case.answer.strip():
            judge, items = self.judge_in(case.language), self.checklist.items
            messages = checklist_messages(judge, case, items, KEY)
            request = counted(messages, ChecklistReply.model_json_schema())
            least = _LEAST_ITEM * len(items)
            yield PlannedCall(request, least, self.file.max_tokens, what=_("checking"))

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[ChecklistVerdict]:
        """A blank answer fulfils no item, without asking."""
        verdict = await judge_checklist(self.judge_in(case.language), self.feature, case, asking)
        told_yes = sum(bool(item.told) for item in verdict.items)
        enough = passes(told_yes, len(verdict.items), self.checklist.min_pass_ratio)
        return Verdict(
            {"pass_rate": float(verdict.passed)},
            verdict,
            told={"pass_rate": float(enough)},
            proof=tuple(
                Proof.of(place.quote.source_index, place, proven=item.verified)
                for item in verdict.items
                if (place := item.evidence) is not None
            ),
            flags=verdict.flagged,
        )


def load_quality_gate(path: Path, feature: str, language: PromptLanguage = "auto") -> QualityGate:
    """The judge of a file of kind `checklist`, for one of its features.

    Raises:
        InputError: see `load_llm_judge`; or the file has no such feature.
    """
    languages = LANGUAGES[language]
    gate = QualityGate({name: load_checklist_judge(path, name) for name in languages}, feature)
    if feature not in gate.file.features:
        known = ", ".join(sorted(gate.file.features))
        raise InputError(f'--feature: {path} has no feature "{feature}"; it has {known}')
    return gate
