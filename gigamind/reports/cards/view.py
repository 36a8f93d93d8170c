"""The texts of a judge report, for both its Markdown and its page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gigamind.formats import moment, percent, share
from gigamind.i18n import Message, Text, Translator, _, joined, n_
from gigamind.records.card import (
    CardBin,
    CardFigure,
    CardGroup,
    CardHeadline,
    CardLiar,
    CardLiars,
    CardScale,
    JudgeCard,
)
from gigamind.release.shortfall import ANSWERS, FIGURES, interval, number, scale_name
from gigamind.reports.cards.line import NO_MODEL, tried


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One metric as text, overall and by language in the order of the languages."""

    label: str
    about: str
    value: str
    interval: str
    n: str
    by_language: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MissRow:
    """A verdict far from its label, as text."""

    id: str
    question: str
    quotes: tuple[str, ...]
    label: str
    verdict: str
    confidence: str


@dataclass(frozen=True, slots=True)
class ScaleView:
    """One scale of a judge report, as texts; `drawn` are its `bins` for the diagram.

    `mean` has label, value and interval of each mean, `bins` range, mean confidence, share right, interval and N.
    """

    name: str
    headline: str
    counts: str
    languages: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    mean: tuple[tuple[str, str, str], ...]
    mean_lead: str
    bins: tuple[tuple[str, str, str, str, str], ...]
    drawn: tuple[CardBin, ...]
    flips: str
    misses_lead: str
    misses: tuple[MissRow, ...]
    confident: bool


def scale_view(card: JudgeCard, scale: CardScale, say: Translator) -> ScaleView:
    """Return the texts of a scale."""
    languages = tuple(scale.by_language)
    filled = tuple(b for b in scale.overall.bins if b.right.n)
    shown = _(
        "Shown: {shown} of {missed} verdicts that are far from their label. The largest and most confident errors"
        " come first.",
        shown=len(scale.misses),
        missed=scale.missed,
    )
    return ScaleView(
        name=say(scale_name(scale.name)),
        headline=say(_headline(scale)),
        counts=say(_counts(scale.overall)),
        languages=languages,
        rows=tuple(_row(name, scale, languages, say) for name in scale.overall.figures),
        mean=tuple(_mean(scale, say)),
        mean_lead=say(_mean_lead(scale.headline)) if scale.headline else "",
        bins=tuple(_bin(b, say) for b in filled),
        drawn=filled,
        flips=say(_flips(card, scale, scale.flips)) if scale.flips else "",
        misses_lead=say(shown if scale.missed else _("No verdict is far from its label.")),
        misses=tuple(_misses(scale, say)),
        confident=any(miss.confidence is not None for miss in scale.misses),
    )


def attacks_text(card: JudgeCard, say: Translator) -> str:
    """Return the result of the attacks in a sentence; "" if there were none."""
    if card.attacks is None:
        return ""
    attacks, rate = card.attacks, card.attacks.rate
    if rate.value is None:
        return say(_("The success of the attacks could not be measured on any case."))
    text = _(
        "{succeeded} of {attempted} prompt-injection attacks changed a verdict of the judge: {value} (95% CI {low}"
        " – {high}).",
        succeeded=attacks.succeeded,
        attempted=attacks.attempted,
        value=percent(rate.value),
        low=percent(rate.low),
        high=percent(rate.high),
    )
    return say(text)


def second_check_text(card: JudgeCard, say: Translator) -> str:
    """Return how reliable the models for second checks are; "" if there were none."""
    if not card.second_looks:
        return ""
    return say(
        _(
            "If the source sentence has few words of a claim, a model checks again whether the sentence supports"
            " the claim. Its result counts only if the model solves enough test pairs with known answers: {models}.",
            models="; ".join(tried(look, say.language) for look in card.second_looks),
        )
    )


@dataclass(frozen=True, slots=True)
class DeceptiveJudgeRow:
    """The behaviour of one deceptive judge, its values as text, and both in a line."""

    what: str
    figures: tuple[str, ...]
    line: str


@dataclass(frozen=True, slots=True)
class DeceptiveJudgesView:
    """The test with deceptive judges: a paragraph, the column headings, and a row for each judge."""

    lead: str
    head: tuple[str, ...]
    rows: tuple[DeceptiveJudgeRow, ...]


