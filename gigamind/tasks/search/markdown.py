"""summary.md of a search run: its figures and its worst failures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.formats import percent, share, signed
from gigamind.i18n import Language, Message, Text, Translator, _, joined, n_, translator
from gigamind.metrics.spec import blocks_of
from gigamind.metrics.table import in_order, keys_in
from gigamind.records.schema import RunReport, by_item
from gigamind.reports.cards.line import certified
from gigamind.reports.figures import metric_rows, plain_label, values_of
from gigamind.reports.page.model_costs import few_judged, model_section
from gigamind.reports.release import slice_name
from gigamind.reports.text import code, embedder_text, judge_text, notes_text, render, unjudged
from gigamind.tasks.search.schema import (
    ItemReport,
    JudgeRates,
    RunRecord,
    SliceCounts,
    SliceReport,
    SummaryReport,
    UnjudgedHit,
    WeakVerdicts,
)

_HITS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FailureLine:
    """One failure as Markdown."""

    item: ItemReport
    what: str  # description of the failure
    expected: str  # the relevant notes; "" for an unanswerable query
    came: str  # the top notes of the ranking, with their base scores


def failed_items(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Return the queries without a relevant note at rank 1, or with a wrong verdict, the worst first.

    Severity is 1 - reciprocal rank if answerable; the Top-1 base score in [0, 1] if unanswerable but judged answerable;
    1 - that score if found but refused.
    """
    tops = [0.0, 1.0, *(score for item in items if (score := item.top_base_score) is not None)]
    low, high = min(tops), max(tops)

    def severity(item: ItemReport) -> float:
        top = ((item.top_base_score or 0.0) - low) / (high - low)
        if not item.answerable:
            return top
        return max(_missed(item), 1 - top if item.judged_unanswerable else 0.0)

    return sorted(filter(_is_failed, items), key=severity, reverse=True)


def failure_line(item: ItemReport, say: Translator) -> FailureLine:
    """Return one failed query as Markdown."""
    came = ", ".join(
        f"{code(hit.note)} {share(hit.base_score)}" for hit in item.ranking[:_HITS_SHOWN]
    )
    expected = ", ".join(code(note) for note in item.expected_notes)
    return FailureLine(item, say(_what(item)), expected, came or say(_("nothing")))


def _missed(item: ItemReport) -> float:
    return 1 - (item.metrics.get("mrr") or 0.0)


def _is_failed(item: ItemReport) -> bool:
    if not item.answerable:
        return item.judged_unanswerable is False
    return _missed(item) > 0 or bool(item.judged_unanswerable)


def _what(item: ItemReport) -> Message:
    if not item.answerable:
        return _("unanswerable, but judged answerable")
    position = _position(item)
    if item.judged_unanswerable:
        return _("{position}; wrongly judged unanswerable", position=position)
    return position


def _position(item: ItemReport) -> Message:
    if reciprocal := item.metrics.get("mrr"):
        return _("expected note found at rank {rank}", rank=round(1 / reciprocal))
    if not item.ranking:
        return _("no note found")
    return n_(
        "expected note not found; the only result is another note",
        "expected note not among the {n:,} results",
        n=len(item.ranking),
    )


_MODES = {"keyword": _("keyword"), "semantic": _("semantic"), "hybrid": _("hybrid")}
_NO_NOTES = _("no vault; notes are identified by their names in the labels")
_TAGS_SHOWN = 15
_FAILURES_SHOWN = 10
_DIFFICULTIES = ("easy", "mid", "hard")


