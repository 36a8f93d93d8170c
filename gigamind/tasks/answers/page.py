"""report.html of an answer run: its figures, and its answers as compact JSON with claims and proofs.

templates/answer_item.js unpacks the arrays in the order in which this module builds them.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from gigamind.formats import between, share, signed
from gigamind.i18n import Language, Translator, _, n_, translator
from gigamind.metrics.table import label
from gigamind.records.judged import JudgeReport, VerdictReport
from gigamind.records.schema import IntervalReport
from gigamind.release.comparison import Comparison
from gigamind.release.model import BLOCK, PASS_RATE
from gigamind.reports.figures import Figure, figure_of, figures_of, keys_of, measured
from gigamind.reports.page.charts import Chart, Shown, drawn, forest
from gigamind.reports.page.headline import Card, against, card, change_interval
from gigamind.reports.page.layout import (
    Content,
    PanelMember,
    changes_by_id,
    items_script,
    member_names,
    member_of,
    render_page,
)
from gigamind.tasks.answers.compare import AnswerSnapshot
from gigamind.tasks.answers.quality import QualitySummaryReport
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    AnswerRunRecord,
    AnswerSliceReport,
    AnswerSummaryReport,
    ClaimVerdict,
    EvaluatedClaim,
    EvaluatedOmission,
    NoteReport,
    SearchQAEvaluation,
    SourceSentence,
)
from gigamind.tasks.answers.sentences import checklist_lead, cuts, separation
from gigamind.tasks.answers.support_checks import (
    contradictions,
    rejected_support,
    second_look,
    support_checks,
)

_DIGITS = {name: str(digit) for digit, name in enumerate((*get_args(ClaimVerdict), "no_claim"))}
_DECIMALS = 3  # as many as the page shows


def answer_votes(item: AnswerItemReport, places: Mapping[PanelMember, int]) -> list[list[object]]:
    """Return each panel member's number, error code, correctness, utility, and one digit per claim.

    The digit is the index in `ClaimVerdict`; the last one marks no claim. Without a vote, the list ends with the code.
    """
    return [
        [places[member_of(vote)], vote.code]
        if vote.code
        else [
            places[member_of(vote)],
            "",
            None if vote.correctness is None else round(vote.correctness, _DECIMALS),
            vote.utility,
            "".join(_DIGITS[verdict] for verdict in vote.verdicts),
        ]
        for vote in item.votes
    ]


_CONTEXT = 120  # code points of the line that are shown before and after a quote


def answers_json(
    items: Sequence[AnswerItemReport],
    say: Translator,
    comparison: Comparison | None = None,
    own: "CustomScores | None" = None,
) -> str:
    """Return the answers as JSON that is safe inside a script element."""
    changes = changes_by_id(comparison)
    tags = sorted({tag for item in items for tag in item.tags})
    members = member_names(vote for item in items for vote in item.votes)
    places = {member: place for place, member in enumerate(members)}
    rows = [
        _item(item, changes.get(item.id, ""), [tags.index(t) for t in item.tags], places)
        for item in items
    ]
    tables: dict[str, object] = {"tags": tags, "seats": list(members.values())}
    if own:
        tables["scores"] = own.words()
        tables["verdicts"] = [own.verdict(item) for item in items]
    return items_script(say, comparison, rows, **tables)


@dataclass(frozen=True, slots=True)
class CustomScores:
    """The metrics of a custom judge on a page."""

    labels: Mapping[str, str]  # labels of the metrics by name, the main one first

    @classmethod
    def of(cls, judge: JudgeReport | None, language: Language) -> "CustomScores | None":
        metrics = judge.metrics if judge else ()
        if not metrics:
            return None
        return cls({metric.name: label(f"answers.{metric.name}", language) for metric in metrics})

    def words(self) -> dict[str, str]:
        """Return the column headings, under keys that no other text of the page uses."""
        return {f"score_{at}": text for at, text in enumerate(self.labels.values())}

    def verdict(self, item: AnswerItemReport) -> list[object]:
        """Return the scores, the proofs (note title or "" for the answer, quote, whether proven), and the text."""
        report = item.verdict
        if report is None:
            return [[None] * len(self.labels), [], ""]
        titles = ["", *(note.title for note in item.notes)]
        proofs = [
            (titles[proof.note] if 0 <= proof.note < len(titles) else "", proof.quote, proof.proven)
            for proof in report.proof
        ]
        return [[report.scores.get(name) for name in self.labels], proofs, report.text]


def pieces(item: AnswerItemReport) -> list[tuple[str, str, int]]:
    """Split the answer into text, the verdict of a claim or role of a sentence ("" between them), and its number."""
    answer, evaluation = item.answer or "", item.evaluation
    claims = [(claim, claim.verdict) for claim in evaluation.claims] if evaluation else []
    asides = [(aside, aside.role) for aside in evaluation.asides] if evaluation else []
    parts: list[tuple[str, str, int]] = []
    at = 0
    for sentence, kind in sorted([*claims, *asides], key=lambda pair: pair[0].start):
        if sentence.start > at:
            parts.append((answer[at : sentence.start], "", 0))
        parts.append((answer[sentence.start : sentence.end], kind, sentence.id))
        at = sentence.end
    return [*parts, (answer[at:], "", 0)] if at < len(answer) else parts


def _item(
    item: AnswerItemReport, change: str, tags: list[int], places: Mapping[PanelMember, int]
) -> list[object]:
    evaluation = item.evaluation
    return [
        item.id,
        item.question,
        item.language,
        tags,
        change,
        evaluation.correctness if evaluation else None,
        evaluation.utility if evaluation else None,
        (evaluation.confidence or "") if evaluation else "",
        _outcome(item, evaluation),
        pieces(item),
        [_claim(claim, item) for claim in evaluation.claims] if evaluation else [],
        [
            (
                coverage.note_index,
                coverage.note_title,
                coverage.cited,
                coverage.relevant_claim,
                coverage.marked,
            )
            for coverage in evaluation.source_coverage
        ]
        if evaluation
        else [],
        evaluation.grounding_issues if evaluation else (),
        evaluation.summary if evaluation else "",
        evaluation.utility_reason if evaluation else "",
        evaluation.reported_correctness if evaluation else None,
        bool(evaluation and evaluation.abstains),
        _flagged(evaluation or item.verdict, item.notes),
        _quality(item),
        answer_votes(item, places),
        item.metrics.get("completeness"),
        [_omission(omission, item) for omission in evaluation.omissions] if evaluation else [],
        [
            (fact.text, fact.vital, fact.counts, fact.claim)
            for fact in (item.labels.facts if item.labels else ())
        ],
        [
            (context.note or note.title, context.score, context.known)
            for context, note in zip(item.contexts or (), item.notes, strict=False)
        ],
        list(item.oddities.items()),
    ]


def _omission(omission: EvaluatedOmission, item: AnswerItemReport) -> list[object]:
    """Return an omission: its description, why it does not count, and its quote as in `_source`."""
    return [omission.what, omission.doubt or "", *_source(omission.evidence, item)]


def _source(
    evidence: Mapping[str, Any], item: AnswerItemReport, source: SourceSentence | None = None
) -> list[object]:
    """Return the note's title with the heading, the quote, and the text around it; None if the note lacks the quote."""
    index = int(evidence.get("source_index", -1))
    note = item.notes[index] if 0 <= index < len(item.notes) else None
    is_aligned = evidence.get("status") == "aligned"
    title = note.title if note else ""
    return [
        f"{title} › {source.heading}" if source and source.heading not in {"", title} else title,
        evidence.get("quote", ""),
        _passage(evidence, note, source) if note and is_aligned else None,
    ]


