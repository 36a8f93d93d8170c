"""Takes verdicts, and the labels that a dataset has itself, out of a line of per_item.jsonl: what differs by task."""

from gigamind.assurance.judged_runs import RunItem
from gigamind.llm.replies import CONFIDENCE_SHARES
from gigamind.tasks.search.schema import ItemReport


def search_items(item: ItemReport) -> list[RunItem]:
    """The one item of a line of per_item.jsonl."""
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