_COLUMNS = (
    _("correctness"),
    _("unsupported claims that the judge accepted"),
    _("claims that the judge did not count as claims"),
    _("utility"),
    _("no verdict"),
)
_BEHAVIOURS: Mapping[str, Message] = {
    "honest": _("repeats the human verdicts"),
    "credulous": _(
        "calls even claims that people doubt supported, and quotes the most similar line"
    ),
    "pastes_one_line": _("quotes the same line for every claim"),
    "pastes_and_passes": _(
        "quotes the same line for every claim, and knows the solutions of the second check's test pairs"
    ),
    "always_supported": _("calls every claim supported, without a quote or with an invented quote"),
    "no_claims": _("says that no sentence is a claim"),
    "abstains": _(
        "says that every sentence is an abstention (states that the notes lack the answer)"
    ),
    "swaps_ids": _("gives each claim the verdict of the next claim"),
    "quotes_the_question": _("quotes the question or the answer instead of a note"),
}


def deceptive_view(liars: CardLiars, say: Translator) -> DeceptiveJudgesView:
    """Return the results of the deceptive judges; unknown ones keep their names."""
    lead = [
        _(
            "Scripts with known behaviour replaced the model as judge of {answers} answers of {dataset}. A model"
            " that makes the same errors gets the same result. According to human labels, {unsupported} of the"
            " {claims} claims are unsupported, correctness is {correctness}, and utility is {utility}.",
            answers=liars.answers,
            dataset=liars.dataset,
            unsupported=liars.unsupported,
            claims=liars.claims,
            correctness=share(liars.correctness),
            utility=share(liars.utility),
        ),
        _(
            "A quote proves that its words are in the note. It does not prove that they support the claim."
        ),
    ]
    if liars.unlabelled:
        left_out = n_(
            "The test left out {n} answer without labels or notes.",
            "The test left out {n:,} answers without labels or notes.",
            n=liars.unlabelled,
        )
        lead.append(left_out)
    head = tuple(map(say, _COLUMNS))
    rows = tuple(_deceptive_row(liar, liars, head, say) for liar in liars.liars)
    return DeceptiveJudgesView(say(joined(lead, " ")), head, rows)


def _deceptive_row(
    judge: CardLiar, liars: CardLiars, head: tuple[str, ...], say: Translator
) -> DeceptiveJudgeRow:
    figures = (
        share(judge.correctness),
        f"{judge.passed_off} / {liars.unsupported}",
        f"{judge.hidden} / {liars.claims}",
        share(judge.utility),
        str(judge.unscored),
    )
    what = say(_BEHAVIOURS.get(judge.name, judge.name))
    text = ", ".join(f"{label} {value}" for label, value in zip(head, figures, strict=True))
    return DeceptiveJudgeRow(what, figures, f"{what}: {text}")


def provenance(card: JudgeCard, say: Translator) -> Iterator[tuple[str, str]]:
    """Yield the subject of the report as rows of name and value."""
    judge = card.judge
    yield say(_("judge")), f"{judge.file} ({judge.kind})"
    yield say(_("model")), judge.model or say(NO_MODEL)
    yield say(_("judge fingerprint")), judge.fingerprint
    if judge.languages:
        yield say(_("prompt languages")), ", ".join(judge.languages)
    labels = card.labels
    yield say(_("labels")), f"{labels.name} ({labels.count}, sha256 {labels.sha256[:12]})"
    yield say(_("runs")), ", ".join(card.runs)
    yield say(_("dataset")), f"{card.dataset} (sha256 {card.dataset_hash[:12]})"
    yield say(_("created")), moment(card.created_at)
    yield say(_("gigamind version")), card.app_version
    yield say(_("random seed")), str(card.seed)


def _headline(scale: CardScale) -> Message:
    figures, n, name = scale.overall.figures, scale.overall.items, scale_name(scale.name)
    if not n:
        return _("{scale}: no labelled item has a verdict", scale=name)
    if scale.kind == "graded":
        kappa, error = figures["quadratic_kappa"], figures["mean_absolute_error"]
        return _(
            "{scale}: quadratic kappa {kappa} (95% CI {interval}) over {n} labels, mean absolute error {error}",
            scale=name,
            kappa=number(kappa.value),
            interval=interval(kappa),
            n=n,
            error=share(error.value),
        )
    accuracy, kappa = figures["accuracy"], figures["cohen_kappa"]
    return _(
        "{right} of {n} verdicts match the label (accuracy {accuracy}, 95% CI {interval}); Cohen's kappa {kappa}",
        right=round((accuracy.value or 0.0) * n),
        n=n,
        accuracy=share(accuracy.value),
        interval=interval(accuracy),
        kappa=number(kappa.value),
    )


def _counts(group: CardGroup) -> Message:
    values = {"items": group.items, "positive": group.positive}
    if group.positive is None:
        counts = _("{items} items", **values)
    else:
        counts = _("{items} items, {positive} of them with the label “yes”", **values)
    if group.clusters is None:
        return counts
    clusters = _(
        "The claims come from {clusters} answers. Claims of one answer are not independent, so confidence"
        " intervals are computed by resampling whole answers.",
        clusters=group.clusters,
    )
    return joined([counts, clusters], ". ")


