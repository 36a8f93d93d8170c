"""Shows answer runs: summary.md here, report.html in page.py."""

from collections.abc import Iterator, Sequence

from gigamind.formats import between, share
from gigamind.i18n import Language, Message, Translator, _, n_, translator
from gigamind.records.judged import LlmReport, MetricReport
from gigamind.records.schema import Record
from gigamind.release.model import PASS_RATE
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import MetricRow, keys_of, metric_rows, plain_label, values_of
from gigamind.reports.page.model_costs import few_judged, model_section
from gigamind.reports.text import code, render
from gigamind.reports.views import Pages, View
from gigamind.tasks.answers.compare import AnswerSnapshot
from gigamind.tasks.answers.schema import AnswerItemReport, AnswerRunRecord, AnswerSummaryReport
from gigamind.tasks.answers.sentences import checklist_lead, cuts, separation
from gigamind.tasks.answers.support_checks import rejected_support, second_look

_WORST_SHOWN = 10


def _lead(record: AnswerRunRecord, say: Translator) -> list[str]:
    """Return how many answers were evaluated and supported, and why the others were not."""
    counts, judge = record.summary.counts, record.run.judge
    totals = {"evaluated": counts.answers_evaluated, "answers": counts.answers_total}
    if judge and judge.metrics:
        lead = _(
            "{evaluated:,} of {answers:,} answers were evaluated by the judge {judge}.",
            judge=code(judge.file),
            **totals,
        )
    else:
        values = {"supported": record.summary.verdicts.get("supported", 0), "claims": counts.claims}
        proven = (
            _("{supported:,} of {claims:,} claims are proven by a quote from a note.", **values)
            if record.summary.reported_verdicts or not counts.claims
            else _(
                "{supported:,} of {claims:,} claims match a sentence of the notes (by words).",
                **values,
            )
        )
        lead = _(
            "{evaluated:,} of {answers:,} answers were evaluated. {proven} Answers that say the notes have no"
            " answer: {abstained:,}. Answers without claims: {silent:,}.",
            proven=proven,
            abstained=counts.abstained,
            silent=counts.without_claims,
            **totals,
        )
    others = (
        n_(
            "{n} answer has no context notes and was not judged.",
            "{n:,} answers have no context notes and were not judged.",
            n=counts.without_context,
        ),
        n_(
            "The system did not answer {n} question (see errors.jsonl).",
            "The system did not answer {n:,} questions (see errors.jsonl).",
            n=counts.unanswered,
        ),
        n_(
            "{n} answer could not be judged (see errors.jsonl).",
            "{n:,} answers could not be judged (see errors.jsonl).",
            n=counts.unjudged,
        ),
        n_(
            "{n} answer was not evaluated, because the run was interrupted.",
            "{n:,} answers were not evaluated, because the run was interrupted.",
            n=counts.not_run,
        ),
    )
    return [say(lead), *(say(other) for other in others if other.values["n"])]


def _worst(items: Sequence[AnswerItemReport], say: Translator) -> list[dict[str, object]]:
    """Return the answers with unsupported claims or omissions, worst first."""
    judged = [
        (item.evaluation, item, issues)
        for item in items
        if item.evaluation
        and (
            issues := [
                *item.evaluation.grounding_issues,
                *(say(_("missing from the answer: {what}", what=text)) for text in item.left_out),
            ]
        )
    ]
    judged.sort(
        key=lambda row: (row[0].correctness or 0.0, _completeness(row[1]) or 0.0, row[1].id)
    )
    return [
        {
            "id": item.id,
            "question": item.question,
            "score": say(
                _(
                    "correctness {correctness}, completeness {completeness}",
                    correctness=share(evaluation.correctness),
                    completeness=share(_completeness(item)),
                )
            ),
            "issues": issues[:3],
        }
        for evaluation, item, issues in judged[:_WORST_SHOWN]
    ]


def _completeness(item: AnswerItemReport) -> float | None:
    return item.metrics.get("completeness")


