"""The search task: how well retrieval over a vault answers a dataset of queries."""

from typing import TYPE_CHECKING, Any

from gigamind.evaluation.progress import Progress
from gigamind.evaluation.task import Checked, Evaluation, Task
from gigamind.i18n import Text, _, n_
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.schema import ItemReport, RunRecord, SearchComparison, SummaryReport
from gigamind.tasks.search.view import SearchView

if TYPE_CHECKING:
    from gigamind.assurance.judged_runs import JudgedKind, RunItem
    from gigamind.assurance.label_items import LabelUnit
    from gigamind.interop.ranking import RankedNote
    from gigamind.judges.protocol import Scale
    from gigamind.systems.protocol import Retriever


class SearchTask(Task[SearchEvalOptions, SummaryReport, ItemReport]):
    """Evaluates search; `retriever` is the system of `--system`, if the caller has opened it."""

    name = "search"
    options = SearchEvalOptions
    compared = SearchComparison()
    view = SearchView()

    @property
    def judged(self) -> "JudgedKind":
        from gigamind.assurance.judged_runs import JudgedKind
        from gigamind.datasets.labels import AnswerabilityLabel

        scales: dict[str, Scale] = {"unanswerable": "binary"}
        return JudgedKind(scales, AnswerabilityLabel, self.compared, _search_items, self.units)

    def units(self, item: ItemReport) -> "list[LabelUnit]":
        """Return the query: whether the notes answer it, and how relevant its unjudged hits are."""
        from gigamind.assurance.label_items import LabelSource, LabelTask, LabelUnit

        passages = [
            (hit, (hit.chunk.text if hit.chunk else hit.text) or hit.title or hit.note)
            for hit in item.ranking
        ]
        sources = tuple(
            LabelSource(hit.title or hit.note, hit.note, text) for hit, text in passages
        )
        judged, (item_of_run,) = item.judged_unanswerable, _search_items(item)
        confidence = item_of_run.confidence
        verdict = None if judged is None else "unanswerable" if judged else "answerable"
        known = {*item.expected_notes, *item.gains}
        hits = (
            LabelTask(item.id, "hit", text, (source,), None, note=hit.note)
            for (hit, text), source in zip(passages, sources, strict=True)
            if hit.note not in known
        )
        doubt = 0.5 if confidence is None else 1 - confidence
        question = LabelTask(item.id, "question", item.query, sources, verdict, doubt)
        value = None if judged is None else float(judged)
        about = item.id, item.language or "", item.query, ""
        return [LabelUnit(*about, (question, *hits), value, int(bool(judged)))]

    def __init__(self, retriever: "Retriever[RankedNote] | None" = None) -> None:
        self._retriever = retriever

    def open(
        self, options: SearchEvalOptions, progress: Progress
    ) -> Evaluation[SummaryReport, ItemReport, Any]:
        from gigamind.tasks.search.score import open_search

        return open_search(options, progress, self._retriever)

    def forewarn(self, options: SearchEvalOptions) -> tuple[str, ...]:
        from gigamind.tasks.search.prepare import idle_options

        return idle_options(options)

    def shortfall(self, record: RunRecord) -> Text | None:
        from gigamind.tasks.search.summary import unmeasurable

        health = record.summary.system
        if health is None:
            return None
        if not health.is_unreliable:
            return unmeasurable(record)
        missing = _("the run file lacks answerable queries of the dataset")
        return _(
            "the system returned no ranking for {count:,} queries ({share:.0%}): {reason}",
            count=health.failed,
            share=health.share,
            reason=next((e.message for e in record.errors if e.kind == "item"), missing),
        )

    def check(self, options: SearchEvalOptions) -> Checked:
        from gigamind.tasks.search.judging import estimate, least_calls
        from gigamind.tasks.search.prepare import prepare

        prepared = prepare(options)
        queries, notes = len(prepared.queries), len(prepared.vault.notes)
        over = n_("over {n} note", "over {n:,} notes", n=notes)
        vault = over if options.notes else _("without a vault")
        answerable = sum(query.item.answerable for query in prepared.queries)
        ready = n_(
            "{n} query ready to evaluate {vault}",
            "{n:,} queries ready to evaluate {vault}",
            n=queries,
            vault=vault,
        )
        details = n_(
            "{n} query ready to evaluate ({answerable:,} answerable, {unanswerable:,} unanswerable) {vault}",
            "{n:,} queries ready to evaluate ({answerable:,} answerable, {unanswerable:,} unanswerable) {vault}",
            n=queries,
            answerable=answerable,
            unanswerable=queries - answerable,
            vault=vault,
        )
        warnings = (*prepared.blunt_threshold(), *prepared.warnings)
        hashes = prepared.dataset_hash, prepared.notes_hash
        work = (lambda: estimate(prepared), lambda: least_calls(prepared))
        return Checked(ready, details, prepared.errors, warnings, *hashes, *work)


def _search_items(item: ItemReport) -> "list[RunItem]":
    """Return the item of a line of per_item.jsonl, with its verdict and the dataset's own label."""
    from gigamind.assurance.judged_runs import RunItem
    from gigamind.prompting.replies import CONFIDENCE_SHARES

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
        scores={kind: verdict.score for kind, verdict in item.judges.items()},
    )
    return [run_item]
