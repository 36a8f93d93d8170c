"""Asks a model, or a panel, whether the notes found answer each query, and tells its verdicts in per_item.jsonl."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gigamind.evaluation.asking import Account, Models, ask_all, judged_again
from gigamind.evaluation.context import SHORTER_CONTEXT, ContextNote, context_of
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import Shard
from gigamind.evaluation.unfinished import ModelRun
from gigamind.evidence.result import Aligned
from gigamind.judges.asking import Asking
from gigamind.judges.protocol import QuestionCase
from gigamind.judges.unanswerable_llm import LlmVerdict, ModelJudge, PanelJudgement
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger
from gigamind.records.judged import FLAGGED, JudgementReport, JudgeReport, QuoteReport, VoteReport
from gigamind.runs.store import FINAL, ItemKey, Unscored, outcome_of, unless_final
from gigamind.spans import Span
from gigamind.tasks.search.prepare import Prepared
from gigamind.tasks.search.schema import ItemReport
from gigamind.vault.language import question_language


def judgement(
    prepared: Prepared,
    asked: PanelJudgement,
    context: Sequence[ContextNote],
    unread: Mapping[str, int],
) -> JudgementReport:
    """The judgement in JSON values; quotes stand in the note's file, not in the part that was shown."""
    lost = dict(sorted(unread.items()))
    panel, verdict = asked.panel, asked.verdict
    votes = tuple(_votes(prepared, asked, context))
    disagreement = panel.disagreement if panel else None
    if verdict is None:
        code = panel.code if panel else None
        return JudgementReport(
            outcome="unscored",
            code=code or "",
            votes=votes,
            disagreement=disagreement,
            unread=lost,
        )
    return JudgementReport(
        outcome="scored",
        **_said(prepared, verdict, context),
        flagged={
            context[number - 1].path: tuple(flags) for number, flags in verdict.flagged.items()
        },
        votes=votes,
        disagreement=disagreement,
        unread=lost,
    )


def _votes(
    prepared: Prepared, asked: PanelJudgement, context: Sequence[ContextNote]
) -> list[VoteReport]:
    given = [
        VoteReport.like(seat, **_said(prepared, verdict, context))
        for seat, verdict in asked.by_seat.items()
    ]
    lost = (VoteReport.like(seat, code=error.code) for seat, error in asked.errors.items())
    return [*given, *lost]


def _said(
    prepared: Prepared, verdict: LlmVerdict, context: Sequence[ContextNote]
) -> dict[str, Any]:
    """What a verdict and a vote have in common."""
    places = range(len(verdict.evidence))
    return {
        "unanswerable": verdict.unanswerable,
        "told_unanswerable": verdict.told,
        "verified": verdict.verified,
        "answer": verdict.answer,
        "confidence": verdict.confidence,
        "conflict": verdict.conflict,
        "quotes": tuple(_quote(prepared, verdict, place, context) for place in places),
    }