def _outcome(item: AnswerItemReport, evaluation: SearchQAEvaluation | None) -> str:
    if evaluation:
        return evaluation.outcome
    if item.verdict:
        return "judged"
    return item.outcome


def _claim(claim: EvaluatedClaim, item: AnswerItemReport) -> list[object]:
    evidence: dict[str, Any] = claim.evidence or {}
    labels = item.labels.claims if item.labels else ()
    return [
        claim.id,
        claim.text,
        claim.verdict,
        claim.doubt or "",
        *_source(evidence, item, claim.source),
        claim.cited,
        next((label.verdict for label in labels if label.claim == claim.id), ""),
        evidence.get("method") == "fuzzy",
        support_checks(claim),
        contradictions(claim),
        (claim.reported_role, claim.veto) if claim.veto else None,
        claim.untold,
    ]


def _quality(item: AnswerItemReport) -> list[object] | None:
    """Return whether the answer passes, and each item with the source of its proof: a note's title, or ""."""
    report = item.quality
    if report is None:
        return None
    titles = ["", *(note.title for note in item.notes)]
    return [
        report.passed,
        [
            (
                checked_item.text,
                checked_item.yes,
                checked_item.reported_yes,
                checked_item.quote,
                checked_item.trusted,
                titles[checked_item.source] if checked_item.source is not None else "",
            )
            for checked_item in report.items
        ],
    ]


