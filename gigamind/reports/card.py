"""The judge report as a document: whether a judge may gate a release, and on which evidence; its line in a run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path

from gigamind.formats import moment, share
from gigamind.i18n import Language, Message, Text, _, joined, n_, translator
from gigamind.records.card import (
    FILE,
    CardFigure,
    CardLabels,
    CardMiss,
    CardScale,
    CheckedCard,
    JudgeCard,
    check_alone,
    size,
)
from gigamind.records.folder import as_json
from gigamind.records.judged import JudgeReport
from gigamind.release.shortfall import (
    ANSWERS,
    FIGURES,
    LANGUAGES,
    NO_MODEL,
    Shortfall,
    classes,
    kappa_text,
    labels_text,
    scale_name,
    shortfalls,
    unusable,
    with_interval,
)
from gigamind.reports import document as doc
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.verdict import NO_RELEASE


def certified(checked: CheckedCard | None, judge: JudgeReport | None) -> Text:
    """Return the line; "" without a judge, or without model and report. Certified: meets the gates' requirements."""
    if judge is None or (checked is None and not judge.needs_card):
        return ""
    why = unusable(checked, judge)
    if checked is None or why:
        return _("The judge is not certified: {why}. Run gigamind judge certify.", why=why)
    card = checked.card
    required = checked.required_scales or card.scale_groups
    missing = shortfalls(replace(checked, required_scales=required))
    values = {
        "date": card.created_at[:10],
        "labels": _labels_text(card.labels, card.labels.count),
        "figures": joined(map(_scale, card.scales)),
    }
    if not missing:
        return _("The judge was certified on {date} with {labels}: {figures}.", **values)
    return _(
        "The judge was compared with {labels} on {date}: {figures}. It does not meet the requirements of the"
        " release gates: {reasons}.",
        reasons=joined(shortfall.text for shortfall in missing),
        **values,
    )


def _labels_text(labels: CardLabels, count: int) -> Message:
    """Return the number of labels and who gave them."""
    if labels.source == "file":
        return n_("{n} label given by a person", "{n:,} labels given by people", n=count)
    return n_("{n} label from the dataset", "{n:,} labels from the dataset", n=count)


def _scale(scale: CardScale) -> Message:
    names = ("balanced_accuracy", "cohen_kappa")
    if scale.kind == "graded":
        names = ("quadratic_kappa", "mean_absolute_error")
    group = scale.overall
    figures = [
        _("{name} {value}", name=FIGURES[name], value=with_interval(group.figures[name]))
        for name in names
    ]
    values = {"scale": scale_name(scale.name), "figures": figures, "labels": labels_text(group)}
    return _("{scale}: {figures} over {labels}", **values)


_ENOUGH = 30  # labels of a class, or their clusters, for a useful bootstrap interval


def card_files(card: JudgeCard, out: Path | None = None, lang: Language = "en") -> dict[str, str]:
    """Return all files of a certification, by name; `out` is their folder."""
    say = translator(lang)
    document = card_document(card, out)
    return {
        FILE: as_json(card, indent=2) + "\n",
        "judge_card.md": render_markdown(document, say),
        "judge_card.html": render_html(document, say),
    }


def card_document(card: JudgeCard, out: Path | None = None) -> doc.Document:
    """Return the judge report; `out` is its folder for commands."""
    checked = check_alone(card)
    missing = sorted(shortfalls(checked), key=lambda shortfall: not shortfall.failed)
    scales = sorted(card.scales, key=lambda scale: scale.overall.agreement.lowest)
    subject = (
        _("judge {judge}", judge=card.judge.file),
        card.judge.model or NO_MODEL,
        _("run {run}", run=card.runs[0]),
    )
    misses = [(scale, miss) for scale in scales for miss in scale.misses]
    missed = sum(scale.missed for scale in scales)
    shows = len(misses) > doc.EXAMPLES
    sections = (_scale_section(at, x, shows_misses=shows) for at, x in enumerate(scales, 1))
    return doc.shaped(
        _("Judge report"),
        joined(subject, " · "),
        verdict=_verdict(checked, missing),
        warnings=_warnings(card),
        steps=_steps(card, missing, out),
        table=_requirements(checked, scales, missing),
        examples=_examples(misses[: doc.EXAMPLES], missed),
        conditions=doc.Conditions(
            tuple((_state([one]), _("{reason}.", reason=one.text)) for one in missing[1:])
        ),
        sections=(_means(scales), *sections, _details(card)),
        version=card.app_version,
    )