def _quote(
    prepared: Prepared, verdict: LlmVerdict, place: int, context: Sequence[ContextNote]
) -> QuoteReport:
    evidence = verdict.evidence[place]
    text, index = evidence.quote.text, evidence.quote.source_index
    note = context[index] if 0 <= index < len(context) else None
    if not isinstance(evidence, Aligned) or note is None:
        outcome = "aligned" if isinstance(evidence, Aligned) else evidence.reason
        return QuoteReport(
            text=text, note=note.path if note else None, found=outcome, trusted=False
        )
    span = Span(evidence.span.start + note.start, evidence.span.end + note.start)
    start, end = prepared.units(note.path).span_from_code_points(span)
    return QuoteReport(
        text=text,
        note=note.path,
        found=FLAGGED if verdict.weak.get(place) == "speaks_to_judge" else evidence.method,
        trusted=verdict.proves(place),
        utf16_start=start,
        utf16_end=end,
    )


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

    def needs(self, key: ItemKey, item: ItemReport) -> int:
        case, _ = self._case(item)
        calls = self.judge.calls(case, self.prepared.options)
        return (2 if key.item_id in self.fresh else 1) * calls

    def _case(self, item: ItemReport) -> tuple[QuestionCase, Sequence[ContextNote]]:
        context = context_of_item(self.prepared, item)
        language = (item.language or question_language(item.query)).lower()[:2]
        return QuestionCase(item.query, [note.source for note in context], language), context

    async def ask(self, models: Models, key: ItemKey, item: ItemReport) -> Any:  # noqa: ANN401  JSON values
        case, context = self._case(item)
        asking = Asking(models[ROLE], item.id, self.fence_key, shorter=SHORTER_CONTEXT)
        verdict = await self.judge.judge(case, asking)
        report = judgement(self.prepared, verdict.detail, context, asking.unread)
        if not verdict.scores:
            errors = verdict.errors
            passing = all(outcome_of(error.code) not in FINAL for error in errors)
            kept = report.model_dump(mode="json")
            return Unscored(report.code, verdict.why, kept, bool(errors) and passing)
        flipped = None
        if key.item_id in self.fresh:
            again = await unless_final(self.judge.judge(case, asking.afresh()))
            flipped = again.scores != verdict.scores if again and again.scores else None
        return report.model_copy(update={"flipped": flipped}).model_dump(mode="json")


def ask_model(
    prepared: Prepared,
    items: Mapping[str, ItemReport],
    out: Path,
    progress: Progress,
    shard: Shard | None = None,
) -> ModelRun:
    """What the model of the run's judge says of each query that has a ranking.

    Args:
        items: those of the shard, where there is one.

    Raises:
        GigamindError: see `ask_all`.
    """
    options, report = prepared.options, prepared.judge.report if prepared.judge else None
    judge = prepared.judge.judge if prepared.judge else None
    if report is None or not isinstance(judge, ModelJudge):
        raise TypeError("the judge of this run asks no model")
    key = fence_key(options.replies, options.store_mode)
    asker = _Asker(prepared, judge, key, again_in(prepared))

    def connect(ledger: Ledger) -> Models:
        account = Account.of(options, ledger, out, progress, shard)
        return {ROLE: account.open(ROLE, judge.models(options), options, judge.settings)}

    return ask_all(
        {ItemKey(name): item for name, item in items.items()},
        asker.ask,
        connect,
        _identity(prepared, report),
        out,
        resume=options.resume is not None,
        allow_none=options.allow_partial,
        progress=progress,
        needs=asker.needs,
        shard=shard,
    )


def again_in(prepared: Prepared) -> frozenset[str]:
    """The queries that are judged a second time."""
    names, options = [query.item.id for query in prepared.queries], prepared.options
    return judged_again(names, options.fresh_fraction, options.seed)


def context_of_item(prepared: Prepared, item: ItemReport) -> tuple[ContextNote, ...]:
    """What a model is shown for a query: the notes that its ranking begins with."""
    passages = (
        (prepared.vault.note(hit.note), hit.chunk.utf16_start, hit.chunk.utf16_end)
        for hit in item.ranking
        if hit.chunk is not None
    )
    notes = [
        (note, prepared.units(note.path).span_to_code_points(start, end))
        for note, start, end in passages
        if note is not None
    ]
    options = prepared.options
    return context_of(notes, options.context_notes, options.context_chars)


def _identity(prepared: Prepared, judge: JudgeReport) -> dict[str, str]:
    """What must be the same for a run to be continued."""
    searched = ("mode", "fusion", "alpha", "topk", "graph_rerank")
    settings = (*searched, "context_notes", "context_chars", "sample", "seed", "fresh_fraction")
    own = {"embedding model": prepared.embedding_model or ""}
    if prepared.system:
        own["system"] = prepared.system.identity
    return prepared.identity(judge, own, settings)