def render_summary(record: RunRecord, lang: Language = "en") -> str:
    """Return the summary as Markdown; text of notes and queries is escaped, so it cannot break tables or lists."""
    run, summary, say = record.run, record.summary, translator(lang)
    blocks = blocks_of("search") if summary.counts.queries_unanswerable else ("search",)
    columns = keys_in("summary", blocks, summary.overall.deepest)
    failed = failed_items(record.items)
    return render(
        "summary.md.jinja",
        say=say,
        run=run,
        summary=summary,
        errors=by_item(record.errors),
        headline=_headline(run, summary, say),
        stopped=_stopped(summary, say),
        few=few_judged(summary.llm, say),
        notices=_notices(record, say),
        generated=say(generated_line(summary)),
        search_rows=metric_rows(
            summary.overall, "search", say, in_order(list(summary.overall.intervals))
        ),
        holes=say(unjudged_line(summary)),
        hole_rows=unjudged_rows(summary),
        unanswerable_rows=metric_rows(summary.overall, "unanswerable", say),
        judged_by=say(judged_by(run)),
        rate_names=[plain_label(f"unanswerable.{name}", say) for name in RATES],
        judges=[
            (rates, [share(getattr(rates, name)) for name in RATES], say(cost_line(rates)))
            for rates in summary.judges
        ],
        weak=weak_lines(summary.weak_verdicts, say),
        certified=certified(record.card, run.judge, lang),
        llm=model_section(summary.llm, say) if summary.llm else "",
        judged_unanswerable=sum(bool(item.judged_unanswerable) for item in record.items),
        speed_rows=list(_speed_rows(summary, say)),
        latency_method=say(summary.performance.latency_method),
        warnings=list(map(say, run.warnings)),
        slice_metrics=[plain_label(key, say) for key in columns],
        slice_rows=list(_slice_rows(summary, columns, say)),
        tags_left_out=max(0, len(summary.by_tag) - _TAGS_SHOWN),
        failures=[failure_line(item, say) for item in failed[:_FAILURES_SHOWN]],
        failures_total=len(failed),
        run_rows=list(_run_rows(run, summary, say)),
    )


RATES = ("precision", "recall", "f1", "far", "false_refusals")
"""The metrics of verdicts, in the order of tables."""


def judged_by(run: RunReport) -> Text:
    """Return when a query is judged unanswerable, and the definitions of the metrics."""
    judge = run.judge
    setting = "–" if judge is None or judge.setting is None else f"{judge.setting:.3f}"
    rules = {
        "threshold": _(
            "A query is judged unanswerable if the base score of its top note is below {setting} (min_score), or"
            " if nothing is found.",
            setting=setting,
        ),
        "answer_score": _(
            "A query is judged unanswerable if its answer_score, a measure of confidence in the best note, is below"
            " {setting}, or if nothing is found.",
            setting=setting,
        ),
        "calibrated": _(
            "A query is judged unanswerable if nothing is found, or if the probability that the vault has the answer is"
            " below {setting}. The probability is estimated from keyword and semantic search.",
            setting=setting,
        ),
        "llm": _(
            "A model read the top notes of each ranking and judged whether they answer the query. A verdict of"
            " “answerable” counts only if it meets the rule of the judge file."
        ),
        "none": _(
            "No query was judged answerable or unanswerable: this system's scores have their own scale, and no"
            " --min-score was set for that scale."
        ),
    }
    return _(
        "{rule} Precision, recall and F1 measure how well unanswerable queries are detected. FAR (false-answer"
        " rate) is the share of unanswerable queries that are judged answerable. False refusals are the share of"
        " answerable queries that are judged unanswerable.",
        rule=rules[judge.kind if judge else "none"],
    )


def weak_lines(weak: WeakVerdicts | None, say: Translator) -> list[str]:
    """Return a sentence for each kind of weak verdict; [] if there is none."""
    if weak is None:
        return []
    lines = (
        n_(
            "{n} query is in another language than its nearest note, so its verdict is unreliable.",
            "{n:,} queries are in another language than their nearest note, so their verdicts are unreliable.",
            n=weak.across_languages,
        ),
        n_(
            "{n} of {unanswerable:,} unanswerable queries scores at least as high as the median answerable query"
            " (near miss). Judges that use scores cannot detect it; use --unanswerable-mode llm.",
            "{n:,} of {unanswerable:,} unanswerable queries score at least as high as the median answerable query"
            " (near misses). Judges that use scores cannot detect them; use --unanswerable-mode llm.",
            n=weak.near_misses or 0,
            unanswerable=weak.unanswerable,
        ),
    )
    return [say(line) for line in lines if line.values["n"]]


