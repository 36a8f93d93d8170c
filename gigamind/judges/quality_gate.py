"""Checks a response against the checklist of its feature. A yes counts only with a quote of the response or a note."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, field_validator

from gigamind.errors import InputError, LlmError
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.i18n import Language, _
from gigamind.judges.protocol import AnswerCase, Asking, LocalisedJudge, PlannedCall, Verdict, once
from gigamind.judges.quotes import best_proof
from gigamind.judges.search_qa.segments import citations
from gigamind.judges.spec import (
    LANGUAGES,
    LlmJudge,
    LlmJudgeFile,
    PromptLanguage,
    load_llm_judge,
)
from gigamind.llm.client import Message
from gigamind.prompting.prompts import as_json
from gigamind.prompting.replies import Auxiliary, ModelReply, Most, Quotation
from gigamind.records.judged import QualityItemReport, QualityReport

# Part of the fingerprint. Increment it whenever the code gives the same reply another verdict.

_RULES = 5

_Phrase = Annotated[str, Field(min_length=1, pattern=r"\S")]
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class ChecklistItem(BaseModel, extra="forbid", frozen=True):
    """One question of a checklist by language, `others` beside the two; `quote` says where the proof of a yes must be.

    If it `cites` sources, a citation of a non-existing note proves nothing.
    """

    id: _Name
    quote: Literal["answer", "notes", "either"] = "answer"
    cites: bool = False
    ko: _Phrase
    en: _Phrase
    others: Mapping[Language, _Phrase] = Field(default={}, exclude_if=lambda others: not others)

    def question(self, language: Language) -> str:
        return {"ko": self.ko, **self.others}.get(language, self.en)


class _Checklist(BaseModel, extra="forbid", frozen=True):
    """The questions for the responses of one feature; passed if the share of yes is at least `min_pass_ratio`."""

    items: Annotated[tuple[ChecklistItem, ...], Field(min_length=1)]
    min_pass_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.75

    @field_validator("items")
    @classmethod
    def _check_ids(cls, items: tuple[ChecklistItem, ...]) -> tuple[ChecklistItem, ...]:
        repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
        if repeated:
            raise ValueError(
                _("several checklist items have the same id: {ids}", ids=tuple(repeated))
            )
        if any(item.id == "pass_rate" for item in items):
            # Comparisons list the rate of each item in the same block as `pass_rate`.
            raise ValueError(
                _("a checklist item cannot have the id pass_rate, because a metric has this name")
            )
        return items


class _ChecklistJudgeFile(LlmJudgeFile):
    """A judge file of kind `checklist`; its fields are described in judges/README.md."""

    kind: Literal["checklist"]
    unverified: Literal["no", "as_told"] = "no"
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 4
    features: Annotated[dict[_Name, _Checklist], Field(min_length=1)]


_GIVEN = ("nonce", "notes", "request", "answer", "items")  # variables of the prompts
_TIE = 1e-9  # tolerance for rounding, so that 7 of 10 reach the ratio 0.7


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


def _passes(yes: int, items: int, min_pass_ratio: float) -> bool:
    """Return whether `yes` of `items` (1 or more) reach the ratio."""
    return yes / items >= min_pass_ratio - _TIE


def _evidence(
    quote: str, item: ChecklistItem, case: AnswerCase, least: int
) -> tuple[Alignment | None, bool]:
    texts = case.texts
    allowed = {"answer": range(1), "notes": range(1, len(texts)), "either": range(len(texts))}
    quotes = [Quote(quote, source_index=place) for place in allowed[item.quote]]
    places = align_all(quotes, texts).outcomes
    proofs = [best_proof(place, texts, least, marks=True) for place in places]
    return max(
        proofs, key=lambda proof: (proof[1], isinstance(proof[0], Aligned)), default=(None, False)
    )


_LEAST_ITEM = 25  # tokens per item of a reply


@dataclass(frozen=True)
class QualityGate(LocalisedJudge[AnswerCase, QualityReport, LlmJudge[_ChecklistJudgeFile]]):
    """The judge of kind `checklist`: which items of a feature's checklist an answer fulfils."""

    feature: str
    kind = "checklist"
    scales: ClassVar = {"pass_rate": "binary"}

    @property
    def file(self) -> _ChecklistJudgeFile:
        return self.judge_in("").file

    @property
    def checklist(self) -> _Checklist:
        return self.file.features[self.feature]

    def fingerprint(self, model: str) -> str:
        marks = [judge.fingerprint for judge in self.by_language.values()]
        return self.file.fingerprint_with(self.feature, model, *marks)

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if case.answer.strip():
            items = self.checklist.items
            messages, least = self._messages(case, items, b""), _LEAST_ITEM * len(items)
            call = PlannedCall.of(messages, ChecklistReply, least, self.file.max_tokens)
            yield replace(call, what=_("applying the checklist to"))

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[QualityReport]:
        """Judge a response; a blank one fulfils no item, without a request.

        Raises LlmError if the model gave no usable reply, or left items out twice (`invalid_output`).
        """
        entries = await self._entries(case, asking) if case.answer.strip() else {}
        items = tuple(self._item(item, entries.get(item.id), case) for item in self.checklist.items)
        yes = sum(item.yes for item in items)
        passed = _passes(yes, len(items), self.checklist.min_pass_ratio)
        report = QualityReport(passed=passed, ratio=yes / len(items), items=items)
        return Verdict({"pass_rate": float(passed)}, report, flags=case.flagged)

    async def _entries(self, case: AnswerCase, asking: Asking) -> dict[str, CheckedItem]:
        """Return the model's entry for each item; missing ones are requested a second time."""
        entries: dict[str, CheckedItem] = {}
        mark = self.judge_in(case.language).fingerprint
        for _attempt in range(2):
            left = [item for item in self.checklist.items if item.id not in entries]
            messages = self._messages(case, left, asking.fence_key)
            reply = await asking.ask(messages, ChecklistReply, fingerprint=mark)
            given = once(reply.items, lambda entry: entry.id)
            entries |= {item.id: given[item.id] for item in left if item.id in given}
            if len(entries) == len(self.checklist.items):
                return entries
        raise LlmError(
            "The judge model's reply has no entry or several entries for these checklist items: {items}.",
            "invalid_output",
            items=[item.id for item in self.checklist.items if item.id not in entries],
        )

    def _messages(
        self, case: AnswerCase, items: Sequence[ChecklistItem], key: bytes
    ) -> list[Message]:
        language = self.language_in(case.language)
        requested = (
            {"id": item.id, "question": item.question(language), "quote_from": item.quote}
            for item in items
        )
        return self.by_language[language].prompt.about(
            case.notes,
            key,
            request=as_json(case.question),
            answer=as_json(case.answer),
            items="\n".join(json.dumps(item, ensure_ascii=False) for item in requested),
        )

    def _item(
        self, item: ChecklistItem, entry: CheckedItem | None, case: AnswerCase
    ) -> QualityItemReport:
        evidence, verified = None, False
        if entry is not None and entry.yes:
            evidence, verified = _evidence(entry.quote, item, case, self.file.min_quote_chars)
            if verified and item.cites and isinstance(evidence, Aligned):
                span, text = evidence.span, case.texts[evidence.quote.source_index or 0]
                quoted = citations(text[max(0, span.start - 1) : span.end + 1])  # with brackets
                known = range(1, len(case.notes) + 1)
                verified = not quoted or any(number in known for number in citations(case.answer))
        return QualityItemReport(
            id=item.id,
            text=item.question(self.language_in(case.language)),
            yes=bool(entry and entry.yes) and (verified or self.file.unverified == "as_told"),
            reported_yes=None if entry is None else entry.yes,
            quote=evidence.quote.text if evidence else "",
            trusted=verified,
            source=evidence.quote.source_index if isinstance(evidence, Aligned) else None,
        )

    @classmethod
    def load(cls, path: Path, feature: str, language: PromptLanguage = "auto") -> Self:
        """Return the judge of a file of kind `checklist` for one of its features; raises as `load_llm_judge`."""
        kind, rules = (_ChecklistJudgeFile, ChecklistReply, _GIVEN), f"rules {_RULES}"
        judges = {name: load_llm_judge(path, name, *kind, rules) for name in LANGUAGES[language]}
        gate = cls(judges, feature)
        if feature not in gate.file.features:
            raise InputError(
                "--feature: the judge file {file} has no checklist for the feature {feature}. It has checklists for:"
                " {known}.",
                file=path,
                feature=feature,
                known=sorted(gate.file.features),
            )
        return gate
