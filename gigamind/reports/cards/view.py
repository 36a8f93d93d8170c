"""A judge card in words: what both its Markdown and its page show, in Korean or English."""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.records.card import (
    CardBin,
    CardFigure,
    CardGroup,
    CardLiar,
    CardLiars,
    CardScale,
    JudgeCard,
)
from gigamind.release.shortfall import clustered, interval, number, scale_name
from gigamind.reports.cards.line import tried
from gigamind.wording import Words, moment, share


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure as text, overall and by language in the order of the languages."""

    label: str
    about: str
    value: str
    interval: str
    n: str
    by_language: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MissRow:
    """A verdict that is far from its label, as text."""

    id: str
    question: str
    quotes: tuple[str, ...]
    label: str
    verdict: str
    confidence: str


@dataclass(frozen=True, slots=True)
class ScaleView:
    """One scale of a card, ready to be laid out.

    Attributes:
        mean: label, value and interval of the judged, labelled and corrected mean; empty without a headline.
        bins: those with items, as text: range, mean confidence, share right, interval, N.
        drawn: the same bins for the diagram.
        confident: whether a confidence was stated for any of the misses.
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


def scale_view(card: JudgeCard, scale: CardScale, say: Words) -> ScaleView:
    """A scale in words."""
    languages = tuple(scale.by_language)
    filled = tuple(b for b in scale.overall.bins if b.right.n)
    shown = say(_("{shown} of {missed} verdicts that are far from their label, largest and most " "confident errors first.", shown=len(scale.misses), missed=scale.missed))
    return ScaleView(
        name=scale_name(scale, say),
        headline=_headline(scale, say),
        counts=_counts(scale.overall, say),
        languages=languages,
        rows=tuple(_row(name, scale, languages, say) for name in scale.overall.figures),
        mean=tuple(_mean(scale, say)),
        mean_lead=_mean_lead(scale, say),
        bins=tuple(_bin(b, say) for b in filled),
        drawn=filled,
        flips=_flips(card, scale, say),
        misses_lead=shown if scale.missed else say(_("No verdict is far from its label.")),
        misses=tuple(_misses(scale, say)),
        confident=any(miss.confidence is not None for miss in scale.misses),
    )


def attacks_text(card: JudgeCard, say: Words) -> str:
    """The attacks in a sentence; "" where there were none."""
    if card.attacks is None:
        return ""
    attacks, rate = card.attacks, card.attacks.rate
    if rate.value is None:
        return say(_("No attack could be measured."))
    counts = {"succeeded": attacks.succeeded, "attempted": attacks.attempted}
    ends = {"value": number(rate.value), "low": number(rate.low), "high": number(rate.high)}
    return say(_("{succeeded} of {attempted} attacks changed a verdict: {value} (95% CI {low} – " "{high}).", **counts, **ends))


def second_check_text(card: JudgeCard, say: Words) -> str:
    """How far the models that looked at claims once more can tell; "" where none did."""
    if not card.second_looks:
        return ""
    models = "; ".join(tried(look, say.language) for look in card.second_looks)
    return say(_("When a source sentence has few words of a claim, a model checks the two a second " "time. Its result is accepted only if the model solves test pairs with known answers: " "{models}.", models=models))


@dataclass(frozen=True, slots=True)
class LiarRow:
    """What one liar does, its figures as text, and both in a line."""

    what: str
    figures: tuple[str, ...]
    told: str


@dataclass(frozen=True, slots=True)
class LiarsView:
    """What liars get away with: a paragraph, the names of the figures, and a row a liar."""

    lead: str
    head: tuple[str, ...]
    rows: tuple[LiarRow, ...]


_LIAR_FIGURES = ("correctness", "passed_off", "hidden", "utility", "unscored")


def liars_view(liars: CardLiars, say: Words) -> LiarsView:
    """Liars in words; of a liar that these words do not know, its name."""
    counts = {"answers": liars.answers, "claims": liars.claims, "unsupported": liars.unsupported}
    means = {"correctness": share(liars.correctness), "utility": share(liars.utility)}
    lead = [say(_("Scripted judges replaced the model and judged {answers} answers of {dataset}. A " "model with the same errors gets the same result. People call {unsupported} of the " "{claims} claims unsupported; their labels give correctness {correctness} and utility " "{utility}.", dataset=liars.dataset, **counts, **means)), say(_("A quote proves that its words are in the note, not that they support the claim."))]
    if liars.unlabelled:
        lead.append(say(n_("{n} answer without labels or notes was left out.", "{n:,} answers without labels or notes were left out.", n=liars.unlabelled)))
    head = tuple(say(f"liar.{name}") for name in _LIAR_FIGURES)
    return LiarsView(
        " ".join(lead), head, tuple(_liar(liar, liars, head, say) for liar in liars.liars)
    )


def _liar(liar: CardLiar, liars: CardLiars, head: tuple[str, ...], say: Words) -> LiarRow:
    figures = (
        share(liar.correctness),
        f"{liar.passed_off} / {liars.unsupported}",
        f"{liar.hidden} / {liars.claims}",
        share(liar.utility),
        str(liar.unscored),
    )
    name = f"liar.{liar.name}"
    what = say(name) if say.knows(name) else liar.name
    text = ", ".join(f"{label} {value}" for label, value in zip(head, figures, strict=True))
    return LiarRow(what, figures, f"{what}: {text}")