def unjudged_line(summary: SummaryReport) -> Text:
    """Return the number of unjudged hits, the possible range of nDCG, and what to do; "" without judgements."""
    report = summary.holes
    if report is None:
        return ""
    if not report.unjudged:
        return _(
            "All {hits:,} results in the top {k} have a relevance label.",
            hits=report.hits,
            k=report.k,
        )
    low, current, high = (
        share(summary.overall.search.get(f"{name}_at_{report.k}"))
        for name in ("ndcg_low", "ndcg", "ndcg_high")
    )
    return _(
        "{unjudged:,} of {hits:,} results in the top {k} have no relevance label and count as irrelevant. If some"
        " of them were relevant, nDCG@{k} would be between {low} and {high} (current value: {current}). To label"
        ' the most important results, fill in "gain" in unjudged.jsonl and run gigamind dataset label.',
        unjudged=report.unjudged,
        hits=report.hits,
        k=report.k,
        low=low,
        current=current,
        high=high,
    )


def unjudged_rows(summary: SummaryReport) -> list[tuple[UnjudgedHit, str]]:
    """Return the unjudged hits with the largest possible effect, each with its change of nDCG."""
    worst = summary.holes.worst if summary.holes else ()
    return [(hit, signed(hit.ndcg_change)) for hit in worst]


def _headline(run: RunReport, summary: SummaryReport, say: Translator) -> str:
    counts, search = summary.counts, summary.overall.search
    parts: list[Message] = []
    if counts.queries_answerable:
        hit, mrr = percent(search["hit_at_1"]), share(search["mrr"])
        parts.append(
            _(
                "an expected note ranks first for **{hit}** of answerable queries (MRR {mrr})",
                hit=hit,
                mrr=mrr,
            )
        )
    if counts.queries_unanswerable and run.judge:
        rates = summary.overall.unanswerable
        far, refused = percent(rates["far"]), percent(rates["false_refusals"])
        if counts.queries_answerable:
            parts.append(_("**{share}** of answerable queries are wrongly refused", share=refused))
        parts.append(
            _("**{share}** of unanswerable queries are wrongly judged answerable", share=far)
        )
    queries = n_("{n} query", "{n:,} queries", n=counts.queries_total)
    values = {"queries": queries, "search": searched_by(run)}
    subject = (
        _("**{queries}**, {search}", **values)
        if counts.notes is None
        else _(
            "**{queries}** over **{notes}**, {search}",
            notes=n_("{n} note", "{n:,} notes", n=counts.notes),
            **values,
        )
    )
    if not parts:
        return say(_("{subject}.", subject=subject))
    return say(_("{subject}: {findings}.", subject=subject, findings=joined(parts)))


def searched_by(run: RunReport) -> Message:
    """Return which search was evaluated."""
    system = run.environment.system
    if system is None:
        mode = str(run.options["mode"])
        return _("{mode} search", mode=_MODES.get(mode, mode))
    return _("searched by {system}", system=system.name)


def _stopped(summary: SummaryReport, say: Translator) -> str:
    not_run, no_verdict = summary.counts.queries_not_run, unjudged(summary.llm)
    parts: list[Message] = []
    if not_run or not no_verdict:
        parts.append(n_("{n} query was not run", "{n:,} queries were not run", n=not_run))
    if no_verdict:
        parts.append(n_("{n} query has no verdict", "{n:,} queries have no verdict", n=no_verdict))
    return say(joined(parts, ", "))


def _notices(record: RunRecord, say: Translator) -> str:
    kinds = lacking(record.summary)
    if warnings := record.run.warnings:
        kinds.append(n_("{n} warning", "{n:,} warnings", n=len(warnings)))
    listing = ", ".join(map(say, kinds))
    return say(_("{problems}: see below.", problems=listing)) if listing else ""


def lacking(summary: SummaryReport) -> list[Message]:
    """Return the counts of what the metrics leave out."""
    counts, silent = summary.counts, unjudged(summary.llm)
    kinds = (
        n_("{n} rejected row", "{n:,} rejected rows", n=counts.rows_rejected),
        n_("{n} failed query", "{n:,} failed queries", n=counts.queries_failed),
        n_("{n} query without a verdict", "{n:,} queries without a verdict", n=silent),
    )
    return [kind for kind in kinds if kind.values["n"]]


