"""Lets a model, or a panel, judge whether the retrieved notes answer each query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gigamind.evaluation.asking import Account, Models, ask_all, judged_again
from gigamind.evaluation.context import SHORTER_CONTEXT, ContextNote, context_of
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import ModelRun, Shard
from gigamind.evidence.result import Aligned
from gigamind.judges.asking import Asking
from gigamind.judges.protocol import QuestionCase
from gigamind.judges.unanswerable_llm import LlmVerdict, ModelJudge, PanelJudgement
from gigamind.llm.ledger import Ledger
from gigamind.prompting.fences import fence_key
from gigamind.records.judged import FLAGGED, JudgementReport, JudgeReport, QuoteReport, VoteReport
from gigamind.runs.store import FINAL, ItemKey, Unscored, outcome_of, unless_final
from gigamind.spans import Span
from gigamind.tasks.search.prepare import Prepared
from gigamind.tasks.search.schema import ItemReport
from gigamind.vault.language import question_language


def judgement(
    prepared: Prepared,
    detail: PanelJudgement,
    context: Sequence[ContextNote],
    unread: Mapping[str, int],
) -> JudgementReport:
    """Return the judgement as JSON values. Quotes have offsets in the note's file, not in the part that was shown."""
    panel, verdict = detail.panel, detail.judgement
    fields: dict[str, Any] = {"outcome": "unscored", "code": (panel.code if panel else None) or ""}
    if verdict is not None:
        places = verdict.flagged.items()
        flagged = {context[number - 1].path: tuple(flags) for number, flags in places}
        fields = {"outcome": "scored", "flagged": flagged}
        fields |= _verdict_fields(prepared, verdict, context)
    return JudgementReport(
        **fields,
        votes=tuple(_votes(prepared, detail, context)),
        disagreement=panel.disagreement if panel else None,
        unread=dict(sorted(unread.items())),
    )


def _votes(
    prepared: Prepared, detail: PanelJudgement, context: Sequence[ContextNote]
) -> list[VoteReport]:
    votes = [
        VoteReport.like(member, **_verdict_fields(prepared, verdict, context))
        for member, verdict in detail.by_member.items()
    ]
    failed = (VoteReport.like(member, code=error.code) for member, error in detail.errors.items())
    return [*votes, *failed]


def _verdict_fields(
    prepared: Prepared, verdict: LlmVerdict, context: Sequence[ContextNote]
) -> dict[str, Any]:
    places = range(len(verdict.evidence))
    return {
        "unanswerable": verdict.unanswerable,
        "reported_unanswerable": verdict.reported_unanswerable,
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
            text=text, note=note.path if note else None, match=outcome, trusted=False
        )
    span = Span(evidence.span.start + note.start, evidence.span.end + note.start)
    start, end = prepared.units(note.path).span_from_code_points(span)
    return QuoteReport(
        text=text,
        note=note.path,
        match=FLAGGED if verdict.weak.get(place) == "speaks_to_judge" else evidence.method,
        trusted=verdict.proves(place),
        utf16_start=start,
        utf16_end=end,
    )


ROLE = "unanswerable"


@dataclass(frozen=True, slots=True)
class _Asker:
    """Judges one query with a model."""

    prepared: Prepared
    judge: ModelJudge
    fence_key: bytes
    fresh: frozenset[str]  # queries that are judged a second time

    def needs(self, key: ItemKey, item: ItemReport) -> int:
        case, _context = self._case(item)
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
            transient = all(outcome_of(error.code) not in FINAL for error in errors)
            values = report.model_dump(mode="json")
            return Unscored(report.code, verdict.why, values, bool(errors) and transient)
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
    """Judge each query of the run or shard that has a ranking with the model of the run's judge; see `ask_all`."""
    options, report = prepared.options, prepared.judge.report if prepared.judge else None
    judge = prepared.judge.judge if prepared.judge else None
    if report is None or not isinstance(judge, ModelJudge):
        raise TypeError("the judge of this run asks no model")
    key = fence_key(options.replies, options.store_mode)
    asker = _Asker(prepared, judge, key, judged_twice(prepared))

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


def judged_twice(prepared: Prepared) -> frozenset[str]:
    """Return the queries that are judged a second time, to measure consistency."""
    names, options = [query.item.id for query in prepared.queries], prepared.options
    return judged_again(names, options.fresh_fraction, options.seed)


def context_of_item(prepared: Prepared, item: ItemReport) -> tuple[ContextNote, ...]:
    """Return the notes that a model reads for a query: the top of its ranking."""
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
    searched = ("mode", "fusion", "alpha", "topk", "graph_rerank", "rerank")
    settings = (*searched, "context_notes", "context_chars", "sample", "seed", "fresh_fraction")
    own = {"embedding model": prepared.embedding_model or ""}
    if prepared.system:
        own["system"] = prepared.system.identity
    return prepared.identity(judge, own, settings)
