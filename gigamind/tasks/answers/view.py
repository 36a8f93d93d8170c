"""Shows answer runs: what their pages add to the pages of all tasks. `page` makes the list of answers."""

from collections import Counter
from collections.abc import Iterator, Sequence

from gigamind.formats import share
from gigamind.i18n import Message, Text, Translator, _, joined, n_
from gigamind.metrics.table import label_text
from gigamind.records.judged import EvaluatedClaim, JudgeReport, MetricReport, SecondLookReport
from gigamind.records.schema import IntervalReport
from gigamind.release.model import PASS_RATE
from gigamind.release.shortfall import LANGUAGES
from gigamind.reports import document as doc
from gigamind.reports.comparison import WORDS_BLIND, main_keys
from gigamind.reports.labels import LABELS
from gigamind.reports.verdict import slice_name
from gigamind.reports.views import Figure, View, measured, slice_table
from gigamind.tasks.answers import schema
from gigamind.tasks.answers.page import list_data, reasons
from gigamind.tasks.answers.schema import AnswerSnapshot

_FEW = 30  # answers of a slice; with fewer, its figures are unreliable
_TAGS = 15
_WORST_FIRST = ("contradicted", "unverified", "not_found", "supported")


class AnswerView(View[schema.AnswerSummaryReport, schema.AnswerItemReport, AnswerSnapshot]):
    """Shows answer runs."""

    def figures(self, summary: schema.AnswerSummaryReport) -> list[Figure]:
        figures, quality = super().figures(summary), summary.quality
        if quality and quality.overall.checked:
            rate = quality.overall
            interval = IntervalReport(low=rate.low, high=rate.high, n=rate.checked)
            block, _dot, name = PASS_RATE.partition(".")
            figures.append(Figure(block, name, rate.pass_rate, interval))
        return figures

    def result(self, record: schema.AnswerRunRecord) -> Text:
        summary, counts = record.summary, record.summary.counts
        own, scores = _own(record.run.judge), record.summary.overall.answers
        bad = counts.claims - summary.verdicts.get("supported", 0)
        answers, claims = counts.answers_evaluated, counts.claims
        if not answers:
            return _("No answers were evaluated.")
        if own:
            names = ((label_text(f"answers.{m.name}"), share(scores.get(m.name))) for m in own)
            return n_(
                "{n} answer judged: {scores}.",
                "{n:,} answers judged: {scores}.",
                n=answers,
                scores=[joined(pair, " ") for pair in names],
            )
        if not claims:
            return _("The {answers:,} evaluated answers make no claims.", answers=answers)
        values = {"answers": answers, "bad": bad, "claims": claims, "share": bad / claims}
        if summary.reported_verdicts:
            return _(
                "{bad:,} of {claims:,} claims ({share:.1%}) in {answers:,} answers are not proven by a quote from a"
                " note.",
                **values,
            )
        return _(
            "{bad:,} of {claims:,} claims ({share:.1%}) in {answers:,} answers are not supported by a sentence of the"
            " notes (by words).",
            **values,
        )

    def steps(self, record: schema.AnswerRunRecord, bad: str = "") -> Iterator[doc.Step]:
        del bad
        counts = record.summary.counts
        if unsupported := counts.claims - record.summary.verdicts.get("supported", 0):
            check = _(
                "Check the worst answers first: {bad:,} of {claims:,} claims are not supported.",
                bad=unsupported,
                claims=counts.claims,
            )
            yield doc.Step(check, url="#list")

    def warnings(self, record: schema.AnswerRunRecord) -> Iterator[Text]:
        summary = record.summary
        if summary.flagged:
            yield n_(
                "{n} answer, or one of its notes, contains possible prompt injection or hidden characters. Check it"
                " yourself.",
                "{n:,} answers, or their notes, contain possible prompt injection or hidden characters. Check them"
                " yourself.",
                n=summary.flagged,
            )
        if summary.counts.claims and not summary.reported_verdicts:
            yield WORDS_BLIND
        if (agreement := summary.agreement) and agreement.claim_accuracy is not None:
            yield _(
                "The judge agrees with people on {right:,} of {claims:,} claims.",
                right=round(agreement.claim_accuracy * agreement.claims),
                claims=agreement.claims,
            )
        if summary.counts.without_context:
            yield n_(
                "{n} answer has no context notes and was not judged. Add its context to the dataset.",
                "{n:,} answers have no context notes and were not judged. Add their contexts to the dataset.",
                n=summary.counts.without_context,
            )
        if others := summary.notices.get("other_language"):
            yield n_(
                "{n} answer, or one of its notes, is neither Korean nor English, so its metrics are less reliable."
                " The judge recognises sentence roles and omissions only in these languages.",
                "{n:,} answers, or their notes, are neither Korean nor English, so their metrics are less reliable."
                " The judge recognises sentence roles and omissions only in these languages.",
                n=others,
            )

    def examples(self, record: schema.AnswerRunRecord) -> doc.Examples:
        """Return the answers with unsupported claims or omissions, or below the best score of a custom judge."""
        if own := _own(record.run.judge):
            examples = _worst_by(own[0], record.items)
        else:
            bad = [item for item in record.items if item.left_out or _failing(item)]
            examples = [_example(item) for item in sorted(bad, key=_goodness)]
        return doc.Examples(_("Worst answers"), tuple(examples[: doc.EXAMPLES]), len(examples))

    def sections(self, record: schema.AnswerRunRecord, say: Translator) -> Iterator[doc.Section]:
        summary, judge = record.summary, record.run.judge
        figures = measured(super().figures(summary))
        keys = main_keys([figure.key for figure in figures])
        main = [figure for figure in figures if figure.key in keys]
        known = [(x, summary.variance.get(x.name)) for x in main]
        if varied := [(label_text(figure.key), found) for figure, found in known if found]:
            yield doc.Section("repeats", _("Variation of the answers"), tuple(_repeats(varied)))
        if refusals := _refusals(record.items):
            yield doc.Section("refusals", _("Answered or refused"), (refusals,))
        if summary.counts.answers_evaluated and not _own(judge):
            yield doc.Section.closed("claims", _("Claims"), *_claims(record))
        if summary.quality:
            yield doc.Section.closed("checklist", _("Checklist"), *_checklist(summary.quality, say))
        if slices := _by_slice(summary, [figure.key for figure in main]):
            yield doc.Section.closed("slices", _("Results by slice"), slices)
        if times := summary.performance.system:
            rows = (
                ("p50", doc.Time(times.p50_ms)),
                ("p95", doc.Time(times.p95_ms)),
                ("p99", doc.Time(times.p99_ms)),
                (_("answers"), doc.Count(times.n)),
            )
            title = _("Response time of the evaluated system")
            yield doc.Section.closed("times", title, doc.Facts(rows))

    list_title = _("Answers")
    list_script = "answer_item.js"
    list_data = staticmethod(list_data)

    def not_run(self, summary: schema.AnswerSummaryReport) -> int:
        return max(summary.counts.not_run, summary.quality.not_run if summary.quality else 0)