def _state(missing: Sequence[Shortfall]) -> doc.State:
    if any(shortfall.failed for shortfall in missing):
        return "failed"
    return "inconclusive" if missing else "passed"


def _verdict(checked: CheckedCard, missing: Sequence[Shortfall]) -> doc.Verdict:
    """Return whether the judge meets the default requirements of the gates, with the worst scale and the evidence."""
    labels = checked.card.labels
    leads: list[Text] = [
        _("{what}: the judge is wrong on {wrong:,} of {n:,}.", what=what, wrong=wrong, n=figure.n)
        for scale in checked.card.scales
        for what, figure in classes(scale)
        if (wrong := round(figure.n * (1 - (figure.value or 0.0)))) > figure.n / 2
    ]
    if missing:
        kappa = _("Kappa: 1 is perfect agreement with the labels, 0 is no better than chance.")
        leads.append(kappa)
    others = len(missing) - 1
    more = n_("{n} more requirement is not met.", "{n} more requirements are not met.", n=others)
    evidence = _(
        "Evidence: {labels} (languages: {languages}). The limits are the defaults of the release gates.",
        labels=_labels_text(labels, labels.count - labels.unscored),
        languages=[LANGUAGES.get(name, name) for name in checked.languages] or _("none"),
    )
    leads += [*([more] if others > 0 else []), evidence, NO_RELEASE]
    state, weakest = _state(missing), checked.weakest()
    if weakest and not missing:
        text = _(
            "The judge passed: it is reliable enough for release gates. Its lowest agreement is on {scale}: {kappa}.",
            scale=scale_name(weakest[0].name),
            kappa=kappa_text(weakest[0].overall),
        )
    elif state == "failed":
        reason = missing[0].text
        text = _("The judge failed: do not use it in release gates ({reason}).", reason=reason)
    else:
        text = _(
            "The judge is unproven: too little evidence to use it in release gates ({reason}).",
            reason=missing[0].text,
        )
    return doc.Verdict(state, text, tuple(leads))


def _steps(card: JudgeCard, missing: Sequence[Shortfall], out: Path | None) -> Iterator[doc.Step]:
    if not missing:
        if out:
            command = f"gigamind compare BASELINE RUN --judge-card {out}"
            yield doc.Step(_("Use this report in the gates of a run with this judge"), command)
        return
    if not missing[0].failed and any(shortfall.rule == "agreement" for shortfall in missing):
        text = _("Label more items of the run, and certify the judge again.")
        if all(scale.headline is None for scale in card.scales if scale.overall.items):
            text = _("Evaluate more items, label them, and certify the judge again.")
    else:
        text = _("Change the judge or its model, evaluate again, and certify the new run.")
    yield doc.Step(text)


