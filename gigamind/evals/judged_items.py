"""Takes verdicts, and the labels that a dataset has itself, out of a line of per_item.jsonl: what differs by task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from gigamind.datasets.labels import AnswerabilityLabel, AnswerLabel, Label
from gigamind.judges.certify import Scale
from gigamind.reports.judged import JudgementReport

_SUPPORTED = "supported"


@dataclass(frozen=True, slots=True)
class RunItem:
    """One item of a run.

    Attributes:
        cluster: what it is a part of, and stands and falls with: of a claim the id of its answer, else its own id.
        verdicts: scale -> verdict in [0, 1]; None where the judge gave none.
        own_labels: scale -> label that the dataset itself gives.
        confidence: the chance that the judge gave to its verdict, where it told one.
        quotes: what the judge quoted.
    """

    id: str
    cluster: str
    question: str
    language: str | None
    verdicts: Mapping[str, float | None]
    own_labels: Mapping[str, float]
    confidence: float | None = None
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """What a task's judge judges.

    Attributes:
        scales: name -> kind.
        label: a row of its labels file.
        items: those of one line of per_item.jsonl, given as JSON values; raises ValidationError.
    """

    scales: Mapping[str, Scale]
    label: type[Label]
    items: Callable[[object], Sequence[RunItem]]


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _SearchItem(_Read):
    id: str
    query: str
    language: str | None
    answerable: bool
    judged_unanswerable: bool | None
    judgement: JudgementReport | None = None


class _Quoted(_Read):
    quote: str


class _Claim(_Read):
    id: int
    text: str
    verdict: str
    evidence: _Quoted | None


class _Evaluation(_Read):
    correctness: float | None
    utility: float | None
    claims: tuple[_Claim, ...]


class _LabelledClaim(_Read):
    text: str
    verdict: str
    claim: int | None


class _AnswerLabels(_Read):
    correctness: float | None = None
    utility: float | None = None
    claims: tuple[_LabelledClaim, ...] = ()


class _AnswerItem(_Read):
    id: str
    question: str
    language: str
    evaluation: _Evaluation | None
    labels: _AnswerLabels | None


def _of_search(line: object) -> list[RunItem]:
    item = _SearchItem.model_validate(line)
    judged, told = item.judged_unanswerable, item.judgement
    confidence = told.confidence if told and told.outcome == "scored" else None
    if confidence is not None and told and told.told_unanswerable != judged:
        confidence = (
            None  # it was the model's for the opposite, which the judge's rule did not believe
        )
    found = RunItem(
        id=item.id,
        cluster=item.id,
        question=item.query,
        language=item.language,
        verdicts={"unanswerable": None if judged is None else float(judged)},
        own_labels={"unanswerable": float(not item.answerable)},
        confidence=confidence,
        quotes=tuple(quote.text for quote in told.quotes) if told else (),
    )
    return [found]


def _of_answer(line: object) -> list[RunItem]:
    """The answer itself, then each of its claims, as `<answer>#<claim>`; without an evaluation, those with a label."""
    item = _AnswerItem.model_validate(line)
    judged, labels = item.evaluation, item.labels or _AnswerLabels()
    own = {"correctness": labels.correctness, "utility": labels.utility}
    answer = RunItem(
        id=item.id,
        cluster=item.id,
        question=item.question,
        language=item.language,
        verdicts={
            "correctness": judged.correctness if judged else None,
            "utility": judged.utility if judged else None,
        },
        own_labels={name: label for name, label in own.items() if label is not None},
    )
    if judged is None:
        unjudged = (
            _of_claim(item, number, one.text, None, one.verdict)
            for number, one in enumerate(labels.claims, start=1)
        )
        return [answer, *unjudged]
    labelled = {one.claim: one.verdict for one in labels.claims if one.claim is not None}
    claims = (
        _of_claim(item, claim.id, claim.text, claim, labelled.get(claim.id))
        for claim in judged.claims
    )
    return [answer, *claims]


def _of_claim(
    item: _AnswerItem, number: int, text: str, claim: _Claim | None, label: str | None
) -> RunItem:
    return RunItem(
        id=f"{item.id}#{number}",
        cluster=item.id,
        question=text,
        language=item.language,
        verdicts={"supported": float(claim.verdict == _SUPPORTED) if claim else None},
        own_labels={} if label is None else {"supported": float(label == _SUPPORTED)},
        quotes=(claim.evidence.quote,) if claim and claim.evidence else (),
    )


TASKS: Mapping[str, Task] = {
    "search": Task({"unanswerable": "binary"}, AnswerabilityLabel, _of_search),
    "answers": Task(
        {"correctness": "graded", "utility": "graded", "supported": "binary"},
        AnswerLabel,
        _of_answer,
    ),
}