def _own(judge: JudgeReport | None) -> Sequence[MetricReport]:
    """Return the metrics of a custom judge, the main one first."""
    return judge.metrics if judge else ()


def _failing(item: schema.AnswerItemReport) -> list[EvaluatedClaim]:
    """Return the claims that are not supported, contradicted ones first."""
    claims = item.evaluation.claims if item.evaluation else ()
    failing = (claim for claim in claims if claim.verdict != "supported")
    return sorted(failing, key=lambda claim: _WORST_FIRST.index(claim.verdict))


def _goodness(item: schema.AnswerItemReport) -> tuple[bool, bool, float, float, str]:
    """Return a sort key: contradicted answers first, then others with unsupported claims, then omissions."""
    failing = _failing(item)
    return (
        not failing,
        bool(failing) and failing[0].verdict != "contradicted",
        item.metrics.get("correctness") or 0.0,
        item.metrics.get("completeness") or 0.0,
        item.id,
    )


def _example(item: schema.AnswerItemReport) -> doc.Example:
    """Return an answer with its worst claim beside the nearest sentence of the notes."""
    failing = _failing(item)
    if not failing or item.evaluation is None:
        what = _("missing from the answer: {what}", what=item.left_out[0])
        return doc.Example(item.id, item.question, what)
    worst = failing[0]
    what = n_(
        "{failing} of {n} claim unsupported: {reason}",
        "{failing} of {n} claims unsupported: {reason}",
        n=len(item.evaluation.claims),
        failing=len(failing),
        reason=joined(reasons(worst)),
    )
    sides = [doc.Side(_("claim of the answer"), (doc.SideLine(worst.text, mark="wrong"),))]
    if worst.source and worst.evidence:
        note = item.notes[int(worst.evidence["source_index"])].title
        nearest = (doc.SideLine(worst.source.text, note),)
        sides.append(doc.Side(_("nearest sentence of the notes"), nearest))
    return doc.Example(item.id, item.question, what, (), tuple(sides))


def _worst_by(metric: MetricReport, items: Sequence[schema.AnswerItemReport]) -> list[doc.Example]:
    """Return the answers below the best score of a custom judge, worst first, with the judge's text."""
    low, name = metric.lower_is_better, label_text(f"answers.{metric.name}")
    best = 0.0 if low else 1.0
    known = ((item.metrics.get(metric.name), item) for item in items)
    scored = [(value, item) for value, item in known if value is not None and value != best]
    scored.sort(key=lambda row: (-row[0] if low else row[0], row[1].id))
    texts = (
        (item, [joined([name, share(value)], " "), item.verdict.text if item.verdict else ""])
        for value, item in scored
    )
    return [doc.Example(x.id, x.question, joined(filter(None, own), ": ")) for x, own in texts]