def _requirements(
    checked: CheckedCard, scales: Sequence[CardScale], missing: Sequence[Shortfall]
) -> doc.Table:
    """Return what the gates require, with the measured values: agreement first, the worst scale first."""
    need, rows = checked.requirements, list[tuple[doc.Cell, ...]]()

    def add(label: Text, figure: CardFigure, limit: str, rule: str, scale: str = "") -> None:
        own = [x for x in missing if (x.rule, x.scale) == (rule, scale)]
        rows.append((label, *_cells(figure), limit, doc.Result(_state(own))))

    for scale in scales:
        if scale.overall.items:
            graded = "quadratic_kappa" in scale.overall.figures
            kappa = FIGURES["quadratic_kappa" if graded else "cohen_kappa"]
            label = _("{scale} ({metric})", scale=scale_name(scale.name), metric=kappa)
            limit = f"≥ {share(need.min_agreement)}"
            add(label, scale.overall.agreement, limit, "agreement", scale.name)
    for scale in scales:
        if scale.flips and scale.flips.value is not None:
            label = _("{scale}: mean change when repeated", scale=scale_name(scale.name))
            add(label, scale.flips, f"≤ {share(need.max_flip_rate)}", "consistency", scale.name)
    attacks = checked.card.attacks
    if attacks and attacks.rate.value is not None:
        label = _("successful prompt injections")
        add(label, attacks.rate, f"≤ {share(need.max_attack_rate)}", "attacks")
    return doc.Table.of((_("requirement"), *_HEADS, _("limit"), _("result")), rows).filled()


_HEADS = (_("value"), _("95% CI"), _("items"), _("answers"))


def _cells(figure: CardFigure) -> tuple[doc.Cell, ...]:
    interval = doc.Interval(figure.low, figure.high)
    return doc.Proportion(figure.value), interval, doc.Count(figure.n), doc.Count(figure.clusters)


def _label_warnings(labels: CardLabels) -> Iterator[Text]:
    if labels.unscored:
        yield _(
            "The judge gave no verdict on {unscored} of {count} labelled items, which no metric includes. See"
            " errors.jsonl of the run.",
            unscored=labels.unscored,
            count=labels.count,
        )
    if labels.learned:
        yield _("Labels that the judge learned from, left out: {n:,}.", n=labels.learned)
    if labels.source == "dataset":
        yield _(
            "The labels come from the dataset and are not independent human judgements. Pass human labels with"
            " --labels."
        )


def _warnings(card: JudgeCard) -> Iterator[Text]:
    """Yield what limits the evidence, the most important first, each with what to do."""
    judge = card.judge
    yield from _label_warnings(card.labels)
    seen = {language for scale in card.scales for language in scale.by_language}
    for language in judge.languages or LANGUAGES:
        if seen and language not in seen:
            yield _(
                "No labelled item is in {language}, so it is unknown how accurate the judge is there. Label items in"
                " this language.",
                language=LANGUAGES.get(language, language),
            )
    for scale in card.scales:
        for what, figure in classes(scale):
            # Few labels in all are a shortfall.
            if figure.n and size(figure) < _ENOUGH <= size(scale.overall):
                yield _(
                    "{what}: only {labels}, so confidence intervals are imprecise. Label at least {least}.",
                    what=what,
                    labels=labels_text(figure),
                    least=_ENOUGH,
                )
    if card.attacks is None and judge.needs_card:
        yield _(
            "The judge was not tested with prompt-injection attacks. Run gigamind judge attack and pass its report"
            " with --attacks."
        )
    if len(card.runs) == 1 and judge.asks_a_model:
        yield _(
            "Only one run was given, so it is unknown whether the judge repeats its verdicts. Pass a second run of"
            " the same judge to gigamind judge certify."
        )


def _examples(misses: Sequence[tuple[CardScale, CardMiss]], missed: int) -> doc.Examples:
    return doc.Examples(_("Largest errors of the judge"), tuple(starmap(_example, misses)), missed)


def _example(scale: CardScale, miss: CardMiss) -> doc.Example:
    label, verdict = (
        share(value) if scale.kind == "graded" else ANSWERS["yes" if value else "no"]
        for value in (miss.label, miss.verdict)
    )
    values = {"scale": scale_name(scale.name), "label": label, "verdict": verdict}
    what = _("{scale}: label {label}, verdict {verdict}", **values)
    if miss.confidence is not None:
        stated = _("stated confidence {confidence}", confidence=share(miss.confidence))
        what = joined((what, stated), ", ")
    quotes = doc.Side(_("quotes"), tuple(map(doc.SideLine, miss.quotes)))
    return doc.Example(miss.id, miss.question, what, sides=(quotes,) if miss.quotes else ())


