"""Checks a response against the list of its feature, each item a yes or no (seed 004, "2-1").

A yes counts only with a quote that stands in the response or the notes, wherever the item asks for it, and proves
something by the rules of `quotes`.  The model tells what it saw; that the share of yes is enough is a rule here.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError, LlmError
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.judges.checklist_file import RULES, Checklist, ChecklistItem, ChecklistJudgeFile
from gigamind.judges.quotes import strongest
from gigamind.judges.spec import Language, LlmJudge, fingerprint_of, load_llm_judge
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Message
from gigamind.llm.fences import Flag, Source, fence, flags
from gigamind.llm.prompts import as_json

_GIVEN = ("nonce", "notes", "request", "answer", "items")  # the variables that its prompts may use
_TIE = 1e-9  # a share of 7 of 10 is the ratio 0.7, whatever floats make of either


class CheckedItem(BaseModel):
    """What the model observes of one item; the field descriptions are prompt text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(description="id of the item, as given")
    yes: bool = Field(description="true if the response fulfils the item")
    quote: str = Field(description="for a yes, the words that show it, copied; empty for a no")


class ChecklistReply(BaseModel):
    """What the model observes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: tuple[CheckedItem, ...] = Field(description="one entry for each item, none left out")


@dataclass(frozen=True, slots=True)
class ChecklistJudge:
    """A checklist judge with its prompt and questions in one language."""

    definition: LlmJudge[ChecklistJudgeFile]
    language: Language


@dataclass(frozen=True, slots=True)
class Response:
    """What a feature of the product gave for a request.

    Attributes:
        request: the question, or what was to be done.
        notes: what it was given to work from; may be empty.
    """

    feature: str
    request: str
    answer: str
    notes: tuple[Source, ...] = ()


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


def load_checklist_judge(
    path: Path, language: Language, *, prompts: Path | None = None
) -> ChecklistJudge:
    """The judge of a file, with its prompt in one language.

    Raises:
        InputError: see `load_llm_judge`.
    """
    definition = load_llm_judge(
        path, language, ChecklistJudgeFile, ChecklistReply, _GIVEN, prompts=prompts
    )
    mark = fingerprint_of(definition.file, definition.fingerprint, f"rules {RULES}")
    return ChecklistJudge(replace(definition, fingerprint=mark), language)


def passes(yes: int, items: int, min_pass_ratio: float) -> bool:
    """The rule: `yes` of `items`, of which there is at least one, are enough."""
    return yes / items >= min_pass_ratio - _TIE


async def judge_checklist(
    model: LanguageModel,
    judge: ChecklistJudge,
    response: Response,
    *,
    item_id: str,
    fence_key: bytes,
    repeat: int = 0,
    fresh: bool = False,
) -> ChecklistVerdict:
    """One verdict; a blank response fulfils no item, without asking.  Items left out are asked for once more.

    Args:
        fresh: ask anew, whatever the store holds; see `LanguageModel.ask`.

    Raises:
        InputError: the judge file has no such feature.
        LlmError: the model gave no usable reply, or left items out twice (`invalid_output`): the response is unscored,
            neither passed nor failed.
    """
    checklist = _checklist(judge, response.feature)
    if not response.answer.strip():
        return verdict_of({}, response, judge)
    found: dict[str, CheckedItem] = {}
    for _ in range(2):
        left = [item for item in checklist.items if item.id not in found]
        messages = checklist_messages(judge, response, left, fence_key)
        fingerprint = judge.definition.fingerprint
        reply = await model.ask(
            messages,
            ChecklistReply,
            item_id=item_id,
            fingerprint=fingerprint,
            repeat=repeat,
            fresh=fresh,
        )
        found |= _usable(reply, left)
        if len(found) == len(checklist.items):
            return verdict_of(found, response, judge)
    missing = ", ".join(item.id for item in checklist.items if item.id not in found)
    raise LlmError(f"the answer has no entry, or two, for the items {missing}", "invalid_output")


def verdict_of(
    told: dict[str, CheckedItem], response: Response, judge: ChecklistJudge
) -> ChecklistVerdict:
    """The verdict that the entries of a reply amount to; an item without an entry is a no that nobody told."""
    checklist = _checklist(judge, response.feature)
    items = tuple(_item(item, told.get(item.id), response, judge) for item in checklist.items)
    yes = sum(item.yes for item in items)
    texts = [response.answer, *(f"{note.title}\n{note.text}" for note in response.notes)]
    return ChecklistVerdict(
        feature=response.feature,
        passed=passes(yes, len(items), checklist.min_pass_ratio),
        share=yes / len(items),
        items=items,
        flagged={place: found for place, text in enumerate(texts) if (found := flags(text))},
    )


def _checklist(judge: ChecklistJudge, feature: str) -> Checklist:
    features = judge.definition.file.features
    if feature not in features:
        raise InputError(
            f'the checklist judge has no feature "{feature}"; it has {", ".join(sorted(features))}'
        )
    return features[feature]


def checklist_messages(
    judge: ChecklistJudge, response: Response, items: Sequence[ChecklistItem], key: bytes
) -> list[Message]:
    """What is sent to ask about some items of a checklist."""
    fenced = fence(response.notes, key)
    asked = (
        {
            "id": item.id,
            "question": _question(item, judge.language),
            "quote_from": item.quote,
        }
        for item in items
    )
    return judge.definition.prompt.render(
        nonce=fenced.nonce,
        notes=fenced.text,
        request=as_json(response.request),
        answer=as_json(response.answer),
        items="\n".join(json.dumps(item, ensure_ascii=False) for item in asked),
    )


def _usable(reply: ChecklistReply, asked: Sequence[ChecklistItem]) -> dict[str, CheckedItem]:
    """Entries for the items that were asked for; of two for one item, neither can be believed."""
    counts = Counter(entry.id for entry in reply.items)
    known = {item.id for item in asked}
    return {entry.id: entry for entry in reply.items if entry.id in known and counts[entry.id] == 1}


def _item(
    item: ChecklistItem, told: CheckedItem | None, response: Response, judge: ChecklistJudge
) -> ItemVerdict:
    said_yes = told is not None and told.yes
    least = judge.definition.file.min_quote_chars
    evidence, verified = None, False
    if told is not None and said_yes:
        evidence, verified = _evidence(told.quote, item, response, least)
    believed = verified or judge.definition.file.unverified == "as_told"
    return ItemVerdict(
        id=item.id,
        question=_question(item, judge.language),
        yes=said_yes and believed,
        told=None if told is None else told.yes,
        verified=verified,
        evidence=evidence,
    )


def _evidence(
    quote: str, item: ChecklistItem, response: Response, least: int
) -> tuple[Alignment | None, bool]:
    """The best of the places that the item allows, None when there is none, and whether it proves something."""
    texts = _sources(response)
    allowed = {"answer": range(1), "notes": range(1, len(texts)), "either": range(len(texts))}
    quotes = [Quote(quote, source_index=place) for place in allowed[item.quote]]
    found = [_proof(one, texts, least) for one in align_all(quotes, texts).outcomes]
    return max(found, key=lambda one: (one[1], isinstance(one[0], Aligned)), default=(None, False))


def _proof(place: Alignment, texts: Sequence[str], least: int) -> tuple[Alignment, bool]:
    if not isinstance(place, Aligned):
        return place, False
    best, weakness = strongest(place, texts[place.quote.source_index], least, marks=True)
    return best, weakness is None


def _sources(response: Response) -> list[str]:
    return [response.answer, *(note.text for note in response.notes)]


def _question(item: ChecklistItem, language: Language) -> str:
    return item.ko if language == "ko" else item.en
