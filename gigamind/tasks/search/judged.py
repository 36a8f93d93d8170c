"""Reads verdicts and the dataset's own labels from per_item.jsonl of a search run."""

from gigamind.assurance.judged_runs import RunItem
from gigamind.llm.replies import CONFIDENCE_SHARES
from gigamind.tasks.search.schema import ItemReport


def search_items(item: ItemReport) -> list[RunItem]:
    """Return the item of a line of per_item.jsonl."""
    judged, judgement = item.judged_unanswerable, item.judgement
    confidence = judgement.confidence if judgement and judgement.outcome == "scored" else None
    if judgement and judgement.reported_unanswerable != judged:
        confidence = None  # the model was confident in the verdict that the judge's rule rejected
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
