"""Takes verdicts, and the labels that a dataset has itself, out of a line of per_item.jsonl: what differs by task."""

from gigamind.assurance.judged_runs import JsonPart, RunItem
from gigamind.llm.replies import CONFIDENCE_SHARES
from gigamind.records.judged import JudgementReport


class _SearchItem(JsonPart):
    id: str
    query: str
    language: str | None
    answerable: bool
    judged_unanswerable: bool | None
    judgement: JudgementReport | None = None


def search_items(line: object) -> list[RunItem]:
    """The one item of a line of per_item.jsonl."""
    item = _SearchItem.model_validate(line)
    judged, judgement = item.judged_unanswerable, item.judgement
    confidence = judgement.confidence if judgement and judgement.outcome == "scored" else None
    if judgement and judgement.told_unanswerable != judged:
        confidence = None  # it was for the opposite, which the judge's rule did not believe
    run_item = RunItem(
        id=item.id,
        cluster=item.id,
        question=item.query,
        language=item.language,
        verdicts={"unanswerable": None if judged is None else float(judged)},
        own_labels={"unanswerable": float(not item.answerable)},
        confidence=CONFIDENCE_SHARES[confidence] if confidence else None,
        quotes=tuple(quote.text for quote in judgement.quotes) if judgement else (),
    )
    return [run_item]