def generated_line(summary: SummaryReport) -> Text:
    """Return a caution about queries that were generated from the notes; "" if there are none."""
    counts = summary.counts
    if not counts.queries_generated:
        return ""
    return _(
        "{generated} of {total} queries were generated from the notes. They are easier than real queries, so the"
        " metrics look better than in real use.",
        generated=counts.queries_generated,
        total=counts.queries_total,
    )


def _speed_rows(summary: SummaryReport, say: Translator) -> Iterator[tuple[str, str]]:
    for percentile in ("p50", "p95", "p99"):
        name = f"latency_{percentile}_ms"
        value = summary.overall.search.get(name)
        shown = "–" if value is None else f"{value:,.1f}"
        yield plain_label(f"search.{name}", say), shown
    performance = summary.performance
    if performance.cold_start_ms is not None:
        yield say(_("cold start")), f"{performance.cold_start_ms:,.0f}"
    elif summary.system is None:
        yield say(_("indexing")), f"{performance.indexing_ms:,.0f}"
    yield say(_("all queries")), f"{performance.eval_runtime_ms:,.0f}"


SliceKind = Literal["overall", "language", "cross_lingual", "difficulty", "tag"]


def _slice_rows(
    summary: SummaryReport, columns: Sequence[str], say: Translator
) -> Iterator[tuple[str, SliceCounts, list[str]]]:
    by_difficulty = {key: summary.by_difficulty.get(key) for key in _DIFFICULTIES}
    groups: list[tuple[SliceKind, dict[str, SliceReport | None]]] = [
        ("language", {**summary.by_language}),
        ("cross_lingual", {"": summary.cross_lingual}),
        ("difficulty", by_difficulty),
        ("tag", {**_largest(summary.by_tag)}),
    ]
    for kind, slices in groups:
        for key, part in slices.items():
            if part is not None:
                yield say(slice_name(kind, key)), part.counts, values_of(part, columns)


def _largest(slices: dict[str, SliceReport]) -> dict[str, SliceReport]:
    ordered = sorted(slices.items(), key=lambda pair: -pair[1].counts.queries)
    return dict(ordered[:_TAGS_SHOWN])


def _run_rows(run: RunReport, summary: SummaryReport, say: Translator) -> Iterator[tuple[str, str]]:
    counts, environment, hardware = summary.counts, run.environment, run.hardware
    details = [f"sha256 {run.dataset_hash[:12]}"]
    if counts.rows_rejected:
        rejected = n_("{n} rejected row", "{n:,} rejected rows", n=counts.rows_rejected)
        details.append(say(rejected))
    if counts.rows_not_sampled:
        not_sampled = n_("{n} row not sampled", "{n:,} rows not sampled", n=counts.rows_not_sampled)
        details.append(say(not_sampled))
    yield say(_("run")), f"{run.run_id} ({run.created_at})"
    yield say(_("dataset")), f"{run.dataset} ({', '.join(details)})"
    yield say(_("notes")), notes_text(run, say) if run.notes else say(_NO_NOTES)
    if run.judge:
        yield say(_("judge")), judge_text(run.judge, say)
    if environment.system:
        of_file = environment.system.file_hash
        content = f" (sha256 {of_file[:12]})" if of_file else ""
        yield say(_("system")), f"{environment.system.name}{content}"
    else:
        yield say(_("embedding model")), embedder_text(run, say)
    commit = (environment.git_commit or "")[:12]
    yield say(_("gigamind version")), f"{environment.app_version} {commit}".strip()
    machine = _(
        "{cpu}, {cores} cores, {memory} GiB",
        cpu=hardware.cpu,
        cores=hardware.cores,
        memory=hardware.memory_gib,
    )
    yield say(_("hardware")), say(machine)


def cost_line(rates: JudgeRates) -> Text:
    """Return the errors of a judge in one sentence."""
    return _(
        "Wrongly refused: {refused:,} of {answerable:,} answerable queries. Wrongly judged answerable:"
        " {missed:,} of {unanswerable:,} unanswerable queries.",
        refused=rates.refused,
        answerable=rates.answerable,
        missed=rates.missed,
        unanswerable=rates.unanswerable,
    )