def _means(scales: Sequence[CardScale]) -> doc.Section | None:
    """Return the means over all items of the run, corrected with the labels."""
    known = [(scale, scale.headline) for scale in scales if scale.headline]
    if not known:
        return None
    groups: list[doc.Group] = []
    for scale, mean in known:
        judged = CardFigure.like(mean, value=mean.judged, n=mean.items, low=None, high=None)
        named = (
            (_("mean of the verdicts only (errors of the judge bias it)"), judged),
            (_("mean of the labels only"), mean.labelled),
            (_("verdicts corrected with the labels (PPI++)"), mean.corrected),
        )
        rows = tuple((name, *_cells(figure)) for name, figure in named)
        groups.append(doc.Group(rows, scale_name(scale.name)))
    text = _(
        "The corrected mean estimates the result if people had labelled every item. It is valid for labels of"
        " `gigamind label`, because it accounts for how items are drawn, and for a random sample of items or of whole"
        " answers. Weight of the verdicts (0: labels only): {weights}.",
        weights=[
            _("{name} {value}", name=scale_name(scale.name), value=f"{mean.weight:.2f}")
            for scale, mean in known
        ],
    )
    table = doc.Table((_("mean"), *_HEADS), tuple(groups)).filled()
    return doc.Section.closed("means", _("Corrected mean"), table, doc.Prose(text, faint=True))


def _scale_section(place: int, scale: CardScale, *, shows_misses: bool) -> doc.Section | None:
    if not scale.overall.items:
        return None
    blocks = list(_metrics(scale))
    if not scale.misses:
        blocks.append(doc.Prose(_("No verdict is far from its label.")))
    elif shows_misses:
        blocks.append(_examples([(scale, miss) for miss in scale.misses], scale.missed))
    title = _("Agreement: {scale}", scale=scale_name(scale.name))
    return doc.Section.closed(f"scale-{place}", title, *blocks)


def _metrics(scale: CardScale) -> Iterator[doc.Block]:
    """Yield all metrics of a scale, then by language."""
    figures, clusters = scale.overall.figures, scale.overall.clusters
    heads = (_("metric"), *_HEADS)
    caption = _(
        "The claims come from {clusters} answers. Claims of one answer are not independent, so confidence"
        " intervals are computed by resampling whole answers.",
        clusters=clusters,
    )
    rows = ((FIGURES[name], *_cells(figure)) for name, figure in figures.items())
    yield doc.Table.of(heads, rows, "" if clusters is None else caption).filled()
    if len(scale.by_language) > 1:
        groups: list[doc.Group] = []
        for language, group in scale.by_language.items():
            known = ((x, figure) for x, figure in group.figures.items() if figure.value is not None)
            rows = tuple((FIGURES[name], *_cells(figure)) for name, figure in known)
            groups.append(doc.Group(rows, LANGUAGES.get(language, language)))
        yield doc.Table(heads, tuple(groups), _("Metrics by language")).filled()


def _details(card: JudgeCard) -> doc.Section:
    judge, labels = card.judge, card.labels
    rows: list[tuple[Text, doc.Cell]] = [
        (_("judge"), f"{judge.file} ({judge.kind})"),
        (_("model"), judge.model or NO_MODEL),
        (_("judge fingerprint"), doc.Code(judge.fingerprint)),
        (_("labels"), f"{labels.name} ({labels.count}, sha256 {labels.sha256[:12]})"),
        (_("runs"), ", ".join(card.runs)),
        (_("dataset"), f"{card.dataset} (sha256 {card.dataset_hash[:12]})"),
        (_("created"), moment(card.created_at)),
        (_("gigamind version"), card.app_version),
        (_("random seed"), str(card.seed)),
    ]
    if judge.languages:
        rows.insert(3, (_("prompt languages"), ", ".join(judge.languages)))
    text = _(
        "This report is valid only for this judge and this model. A changed judge file, prompt, schema or model needs"
        " a new report."
    )
    return doc.Section.closed("run", _("Judge and data"), doc.Prose(text), doc.Facts(tuple(rows)))
