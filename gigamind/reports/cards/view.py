"""A judge card in words: what both its Markdown and its page show, in Korean or English."""

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from gigamind.reports.cards.schema import CardBin, CardFigure, CardGroup, CardScale, JudgeCard
from gigamind.reports.page.headline import moment, share
from gigamind.reports.page.wording import Language, Words


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
    label: str
    verdict: str
    confidence: str
    quotes: tuple[str, ...]


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


@functools.cache
def card_words(language: Language) -> Words:
    """The phrases of one language."""
    file = resources.files("gigamind.reports.cards") / "translations" / f"{language}.toml"
    return Words(language, tomllib.loads(file.read_text(encoding="utf-8")))


def scale_view(card: JudgeCard, scale: CardScale, told: Words) -> ScaleView:
    """A scale in words."""
    languages = tuple(scale.by_language)
    filled = tuple(b for b in scale.overall.bins if b.right.n)
    shown = told("page.misses_lead", shown=len(scale.misses), missed=scale.missed)
    return ScaleView(
        name=scale_name(scale, told),
        headline=_headline(scale, told),
        counts=_counts(scale.overall, told),
        languages=languages,
        rows=tuple(_row(name, scale, languages, told) for name in scale.overall.figures),
        mean=tuple(_mean(scale, told)),
        mean_lead=_mean_lead(scale, told),
        bins=tuple(_bin(b, told) for b in filled),
        drawn=filled,
        flips=_flips(card, scale, told),
        misses_lead=shown if scale.missed else told("page.no_misses"),
        misses=tuple(_misses(scale, told)),
        confident=any(miss.confidence is not None for miss in scale.misses),
    )


def attacks_told(card: JudgeCard, told: Words) -> str:
    """The attacks in a sentence; "" where there were none."""
    if card.attacks is None:
        return ""
    attacks, rate = card.attacks, card.attacks.rate
    if rate.value is None:
        return told("page.attacks_none")
    counts = {"succeeded": attacks.succeeded, "attempted": attacks.attempted}
    ends = {"value": number(rate.value), "low": number(rate.low), "high": number(rate.high)}
    return told("page.attacks_told", **counts, **ends)


def provenance(card: JudgeCard, told: Words) -> Iterator[tuple[str, str]]:
    """What the card is about, a name and a value a row."""
    judge = card.judge
    yield told("page.judge"), f"{judge.file} ({judge.kind})"
    yield told("page.model"), judge.model or told("page.no_model")
    yield told("page.fingerprint"), judge.fingerprint
    if judge.languages:
        yield told("page.prompts"), ", ".join(judge.languages)
    labels = card.labels
    yield told("page.labels"), f"{labels.name} ({labels.count}, sha256 {labels.sha256[:12]})"
    yield told("page.runs"), ", ".join(card.runs)
    yield told("page.dataset"), f"{card.dataset} (sha256 {card.dataset_hash[:12]})"
    yield told("page.created"), moment(card.created_at)
    yield told("page.version"), card.app_version
    yield told("page.seed"), str(card.seed)


def interval(figure: CardFigure) -> str:
    """The ends of an interval; a dash where there is none."""
    return "–" if figure.low is None else f"{number(figure.low)} – {number(figure.high)}"


def clustered(name: str, clusters: int | None, told: Words, **values: object) -> str:
    """The phrase `name`, or for items that do not stand alone the one that tells their clusters, too."""
    if clusters is None:
        return told(name, **values)
    return told(f"{name}_clusters", clusters=clusters, **values)


def number(value: float | None) -> str:
    """With three decimals and a typographic minus, for the one beside it would be read as a dash."""
    return share(value).replace("-", "−")


def scale_name(scale: CardScale, told: Words) -> str:
    """What a scale is called."""
    key = f"scale.{scale.name}"
    return told(key) if told.knows(key) else scale.name


def _headline(scale: CardScale, told: Words) -> str:
    figures, n = scale.overall.figures, scale.overall.items
    if not n:
        return told("headline.nothing", scale=scale_name(scale, told))
    if scale.kind == "graded":
        kappa, error = figures["quadratic_kappa"], figures["mean_absolute_error"]
        values = {"kappa": number(kappa.value), "error": share(error.value)}
        values |= {"interval": interval(kappa)}
        return told("headline.graded", scale=scale_name(scale, told), n=n, **values)
    accuracy, kappa = figures["accuracy"], figures["cohen_kappa"]
    values = {"accuracy": share(accuracy.value), "kappa": number(kappa.value)}
    values |= {"interval": interval(accuracy)}
    return told("headline.binary", right=round((accuracy.value or 0.0) * n), n=n, **values)


def _counts(group: CardGroup, told: Words) -> str:
    if group.positive is None:
        counts = told("page.items", items=group.items)
    else:
        counts = told("page.positive", items=group.items, positive=group.positive)
    if group.clusters is None:
        return counts
    return f"{counts}. {told('page.clusters', clusters=group.clusters)}"


def _row(name: str, scale: CardScale, languages: tuple[str, ...], told: Words) -> FigureRow:
    figure = scale.overall.figures[name]
    apart = (scale.by_language[language].figures.get(name) for language in languages)
    return FigureRow(
        label=told(f"metric.{name}"),
        about=told(f"about.{name}"),
        value=number(figure.value),
        interval=interval(figure),
        n=_n(figure, told),
        by_language=tuple(_inline(one) for one in apart),
    )


def _n(figure: CardFigure, told: Words) -> str:
    if figure.clusters is None:
        return str(figure.n)
    return told("page.n_clusters", n=figure.n, clusters=figure.clusters)


def _inline(figure: CardFigure | None) -> str:
    if figure is None or figure.value is None:
        return "–"
    return f"{number(figure.value)} ({interval(figure)})"


def _mean(scale: CardScale, told: Words) -> Iterator[tuple[str, str, str]]:
    found = scale.headline
    if found is not None:
        judged = clustered("page.judged", found.clusters, told, items=found.items)
        yield told("page.judged_interval", judged=judged), share(found.judged), "–"
        labelled = f"{told('page.labelled')}, {told('page.n_is', n=_n(found.labelled, told))}"
        yield labelled, share(found.labelled.value), interval(found.labelled)
        yield told("page.corrected"), share(found.corrected.value), interval(found.corrected)


def _mean_lead(scale: CardScale, told: Words) -> str:
    found = scale.headline
    if found is None:
        return ""
    return clustered("page.corrected_lead", found.clusters, told, weight=f"{found.weight:.2f}")


def _bin(b: CardBin, told: Words) -> tuple[str, str, str, str, str]:
    edges = f"{b.low:.1f} – {b.high:.1f}"
    return edges, share(b.confidence), share(b.right.value), interval(b.right), _n(b.right, told)


def _flips(card: JudgeCard, scale: CardScale, told: Words) -> str:
    if scale.flips is None:
        return ""
    name = scale_name(scale, told)
    if scale.flips.value is None:
        return told("page.flips_none", scale=name)
    values = {"value": number(scale.flips.value), "interval": interval(scale.flips)}
    values |= {"n": _n(scale.flips, told), "runs": str(len(card.runs))}
    return told(f"page.flips_{scale.kind}", scale=name, **values)


def _misses(scale: CardScale, told: Words) -> Iterator[MissRow]:
    for miss in scale.misses:
        label, verdict = (
            share(v) if scale.kind == "graded" else told("page.yes" if v else "page.no")
            for v in (miss.label, miss.verdict)
        )
        yield MissRow(miss.id, miss.question, label, verdict, share(miss.confidence), miss.quotes)