def _passage(
    evidence: Mapping[str, Any], note: NoteReport, source: SourceSentence | None
) -> tuple[str, str, str]:
    """Return the text before the quote, the quote, and the text after it; if known, only of the compared sentence."""
    start, end = int(evidence["start"]), int(evidence["end"])
    quoted = note.text[start:end]
    if source and quoted in source.text:
        return source.text.partition(quoted)
    line_ends = note.text.find("\n", end)
    opening = note.text[note.text.rfind("\n", 0, start) + 1 : start]
    closing = note.text[end : line_ends if line_ends >= 0 else len(note.text)]
    before = opening if len(opening) <= _CONTEXT else f"…{opening[-_CONTEXT:]}"
    return before, quoted, closing if len(closing) <= _CONTEXT else f"{closing[:_CONTEXT]}…"


def _flagged(
    evaluation: SearchQAEvaluation | VerdictReport | None, notes: Sequence[NoteReport]
) -> list[str]:
    flagged = sorted(evaluation.flagged) if evaluation else ()
    return [notes[number - 1].title if number else "answer" for number in flagged]


def pass_rate(quality: QualitySummaryReport | None) -> list[Figure]:
    """Return the pass rate of the checklist; [] if no answer was checked."""
    if quality is None or not quality.overall.checked:
        return []
    overall = quality.overall
    interval = IntervalReport(low=overall.low, high=overall.high, n=overall.checked)
    return [Figure(BLOCK, PASS_RATE.partition(".")[2], overall.pass_rate, interval)]


def quality_block(
    quality: QualitySummaryReport | None, say: Translator, comparison: Comparison | None = None
) -> dict[str, Any] | None:
    """Return the checklist section of the page; None without a checklist."""
    if quality is None:
        return None
    compared = comparison if comparison and comparison.metric(PASS_RATE) else None
    overall = quality.overall
    slices = {say(_("all answers")): overall}
    slices |= {
        say(_("language: {language}", language=name)): part
        for name, part in quality.by_language.items()
    }
    parts = list(slices.values())
    passing: dict[str, Any] = {
        "name": say(_("passed")),
        "rates": [share(part.pass_rate) for part in parts],
        "interval": between(overall),
        "unproven": "",
        "change": _change(PASS_RATE, compared, say),
    }
    rows = [
        {
            "name": getattr(item, say.language, item.en),
            "rates": [share(part.items[place].rate) for part in parts],
            "interval": between(item),
            "unproven": item.unproven,
            "change": _change(f"{BLOCK}.{item.id}", compared, say),
        }
        for place, item in enumerate(overall.items)
    ]
    return {
        "lead": say(checklist_lead(quality)),
        "slices": [(name, part.checked) for name, part in slices.items()],
        "rows": [passing, *rows],
        "compared": compared is not None,
    }


def _change(
    metric: str, comparison: Comparison | None, say: Translator
) -> dict[str, object] | None:
    change = comparison.metric(metric) if comparison else None
    if change is None:
        return None
    return {
        "before": share(change.baseline),
        "difference": signed(change.difference),
        "interval": change_interval(change, say) or "–",
        "better": change.is_better,
    }


_TAGS = 15


def answer_slices(
    summary: AnswerSummaryReport, say: Translator
) -> Iterator[tuple[str, AnswerSliceReport]]:
    """Yield all answers, each language, and each of the most frequent tags."""
    yield say(_("all answers")), summary.overall
    for language, part in summary.by_language.items():
        yield say(_("language: {language}", language=language)), part
    tags = sorted(summary.by_tag.items(), key=lambda entry: (-entry[1].items, entry[0]))
    for tag, part in tags[:_TAGS]:
        yield say(_("tag: {tag}", tag=tag)), part


_SLICED_ANSWERS = "answers.correctness"