def _refusals(items: Sequence[schema.AnswerItemReport]) -> doc.Table | None:
    """Return how many questions the system answered, by whether the notes answer them; None if unlabelled."""
    labelled = any(item.unanswerable for item in items)
    counts: Counter[tuple[bool, bool]] = Counter()
    for item in items:
        facts = item.labels.facts if item.labels else ()
        if item.evaluation and (labelled or any(fact.counts for fact in facts)):
            counts[not item.unanswerable, bool(item.evaluation.claims)] += 1
    refused, unsupported = counts[True, False], counts[False, True]
    rows = {
        True: (
            _("The notes answer the question"),
            _("{n:,} as expected", n=counts[True, True]),
            n_("{n} over-refusal", "{n:,} over-refusals", n=refused),
        ),
        False: (
            _("The notes do not answer it"),
            n_("{n} unsupported answer", "{n:,} unsupported answers", n=unsupported),
            _("{n:,} as expected", n=counts[False, False]),
        ),
    }
    shown = [row for known, row in rows.items() if counts[known, True] or counts[known, False]]
    heads = ("", _("the system answered"), _("the system refused"))
    return doc.Table.of(heads, shown) if shown else None


_TWICE = 1 - 0.5**0.5  # share by which twice the questions narrow an interval
_AS_GOOD = 0.9  # of that


def _repeats(known: Sequence[tuple[Text, schema.VarianceReport]]) -> Iterator[doc.Block]:
    """Yield the standard deviations by source, and what narrows the interval of the first metric at the least cost."""
    heads = (_("standard deviation of"), _("questions"), _("answers to a question"))
    rows = [
        (
            name,
            *(doc.Proportion(variance**0.5) for variance in (found.item, found.system)),
            _("not measured") if found.judge is None else doc.Proportion(found.judge**0.5),
        )
        for name, found in known
    ]
    yield doc.Table.of((*heads, _("verdicts on an answer")), rows)
    name, found = known[0]
    per_item = found.scores / found.items
    if not found.item + found.system + (found.judge or 0.0):
        return
    if (found.judge or 0.0) > found.item * per_item + found.system:
        advice = _(
            "Most of the variation comes from the judge: label answers and measure its error with"
            " `gigamind judge certify`."
        )
    elif found.more_repeats >= _AS_GOOD * _TWICE:
        advice = _("Repeats are as good as further questions here.")
    else:
        advice = _("Add questions rather than repeats.")
    text = _(
        "At equal cost, twice the questions narrow the 95% interval of {metric} by {questions:.1%}, twice the"
        " repeats by {repeats:.1%}. {advice}",
        metric=name,
        questions=_TWICE,
        repeats=found.more_repeats,
        advice=advice,
    )
    yield doc.Prose(text)


def _claims(record: schema.AnswerRunRecord) -> Iterator[doc.Block]:
    """Yield the claims by verdict, then why quotes do not prove claims and how far the judge can be trusted."""
    summary, judge = record.summary, record.run.judge
    counts, told = summary.counts, bool(judge and judge.asks_a_model)
    if told:
        rule = _(
            "A claim is supported only if the model says so, the model's quote is in the note, and the sentence"
            " around the quote agrees with the claim."
        )
    elif judge and judge.kind == "nli":
        rule = _(
            "A claim is supported only if, according to a local entailment model, a passage of the notes entails it,"
            " and the passage has no other number, name or negation. No LLM is called, and utility is not measured."
        )
    else:
        rule = _(
            "A claim is supported only if one sentence of the notes has the words of the claim and does not"
            " contradict it. No model is called, and utility is not measured."
        )
    yield doc.Prose(rule, faint=True)
    why = _("Why a quote does not prove its claim")
    for head, numbers in ((_("claims"), summary.verdicts), (why, summary.doubts)):
        most_first = sorted(numbers.items(), key=lambda pair: -pair[1])
        rows = [(LABELS[name], doc.Count(n)) for name, n in most_first]
        if rows:
            yield doc.Table.of((head, _("count")), rows)
    yield from (doc.Prose(x) for x in (_rejected_support(summary), _second_look(summary)) if x)
    yield doc.Facts(
        (
            (_("evaluated answers"), doc.Count(counts.answers_evaluated, counts.answers_total)),
            (_("answers that say that the notes have no answer"), doc.Count(counts.abstained)),
            (_("other answers without claims"), doc.Count(counts.without_claims)),
        )
    )