def provenance(card: JudgeCard, say: Words) -> Iterator[tuple[str, str]]:
    """What the card is about, a name and a value a row."""
    judge = card.judge
    yield say(_("judge")), f"{judge.file} ({judge.kind})"
    yield say(_("model")), judge.model or say(_("no model"))
    yield say(_("fingerprint")), judge.fingerprint
    if judge.languages:
        yield say(_("prompts")), ", ".join(judge.languages)
    labels = card.labels
    yield say(_("labels")), f"{labels.name} ({labels.count}, sha256 {labels.sha256[:12]})"
    yield say(_("runs")), ", ".join(card.runs)
    yield say(_("dataset")), f"{card.dataset} (sha256 {card.dataset_hash[:12]})"
    yield say(_("created")), moment(card.created_at)
    yield say(_("gigamind")), card.app_version
    yield say(_("seed")), str(card.seed)


def _headline(scale: CardScale, say: Words) -> str:
    figures, n = scale.overall.figures, scale.overall.items
    if not n:
        return say(_("{scale}: no labelled item has a verdict", scale=scale_name(scale, say)))
    if scale.kind == "graded":
        kappa, error = figures["quadratic_kappa"], figures["mean_absolute_error"]
        values = {"kappa": number(kappa.value), "error": share(error.value)}
        values |= {"interval": interval(kappa)}
        return say(_("{scale}: quadratic kappa {kappa} (95% CI {interval}) over {n} labels, mean absolute " "error {error}", scale=scale_name(scale, say), n=n, **values))
    accuracy, kappa = figures["accuracy"], figures["cohen_kappa"]
    values = {"accuracy": share(accuracy.value), "kappa": number(kappa.value)}
    values |= {"interval": interval(accuracy)}
    return say(_("{right} of {n} verdicts match the label (accuracy {accuracy}, 95% CI {interval}); " "Cohen's kappa {kappa}", right=round((accuracy.value or 0.0) * n), n=n, **values))


def _counts(group: CardGroup, say: Words) -> str:
    if group.positive is None:
        counts = say(_("{items} items", items=group.items))
    else:
        counts = say(_("{items} items, {positive} of them labelled yes", items=group.items, positive=group.positive))
    if group.clusters is None:
        return counts
    return f"{counts}. {say(_("The claims come from {clusters} answers. Claims of one answer are not independent, " "so CIs resample whole answers.", clusters=group.clusters))}"


def _row(name: str, scale: CardScale, languages: tuple[str, ...], say: Words) -> FigureRow:
    figure = scale.overall.figures[name]
    apart = (scale.by_language[language].figures.get(name) for language in languages)
    return FigureRow(
        label=say(f"metric.{name}"),
        about=say(f"about.{name}"),
        value=number(figure.value),
        interval=interval(figure),
        n=_n(figure, say),
        by_language=tuple(_inline(language_figure) for language_figure in apart),
    )


def _n(figure: CardFigure, say: Words) -> str:
    if figure.clusters is None:
        return str(figure.n)
    return say(_("{n} ({clusters} answers)", n=figure.n, clusters=figure.clusters))


def _inline(figure: CardFigure | None) -> str:
    if figure is None or figure.value is None:
        return "–"
    return f"{number(figure.value)} ({interval(figure)})"


def _mean(scale: CardScale, say: Words) -> Iterator[tuple[str, str, str]]:
    headline = scale.headline
    if headline is not None:
        judged = clustered("page.judged", headline.clusters, say, items=headline.items)
        yield say(_("{judged} (biased by the judge, so no CI)", judged=judged)), share(headline.judged), "–"
        labelled = f"{say(_("labels only, N = {n}"))}, {say(_("N = {n}", n=_n(headline.labelled, say)))}"
        yield labelled, share(headline.labelled.value), interval(headline.labelled)
        yield say(_("corrected (PPI++)")), share(headline.corrected.value), interval(headline.corrected)


def _mean_lead(scale: CardScale, say: Words) -> str:
    headline = scale.headline
    if headline is None:
        return ""
    return clustered("page.corrected_lead", headline.clusters, say, weight=f"{headline.weight:.2f}")


def _bin(b: CardBin, say: Words) -> tuple[str, str, str, str, str]:
    edges = f"{b.low:.1f} – {b.high:.1f}"
    return edges, share(b.confidence), share(b.right.value), interval(b.right), _n(b.right, say)


def _flips(card: JudgeCard, scale: CardScale, say: Words) -> str:
    if scale.flips is None:
        return ""
    name = scale_name(scale, say)
    if scale.flips.value is None:
        return say(_("{scale}: no item was judged in two runs.", scale=name))
    values = {"value": number(scale.flips.value), "interval": interval(scale.flips)}
    values |= {"n": _n(scale.flips, say), "runs": str(len(card.runs))}
    return say(f"page.flips_{scale.kind}", scale=name, **values)


def _misses(scale: CardScale, say: Words) -> Iterator[MissRow]:
    for miss in scale.misses:
        label, verdict = (
            share(v) if scale.kind == "graded" else say("page.yes" if v else "page.no")
            for v in (miss.label, miss.verdict)
        )
        yield MissRow(miss.id, miss.question, miss.quotes, label, verdict, share(miss.confidence))
