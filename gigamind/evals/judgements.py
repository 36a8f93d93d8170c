"""What per_item.jsonl says of a model's or a panel's judgement, and the figures over all that were given."""

from collections import Counter
from collections.abc import Mapping, Sequence

from gigamind.evals.context import ContextNote
from gigamind.evals.panel_figures import panel_figures
from gigamind.evals.prepare import Prepared
from gigamind.evidence.result import Aligned
from gigamind.judges.panel import PanelVerdict, Seat, Vote
from gigamind.judges.unanswerable_llm import LlmVerdict
from gigamind.judges.unanswerable_panel import PanelJudgement
from gigamind.metrics.answerability import confusion
from gigamind.reports.judged import (
    FLAGGED,
    JudgementReport,
    LlmReport,
    PanelReport,
    QuoteReport,
    VoteReport,
)
from gigamind.reports.schema import ItemReport
from gigamind.spans import Span

_RULES = ("as_told", "only_with_quotes")
_PAIR = 2


def judgement(
    prepared: Prepared, asked: PanelJudgement, context: Sequence[ContextNote]
) -> JudgementReport:
    """The judgement in JSON values; quotes stand in the note's file, not in the part that was shown."""
    panel, verdict = asked.panel, asked.verdict
    votes = tuple(_votes(prepared, asked, context))
    disagreement = panel.disagreement if panel else None
    if verdict is None:
        code = panel.code if panel else None
        return JudgementReport(
            outcome="unscored", code=code or "", votes=votes, disagreement=disagreement
        )
    return JudgementReport(
        outcome="scored",
        unanswerable=verdict.unanswerable,
        told_unanswerable=verdict.told,
        verified=verdict.verified,
        answer=verdict.answer,
        confidence=verdict.confidence,
        quotes=_quotes(prepared, verdict, context),
        flagged={
            context[number - 1].path: tuple(flags) for number, flags in verdict.flagged.items()
        },
        votes=votes,
        disagreement=disagreement,
    )


def _votes(
    prepared: Prepared, asked: PanelJudgement, context: Sequence[ContextNote]
) -> list[VoteReport]:
    given = [
        VoteReport(
            model=seat.model,
            repeat=seat.repeat,
            unanswerable=one.unanswerable,
            told_unanswerable=one.told,
            verified=one.verified,
            answer=one.answer,
            confidence=one.confidence,
            quotes=_quotes(prepared, one, context),
        )
        for seat, one in asked.by_seat.items()
    ]
    lost = (
        VoteReport(model=seat.model, repeat=seat.repeat, code=error.code)
        for seat, error in asked.errors.items()
    )
    return [*given, *lost]


def _quotes(
    prepared: Prepared, verdict: LlmVerdict, context: Sequence[ContextNote]
) -> tuple[QuoteReport, ...]:
    places = range(len(verdict.evidence))
    return tuple(_quote(prepared, verdict, place, context) for place in places)


def _quote(
    prepared: Prepared, verdict: LlmVerdict, place: int, context: Sequence[ContextNote]
) -> QuoteReport:
    one = verdict.evidence[place]
    index = one.quote.source_index
    note = context[index] if 0 <= index < len(context) else None
    if not isinstance(one, Aligned) or note is None:
        found = "aligned" if isinstance(one, Aligned) else one.reason
        return QuoteReport(
            text=one.quote.text, note=note.path if note else None, found=found, trusted=False
        )
    span = Span(one.span.start + note.start, one.span.end + note.start)
    start, end = prepared.units(note.path).span_from_code_points(span)
    return QuoteReport(
        text=one.quote.text,
        note=note.path,
        found=FLAGGED if verdict.weak.get(place) == "speaks_to_judge" else one.method,
        trusted=verdict.proves(place),
        utf16_start=start,
        utf16_end=end,
    )


def with_flags(llm: LlmReport, items: Sequence[ItemReport]) -> LlmReport:
    """The block with how many notes and quotes speak to the judge."""
    told = [item.judgement for item in items if item.judgement]
    quotes = [quote for one in told for quote in one.quotes]
    counts = {
        "flagged": sum(bool(one.flagged) for one in told),
        "flagged_quotes": sum(quote.found == FLAGGED for quote in quotes),
    }
    return llm.model_copy(update=counts)


def rates(items: Sequence[ItemReport]) -> Mapping[str, Mapping[str, float | None]]:
    """Precision, recall, F1 and FAR if the model were believed, and if only proven answers were."""
    judged = [
        (not item.answerable, told)
        for item in items
        if (told := item.judgement) and told.outcome == "scored"
    ]
    # A panel may be of one mind after the rule of its file, and split in halves before.
    clear = [(truth, t) for truth, t in judged if t.told_unanswerable is not None or not t.votes]
    believed = [(truth, told.told_unanswerable is not False) for truth, told in clear]
    proven = [(truth, not told.verified) for truth, told in judged]
    counts = (confusion(pairs) for pairs in (believed, proven))
    return {
        rule: {"precision": c.precision, "recall": c.recall, "f1": c.f1, "far": c.far}
        for rule, c in zip(_RULES, counts, strict=True)
    }


def panel_report(told: Sequence[JudgementReport], seed: int) -> PanelReport | None:
    """How far a panel agreed; None where none voted."""
    voted = [one for one in told if one.votes]
    if not voted:
        return None
    cast = [{Seat(v.model, v.repeat): v for v in one.votes if not v.code} for one in voted]
    paired = [votes for votes in cast if len(votes) >= _PAIR]
    split = sum(len({vote.unanswerable for vote in votes.values()}) > 1 for votes in paired)
    codes = Counter(one.code for one in voted)
    return panel_figures(
        [_verdict(votes) for votes in paired],
        "nominal",
        seats={seat for votes in cast for seat in votes},
        split=split,
        incomplete=codes["panel_incomplete"],
        tied=codes["panel_tied"],
        alone=sum(len(one.votes) == 1 for one in voted),
        seed=seed,
    )


def _verdict(votes: Mapping[Seat, VoteReport]) -> PanelVerdict[bool]:
    given = {seat: Vote(bool(vote.unanswerable)) for seat, vote in votes.items()}
    return PanelVerdict(None, None, given, (), None)