def _worst_by(
    metric: MetricReport, items: Sequence[AnswerItemReport], say: Translator
) -> list[dict[str, object]]:
    """Return the answers with the worst scores of a custom judge, worst first, with the judge's text."""
    low, key = metric.lower_is_better, f"answers.{metric.name}"
    scored = [
        (value if low else 1 - value, item, value)
        for item in items
        if (value := item.metrics.get(metric.name)) is not None
    ]
    worst = sorted((row for row in scored if row[0]), key=lambda row: (-row[0], row[1].id))
    return [
        {
            "id": item.id,
            "question": item.question,
            "score": f"{plain_label(key, say)} {share(value)}",
            "issues": [item.verdict.text] if item.verdict and item.verdict.text else [],
        }
        for _severity, item, value in worst[:_WORST_SHOWN]
    ]


class AnswerView(View[AnswerSummaryReport, AnswerItemReport, AnswerSnapshot]):
    """Shows answer runs as Markdown, HTML and in the terminal."""

    def markdown(
        self, record: Record[AnswerSummaryReport, AnswerItemReport], lang: Language = "en"
    ) -> str:
        summary, say = record.summary, translator(lang)
        own = record.run.judge.metrics if record.run.judge else ()
        rows = metric_rows(summary.overall, "answers", say)
        columns = keys_of(record.run.judge, "summary")
        return render(
            "answers.md.jinja",
            say=say,
            run=record.run,
            summary=summary,
            counts=summary.counts,
            lead=_lead(record, say),
            few=few_judged(summary.llm, say),
            warnings=list(map(say, record.run.warnings)),
            tables=(
                (say(_("Claims by verdict")), summary.verdicts, ""),
                (say(_("Sentences by role")), summary.roles, "role_"),
                (
                    say(
                        _("Why sentences count as claims although the model gave them another role")
                    ),
                    summary.vetoes,
                    "veto_",
                ),
                (say(_("Why a quote does not prove its claim")), summary.doubts, ""),
            ),
            rows=[row for row in rows if row.n],
            unmeasured=[row.metric for row in rows if not row.n],
            columns=[plain_label(key, say) for key in columns],
            slices=[
                (say(name), part.items, values_of(part, columns))
                for name, part in (
                    *(
                        (_("language: {language}", language=language), part)
                        for language, part in summary.by_language.items()
                    ),
                    *((_("tag: {tag}", tag=tag), part) for tag, part in summary.by_tag.items()),
                )
            ],
            own=bool(own),
            separation=say(separation(record)),
            cuts=say(cuts(record)),
            not_believed=say(rejected_support(summary)),
            second_look=second_look(summary, say),
            quality=say(checklist_lead(summary.quality)) if summary.quality else "",
            worst=_worst_by(own[0], record.items, say) if own else _worst(record.items, say),
            certified=certified(record.card, record.run.judge, lang),
            llm=model_section(summary.llm, say) if summary.llm else "",
        )

    @property
    def pages(self) -> Pages:
        from gigamind.tasks.answers.page import answer_figures, render_answer_html

        return render_answer_html, answer_figures

    def rows(self, summary: AnswerSummaryReport, say: Translator) -> Iterator[MetricRow]:
        yield from metric_rows(summary.overall, "answers", say)
        if summary.quality:
            overall = summary.quality.overall
            rate, name = share(overall.pass_rate), plain_label(PASS_RATE, say)
            yield MetricRow("checklist", name, rate, between(overall), overall.checked)

    def missing(self, summary: AnswerSummaryReport) -> list[Message]:
        counts, unchecked = summary.counts, summary.quality.unchecked if summary.quality else 0
        kinds = (
            n_("{n} rejected row", "{n:,} rejected rows", n=counts.rows_rejected),
            n_(
                "{n} answer without an evaluation",
                "{n:,} answers without an evaluation",
                n=counts.unjudged,
            ),
            n_(
                "{n} answer without a checklist result",
                "{n:,} answers without a checklist result",
                n=unchecked,
            ),
        )
        return [kind for kind in kinds if kind.values["n"]]

    def not_run(self, summary: AnswerSummaryReport) -> int:
        return summary.counts.not_run

    def finding(self, summary: AnswerSummaryReport, say: Translator) -> str:
        return say(rejected_support(summary))

    def llm(self, summary: AnswerSummaryReport) -> LlmReport | None:
        return summary.llm