_ABOUT: Mapping[str, Message] = {
    "accuracy": _("share of verdicts that match the label"),
    "balanced_accuracy": _("mean of sensitivity and specificity"),
    "sensitivity": _("share of the items with the label “yes” that the judge also judged “yes”"),
    "specificity": _("share of the items with the label “no” that the judge also judged “no”"),
    "cohen_kappa": _(
        "agreement of verdicts and labels, corrected for chance; 1 is full agreement, 0 is chance"
    ),
    "quadratic_kappa": _(
        "agreement of verdicts and labels, corrected for chance; large differences weigh more"
    ),
    "mean_absolute_error": _("mean distance between verdict and label; lower is better"),
    "mean_error": _("mean of verdict − label; above 0, the judge is too lenient"),
    "brier": _("mean squared error of the judge's stated confidence; lower is better"),
    "calibration_error": _(
        "mean distance between the judge's stated confidence and its accuracy; lower is better"
    ),
}


def _row(name: str, scale: CardScale, languages: tuple[str, ...], say: Translator) -> FigureRow:
    figure = scale.overall.figures[name]
    by_language = (scale.by_language[language].figures.get(name) for language in languages)
    return FigureRow(
        label=say(FIGURES[name]),
        about=say(_ABOUT[name]),
        value=number(figure.value),
        interval=interval(figure),
        n=say(_n(figure)),
        by_language=tuple(map(_inline, by_language)),
    )


def _n(figure: CardFigure) -> Text:
    if figure.clusters is None:
        return str(figure.n)
    return _("{n} (from {clusters} answers)", n=figure.n, clusters=figure.clusters)


def _inline(figure: CardFigure | None) -> str:
    if figure is None or figure.value is None:
        return "–"
    return f"{number(figure.value)} ({interval(figure)})"


def _mean(scale: CardScale, say: Translator) -> Iterator[tuple[str, str, str]]:
    headline = scale.headline
    if headline is None:
        return
    values = {"items": headline.items, "clusters": headline.clusters}
    if headline.clusters is None:
        judged = _("mean of the verdicts only, {items} items", **values)
    else:
        judged = _("mean of the verdicts only, {items} items from {clusters} answers", **values)
    biased = _("{judged} (no CI, because errors of the judge bias this mean)", judged=judged)
    labelled = _("mean of the labels only, N = {n}", n=_n(headline.labelled))
    yield say(biased), share(headline.judged), "–"
    yield say(labelled), share(headline.labelled.value), interval(headline.labelled)
    corrected = headline.corrected
    yield (
        say(_("verdicts corrected with the labels (PPI++)")),
        share(corrected.value),
        interval(corrected),
    )


def _mean_lead(headline: CardHeadline) -> Message:
    if headline.clusters is None:
        return _(
            "The corrected mean estimates the result if people had labelled every item. It uses the judge's"
            " verdicts with a weight of {weight:.2f} (0: labels only). It is valid if the labelled items are a"
            " random sample of all items.",
            weight=headline.weight,
        )
    return _(
        "The corrected mean estimates the result if people had labelled every item. It uses the judge's verdicts"
        " with a weight of {weight:.2f} (0: labels only). It is valid if the labelled items are a random sample of"
        " all items, or all items of randomly chosen answers.",
        weight=headline.weight,
    )


def _bin(b: CardBin, say: Translator) -> tuple[str, str, str, str, str]:
    edges = f"{b.low:.1f} – {b.high:.1f}"
    n = say(_n(b.right))
    return edges, share(b.confidence), share(b.right.value), interval(b.right), n


def _flips(card: JudgeCard, scale: CardScale, flips: CardFigure) -> Message:
    values = {
        "scale": scale_name(scale.name),
        "value": number(flips.value),
        "interval": interval(flips),
        "n": _n(flips),
        "runs": len(card.runs),
    }
    if flips.value is None:
        return _(
            "{scale}: consistency is unknown because no item has a verdict in two runs.", **values
        )
    if scale.kind == "graded":
        return _(
            "{scale}: when the same judge runs again, its verdicts differ by {value} on average (95% CI"
            " {interval}, N = {n}, {runs} runs compared).",
            **values,
        )
    return _(
        "{scale}: when the same judge runs again, the share of verdicts that change is {value} (95% CI {interval},"
        " N = {n}, {runs} runs compared).",
        **values,
    )


def _misses(scale: CardScale, say: Translator) -> Iterator[MissRow]:
    for miss in scale.misses:
        label, verdict = (
            share(v) if scale.kind == "graded" else say(ANSWERS["yes" if v else "no"])
            for v in (miss.label, miss.verdict)
        )
        yield MissRow(miss.id, miss.question, miss.quotes, label, verdict, share(miss.confidence))
