"""Asks a model about the queries of a run whose rankings stand, and puts its verdicts into their reports."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gigamind.datasets.sample import sample
from gigamind.evals.context import ContextNote, context_of
from gigamind.evals.judgements import judgement, panel_report, rates, with_flags
from gigamind.evals.model_costs import flip_report, llm_report
from gigamind.evals.model_run import ModelRun, ask_all
from gigamind.evals.prepare import Prepared
from gigamind.evals.progress import Progress
from gigamind.evals.search import Run, SearchEvaluation
from gigamind.judges.unanswerable import ModelJudge
from gigamind.judges.unanswerable_panel import PanelJudgement, judge_by_panel
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger, totals
from gigamind.llm.options import budget_of, open_model
from gigamind.llm.settings import ModelSettings
from gigamind.reports.judged import JudgementReport
from gigamind.reports.schema import ErrorReport, ItemReport
from gigamind.runs.resume import outcome_of
from gigamind.runs.store import FINAL, Unscored
from gigamind.runs.store import ItemResult as StoredResult
from gigamind.vault.language import text_language

ROLE = "unanswerable"


@dataclass(frozen=True, slots=True)
class _Asker:
    """What asking about one query needs beside the model.

    Attributes:
        fresh: queries that are judged a second time.
    """

    prepared: Prepared
    judge: ModelJudge
    fence_key: bytes
    fresh: frozenset[str]

    async def ask(self, models: Sequence[LanguageModel], item_id: str, item: ItemReport) -> Any:  # noqa: ANN401  JSON values
        context = context_of_item(self.prepared, item)
        asked = await self._judge(models, item, context, fresh=False)
        report = judgement(self.prepared, asked, context)
        if asked.verdict is None:
            passing = all(outcome_of(e.code) not in FINAL for e in asked.errors.values())
            kept = report.model_dump(mode="json")
            return Unscored(report.code, asked.why, kept, bool(asked.errors) and passing)
        flipped = None
        if item_id in self.fresh:
            again = await self._judge(models, item, context, fresh=True)
            flipped = again.verdict and again.verdict.unanswerable != asked.verdict.unanswerable
        return report.model_copy(update={"flipped": flipped}).model_dump(mode="json")

    async def _judge(
        self,
        models: Sequence[LanguageModel],
        item: ItemReport,
        context: Sequence[ContextNote],
        *,
        fresh: bool,
    ) -> PanelJudgement:
        language = (item.language or text_language(item.query)).lower()[:2]
        return await judge_by_panel(
            {model.settings.model: model for model in models},
            self.judge.judge_in(language),
            item.query,
            [note.source for note in context],
            item_id=item.id,
            fence_key=self.fence_key,
            fresh=fresh,
        )


def judge_with_model(
    evaluation: SearchEvaluation, run: Run, out: Path, progress: Progress | None = None
) -> Run:
    """The run with the model's verdicts; unchanged if its judge asks no model, or Ctrl-C came before.

    Raises:
        GigamindError: see `ask_all`.
    """
    if run.interrupted:  # nobody wants to pay for a run that was told to stop
        return run
    asked = ask_model(evaluation, run, out, progress)
    return with_verdicts(run, asked, evaluation.prepared.options.seed) if asked else run


def ask_model(
    evaluation: SearchEvaluation, run: Run, out: Path, progress: Progress | None = None
) -> ModelRun | None:
    """What the model says of each query that has a ranking; None if the judge asks no model.

    Raises:
        GigamindError: see `ask_all`.
    """
    prepared = evaluation.prepared
    judge, options = prepared.judge.judge, prepared.options
    if not isinstance(judge, ModelJudge):
        return None
    items = {result.id: result for result in run.results if isinstance(result, ItemReport)}
    key = fence_key(options.replies / "fence.key")
    asker = _Asker(prepared, judge, key, _again(prepared, items))

    def connect(ledger: Ledger) -> list[LanguageModel]:
        def as_judge(settings: ModelSettings) -> ModelSettings:
            return replace(judge.judge_in("").settings(settings), role=ROLE)

        budget = budget_of(options, totals(ledger.rows) if options.resume else None)
        return [
            open_model(options, ledger, options.replies, as_judge, budget, model=name)
            for name in judge.models(options)
        ]

    return ask_all(
        items,
        asker.ask,
        connect,
        _identity(evaluation),
        out,
        resume=options.resume is not None,
        progress=progress,
    )


def context_of_item(prepared: Prepared, item: ItemReport) -> tuple[ContextNote, ...]:
    """What a model is shown for a query: the notes that its ranking begins with."""
    found = (
        (prepared.vault.note(hit.note), hit.chunk.utf16_start, hit.chunk.utf16_end)
        for hit in item.ranking
    )
    return context_of([
        (note, prepared.units(note.path).span_to_code_points(start, end))
        for note, start, end in found
        if note is not None
    ])  # fmt: skip


def _again(prepared: Prepared, items: Mapping[str, ItemReport]) -> frozenset[str]:
    """The queries to judge a second time; the same with equal seeds."""
    size = math.ceil(prepared.options.fresh_fraction * len(items))
    return frozenset(sample(list(items), size, prepared.options.seed))


def _identity(evaluation: SearchEvaluation) -> dict[str, str]:
    """What must be the same for a run to be continued."""
    prepared = evaluation.prepared
    options = prepared.options
    settings = ("mode", "alpha", "topk", "graph_rerank", "sample", "seed", "fresh_fraction")
    return {
        "task": "search",
        "dataset": prepared.dataset_hash,
        "notes": prepared.notes_hash,
        "judge and model": prepared.judge.report.fingerprint,
        "embedding model": evaluation.embedding_model or "",
        **{f"--{name.replace('_', '-')}": str(getattr(options, name)) for name in settings},
    }


def with_verdicts(run: Run, asked: ModelRun, seed: int) -> Run:
    """The run with the verdicts of a model, or of a panel, in the reports of its queries; `seed` is for intervals."""
    results = [
        _with_verdict(result, asked.results.get(result.id))
        if isinstance(result, ItemReport)
        else result
        for result in run.results
    ]
    judged = [result for result in results if isinstance(result, ItemReport)]
    told = [item.judgement for item in judged if item.judgement]
    flips = [one.flipped for one in told if one.flipped is not None]
    return replace(
        run,
        results=results,
        interrupted=run.interrupted or asked.interrupted,
        llm=with_flags(
            llm_report(
                asked,
                len(judged),
                flip_report(flips),
                rates(judged),
                panel=panel_report(told, seed),
            ),
            judged,
        ),
        asked=asked,
        unscored=[
            ErrorReport(
                kind="verdict",
                id=found.item_id,
                error=found.code,
                message=f"query {found.item_id}: {found.message}",
            )
            for found in asked.results.values()
            if found.outcome != "scored"
        ],
    )


def _with_verdict(item: ItemReport, found: StoredResult | None) -> ItemReport:
    if found is None:
        return item
    if found.value is None:
        told = JudgementReport(outcome=found.outcome, code=found.code)
    else:
        told = JudgementReport.model_validate(found.value)
    return item.model_copy(update={"judgement": told, "judged_unanswerable": told.unanswerable})
