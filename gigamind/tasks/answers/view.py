"""How such a run is shown: summary.md here, report.html in page.py."""

from collections.abc import Iterator, Sequence

from gigamind.i18n import Message, n_
from gigamind.messages import warning_in
from gigamind.records.judged import LlmReport, MetricReport
from gigamind.records.schema import Record
from gigamind.release.model import PASS_RATE
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import MetricRow, keys_of, metric_rows, plain_label, values_of
from gigamind.reports.page.model_costs import few_judged, model_section
from gigamind.reports.text import code, render
from gigamind.reports.views import Pages, View
from gigamind.tasks.answers.compare import AnswerSnapshot
from gigamind.tasks.answers.doors import not_believed, second_look
from gigamind.tasks.answers.schema import AnswerItemReport, AnswerRunRecord, AnswerSummaryReport
from gigamind.tasks.answers.sentences import checklist_lead, cuts, separation
from gigamind.wording import Language, Words, between, share, words

_WORST_SHOWN = 10


def _lead(record: AnswerRunRecord, say: Words) -> list[str]:
    """How many answers were evaluated, what they say, and what became of the others."""
    counts, judge = record.summary.counts, record.run.judge
    totals = {"evaluated": counts.answers_evaluated, "answers": counts.answers_total}
    if judge and judge.metrics:
        lines = [say("answers_summary.own_lead", **totals, judge=code(judge.file))]
    else:
        lines = [
            say(
                f"answers_summary.lead{'' if record.summary.told or not counts.claims else '_words'}",
                **totals,
                claims=counts.claims,
                supported=record.summary.verdicts.get("supported", 0),
                abstained=counts.abstained,
                silent=counts.without_claims,
            )
        ]
    others = {
        "without_context": counts.without_context,
        "unanswered": counts.unanswered,
        "unjudged": counts.unjudged,
        "not_run": counts.not_run,
    }
    lines += [say(f"answers_summary.{name}", count=n) for name, n in others.items() if n]
    return lines


def _worst(items: Sequence[AnswerItemReport], say: Words) -> list[dict[str, object]]:
    """The answers with the most that no note supports or that is left out, worst first."""
    judged = [
        (item.evaluation, item, issues)
        for item in items
        if item.evaluation
        and (
            issues := [
                *item.evaluation.grounding_issues,
                *(say("answers_summary.left_out", what=text) for text in item.left_out),
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
                "answers_summary.score",
                correctness=share(evaluation.correctness),
                completeness=share(_completeness(item)),
            ),
            "issues": issues[:3],
        }
        for evaluation, item, issues in judged[:_WORST_SHOWN]
    ]


def _completeness(item: AnswerItemReport) -> float | None:
    return item.metrics.get("completeness")


def _worst_by(
    metric: MetricReport, items: Sequence[AnswerItemReport], say: Words
) -> list[dict[str, object]]:
    """The answers that a figure of a team's own judge is worst for, worst first, with what the judge wrote."""
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
        for _, item, value in worst[:_WORST_SHOWN]
    ]


class AnswerView(View[AnswerSummaryReport, AnswerItemReport, AnswerSnapshot]):
    """See the module."""

    def markdown(
        self, record: Record[AnswerSummaryReport, AnswerItemReport], lang: Language = "en"
    ) -> str:
        """The summary as Markdown; text of answers and notes is escaped, so that it cannot break a table or a list."""
        summary, say = record.summary, words(lang)
        own = record.run.judge.metrics if record.run.judge else ()
        rows, columns = (
            metric_rows(summary.overall, "answers", say),
            keys_of(record.run.judge, "summary"),
        )
        return render(
            "answers.md.jinja",
            say=say,
            run=record.run,
            summary=summary,
            counts=summary.counts,
            lead=_lead(record, say),
            few=few_judged(summary.llm, say),
            warnings=[warning_in(lang, warning) for warning in record.run.warnings],
            tables=(
                (say("answer.by_verdict"), summary.verdicts, ""),
                (say("answer.by_role"), summary.roles, "role_"),
                (say("answer.vetoes"), summary.vetoes, "veto_"),
                (say("answer.doubts"), summary.doubts, ""),
            ),
            rows=[row for row in rows if row.n],
            unmeasured=[row.metric for row in rows if not row.n],
            columns=[plain_label(key, say) for key in columns],
            slices=[
                (say(f"page.kind_{kind}", key=name), part.items, values_of(part, columns))
                for kind, parts in (("language", summary.by_language), ("tag", summary.by_tag))
                for name, part in parts.items()
            ],
            own=bool(own),
            separation=separation(record, say),
            cuts=cuts(record, say),
            not_believed=not_believed(summary, say),
            second_look=second_look(summary, say),
            quality=checklist_lead(summary.quality, say) if summary.quality else "",
            worst=_worst_by(own[0], record.items, say) if own else _worst(record.items, say),
            certified=certified(record.card, record.run.judge, lang),
            llm=model_section(summary.llm, say) if summary.llm else "",
        )

    @property
    def pages(self) -> Pages:
        from gigamind.tasks.answers.page import answer_figures, render_answer_html

        return render_answer_html, answer_figures

    def rows(self, summary: AnswerSummaryReport, say: Words) -> Iterator[MetricRow]:
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

    def finding(self, summary: AnswerSummaryReport, say: Words) -> str:
        return not_believed(summary, say)

    def llm(self, summary: AnswerSummaryReport) -> LlmReport | None:
        return summary.llm