def _rejected_support(summary: schema.AnswerSummaryReport) -> Text:
    """Return how many claims only the model calls supported, and why; without a model, how loose its verdicts are."""
    model_supported, rejected = summary.reported_verdicts.get("supported", 0), summary.not_believed
    if not summary.reported_verdicts and summary.loose:
        return _(
            "{loose:,} of {supported:,} supported claims contain a word that is missing from their source sentence,"
            " its heading, the note's title and the question. Rely on changes between runs, not on the verdict of a"
            " single answer.",
            supported=summary.verdicts.get("supported", 0),
            loose=summary.loose,
        )
    if not model_supported:
        return ""
    if not rejected:
        return n_(
            "The claim that the model judged as supported passed all of gigamind's own checks.",
            "All {n:,} claims that the model judged as supported passed gigamind's own checks.",
            n=model_supported,
        )
    return _(
        "{rejected:,} of {claims:,} claims that the model judged as supported failed one of gigamind's own checks:"
        " {reasons}.",
        rejected=sum(rejected.values()),
        claims=model_supported,
        reasons=[
            _("{reason} ({count:,})", reason=LABELS[name], count=count)
            for name, count in sorted(rejected.items(), key=lambda pair: -pair[1])
        ],
    )


def _second_look(summary: schema.AnswerSummaryReport) -> Text:
    """Return which models made the second check, and whether it counts; "" without a second check."""
    if not summary.second_looks:
        return ""
    return n_(
        "Second check: {n} doubtful claim was compared with its source sentence alone. {models}.",
        "Second check: {n:,} doubtful claims were compared with their source sentences alone. {models}.",
        n=summary.looked_at,
        models=joined(map(_tried, summary.second_looks), "; "),
    )


def _tried(look: SecondLookReport) -> Message:
    """Return how many canaries a model for second checks accepted, and whether its checks count."""
    (made, accepted), (low, high) = look.canaries, look.canary_interval or (0.0, 1.0)
    return _(
        "{model} ({language}) accepted {accepted:,} of {made:,} false statements about the notes (95% CI {low:.1%} to"
        " {high:.1%}): {result}",
        model=look.model,
        language=LANGUAGES.get(look.language, look.language),
        accepted=accepted,
        made=made,
        low=low,
        high=high,
        result=_("its checks count") if look.believed else _("its checks do not count"),
    )


def _checklist(quality: schema.QualitySummaryReport, say: Translator) -> tuple[doc.Block, ...]:
    """Return the share of answers that pass the checklist and meet each of its items, by language."""
    overall, parts = quality.overall, quality.by_language if len(quality.by_language) > 1 else {}
    text = _(
        "{passed:,} of {checked:,} answers pass the checklist of {feature}. To pass, at least {ratio:.0%} of the"
        " checklist items need a yes that a quote proves. The other verdicts do not affect this result.",
        passed=overall.passed,
        checked=overall.checked,
        feature=quality.feature,
        ratio=quality.min_pass_ratio,
    )
    languages = [slice_name("language", name) for name in parts]
    heads = (_("item"), _("all answers"), _("95% CI"), *languages, _("“yes” without proof"))
    passed = [doc.Proportion(part.pass_rate, part.checked) for part in (overall, *parts.values())]
    interval = doc.Interval(overall.low, overall.high)
    rows: list[tuple[doc.Cell, ...]] = [
        (_("passed"), passed[0], interval, *passed[1:], doc.Count(None))
    ]
    for place, item in enumerate(overall.items):
        name = getattr(item, say.language, item.en)
        rates = [doc.Proportion(part.items[place].rate) for part in parts.values()]
        interval = doc.Interval(item.low, item.high)
        rows.append((name, doc.Proportion(item.rate), interval, *rates, doc.Count(item.unproven)))
    return doc.Prose(text), doc.Table.of(heads, rows)


def _by_slice(summary: schema.AnswerSummaryReport, keys: Sequence[str]) -> doc.Table | None:
    """Return the metrics of all answers, each language if there are several, and the most frequent tags."""
    languages = summary.by_language.items() if len(summary.by_language) > 1 else ()
    tags = sorted(summary.by_tag.items(), key=lambda entry: (-entry[1].items, entry[0]))
    slices = [
        (_("all answers"), summary.overall),
        *((slice_name("language", name), part) for name, part in languages),
        *((slice_name("tag", tag), part) for tag, part in tags[:_TAGS]),
    ]
    if len(slices) == 1 or not keys:
        return None
    few = any(part.items < _FEW for _name, part in slices)
    caption = _("Slices with fewer than {n} answers are unreliable.", n=_FEW) if few else ""
    return slice_table(slices, {_("answers"): lambda part: part.items}, keys, caption)