def answer_figures(
    record: AnswerRunRecord, baseline: AnswerSnapshot | None = None, *, lang: Language = "en"
) -> dict[str, Chart]:
    """Return the charts of an answer run: metrics and slices; see `search_figures`."""
    say = translator(lang)
    summary, old = record.summary, baseline.metrics if baseline else None
    own = CustomScores.of(record.run.judge, lang)
    sliced = f"answers.{next(iter(own.labels))}" if own else _SLICED_ANSWERS

    def metrics(summary: AnswerSummaryReport) -> Shown:
        main = figures_of(summary.overall, keys_of(record.run.judge, "main"))
        return {figure.label(lang): figure for figure in main}

    def parts(summary: AnswerSummaryReport) -> Shown:
        slices = answer_slices(summary, say)
        return {name: figure_of(part, sliced) for name, part in slices}

    by_slice = say(_("{metric} by slice", metric=label(sliced, lang)))
    title = say(_("Metrics with 95% CIs"))
    return drawn(
        metrics=forest(title, say, metrics(summary), metrics(old) if old else None),
        slices=forest(by_slice, say, parts(summary), parts(old) if old else None),
    )


_LEADING = (
    "answers.correctness", "answers.completeness", "answers.utility", "quality.pass_rate",
)  # fmt: skip
_GRADES = ("high", "medium", "low", "none")
_VERDICTS = ("supported", "contradicted", "not_found", "unverified")


def answer_content(
    record: AnswerRunRecord,
    say: Translator,
    comparison: Comparison | None,
    baseline: AnswerSnapshot | None,
) -> Content:
    """Return the content of a run's page, compared with a baseline if there is one."""
    summary, own = record.summary, CustomScores.of(record.run.judge, say.language)
    overall = summary.overall
    return Content(
        template="answers.html.jinja",
        item_script="answer_item.js",
        charts=answer_figures(record, baseline, lang=say.language),
        captions={"slices": _("Correctness by slice")},
        data=answers_json(record.items, say, comparison, own),
        headline=answer_headline(record, comparison, say),
        cards=_cards(record, comparison, say),
        figures=[*measured(figures_of(overall, overall.intervals)), *pass_rate(summary.quality)],
        columns=keys_of(record.run.judge, "page"),
        slices=[(name, (part.items,), part) for name, part in answer_slices(summary, say)],
        not_run=max(summary.counts.not_run, summary.quality.not_run if summary.quality else 0),
        llm=summary.llm,
        values={
            "own": own,
            "not_believed": say(rejected_support(summary)),
            "second_look": second_look(summary, say),
            "separation": say(separation(record)),
            "cuts": say(cuts(record)),
            "grades": _GRADES,
            "verdicts": _VERDICTS,
            "quality": quality_block(summary.quality, say, comparison),
        },
    )


render_answer_html = functools.partial(render_page, answer_content)
"""report.html; see `render_page`."""


def answer_headline(record: AnswerRunRecord, comparison: Comparison | None, say: Translator) -> str:
    """Return the result in one sentence; with a comparable baseline, the significant changes."""
    own = CustomScores.of(record.run.judge, say.language)
    leading = (*(f"answers.{name}" for name in own.labels), *_LEADING) if own else _LEADING
    changed = against(comparison, say, leading, leading)
    if changed is not None:
        return changed
    counts = record.summary.counts
    if not counts.answers_evaluated:
        return say(_("No answers were evaluated."))
    if own:
        overall = record.summary.overall.answers
        scores = ", ".join(
            f"{text} {share(overall.get(name))}" for name, text in own.labels.items()
        )
        return say(
            n_(
                "{n} answer judged: {scores}",
                "{n:,} answers judged: {scores}",
                n=counts.answers_evaluated,
                scores=scores,
            )
        )
    if not counts.claims:
        return say(
            _("The {answers:,} evaluated answers make no claims.", answers=counts.answers_evaluated)
        )
    supported = record.summary.verdicts.get("supported", 0)
    values = {
        "supported": supported,
        "claims": counts.claims,
        "share": supported / counts.claims,
        "answers": counts.answers_evaluated,
    }
    if record.summary.reported_verdicts:
        return say(
            _(
                "{supported:,} of {claims:,} claims ({share:.1%}) in {answers:,} answers are proven by a quote from a"
                " note.",
                **values,
            )
        )
    return say(
        _(
            "{supported:,} of {claims:,} claims ({share:.1%}) in {answers:,} answers match a sentence of the notes (by"
            " words).",
            **values,
        )
    )


def _cards(
    record: AnswerRunRecord, comparison: Comparison | None, say: Translator
) -> Iterator[Card]:
    main = measured(figures_of(record.summary.overall, keys_of(record.run.judge, "main")))
    for figure in (*main, *pass_rate(record.summary.quality)):
        yield card(figure, comparison, say)
