"""Certify the judge of finished runs: agreement with labels, test-retest consistency and attacks, as a judge report."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from gigamind.assurance.judged_runs import JudgedKind, JudgedRun, read_judged_runs
from gigamind.assurance.label_file import (
    choices_of,
    is_label_file,
    labels_by_scale,
    read_plan,
    read_rows,
)
from gigamind.assurance.options import CertifyOptions
from gigamind.assurance.scenarios import AttackReport
from gigamind.datasets.labels import read_labels
from gigamind.errors import InputError
from gigamind.i18n import _, language_of
from gigamind.judges.protocol import Scale
from gigamind.loading import read_bytes
from gigamind.records import card as cards
from gigamind.records.folder import check_out_folder, read_report, write_texts
from gigamind.records.judged import JudgeReport
from gigamind.reports.card import card_files
from gigamind.reports.document import listed
from gigamind.stats import intervals
from gigamind.stats.agreement import (
    binary_agreement,
    corrected_mean,
    graded_agreement,
    reliability,
)
from gigamind.stats.stratified import stratified_mean
from gigamind.version import __version__

_PAIR = 2


@dataclass(frozen=True, slots=True)
class _LabelledVerdict:
    """An item with a verdict and a label."""

    id: str
    label: float
    verdict: float
    language: str | None
    confidence: float | None = None  # probability in [0, 1] of the verdict, if the judge states one
    cluster: str | None = None  # None if the item is independent of all others
    weight: float = 1.0  # inverse chance of being labelled, relative to other items


@dataclass(frozen=True, slots=True)
class _UnlabelledVerdict:
    """An item without a label.  Its cluster (None if independent) can contain labelled items."""

    id: str
    verdict: float
    cluster: str | None = None


def _agreement(
    verdicts: Sequence[_LabelledVerdict], scale: Scale, *, seed: int, label: str
) -> cards.CardGroup:
    """Return the agreement metrics, with `brier` and `calibration_error` if a binary judge states confidences."""
    labels = _vector([verdict.label for verdict in verdicts])
    judged = _vector([verdict.verdict for verdict in verdicts])
    groups = _groups(verdicts)
    weights = _vector([verdict.weight for verdict in verdicts])
    items, clusters = len(verdicts), _clusters(intervals.count(groups), len(verdicts))
    given: dict[str, Any] = {"seed": seed, "label": label, "clusters": groups, "weights": weights}
    positive: int | None = None
    bins: tuple[cards.CardBin, ...] = ()
    if scale == "graded":
        figures = graded_agreement(labels, judged, **given)
    else:
        figures = binary_agreement(labels > 0, judged > 0, **given)
        positive = int((labels > 0).sum())
        if confident := [verdict for verdict in verdicts if verdict.confidence is not None]:
            calibration, reliable = reliability(
                _vector([verdict.confidence or 0.0 for verdict in confident]),
                np.array([verdict.label == verdict.verdict for verdict in confident]),
                seed=seed,
                label=label,
                clusters=_groups(confident),
            )
            figures |= calibration
            bins = tuple(cards.CardBin.like(x, right=_figure(x.outcome)) for x in reliable)
    return cards.CardGroup(
        items=items,
        clusters=clusters,
        positive=positive,
        figures={name: _figure(estimate) for name, estimate in figures.items()},
        bins=bins,
    )


def _flips(
    runs: Sequence[Mapping[str, float]],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
    label: str,
) -> intervals.Estimate:
    """Estimate how much repeated runs differ: the mean absolute difference of an item's verdicts, in [0, 1].

    On a binary scale this is the probability that an item's verdict flips.  Items judged by fewer than two runs are
    left out, and items without an entry in `clusters` are independent.
    """
    ids = dict.fromkeys(item for run in runs for item in run)
    repeated = {item: [run[item] for run in runs if item in run] for item in ids}
    apart = {
        item: fmean(abs(a - b) for a, b in combinations(values, 2))
        for item, values in repeated.items()
        if len(values) >= _PAIR
    }
    if not apart:
        return intervals.Estimate(None, None, 0, 0)
    groups = intervals.clusters_of((clusters or {}).get(item, item) for item in apart)
    column = _vector(list(apart.values()))[:, np.newaxis]
    (interval,) = intervals.bounded_means(column, seed=seed, label=label, clusters=groups)
    return intervals.Estimate(fmean(apart.values()), interval, len(apart), intervals.count(groups))


def _worst_misses(
    verdicts: Sequence[_LabelledVerdict], *, least: float
) -> tuple[_LabelledVerdict, ...]:
    """Return the verdicts at least `least` from their label, by distance, then by confidence."""
    missed = (verdict for verdict in verdicts if abs(verdict.verdict - verdict.label) >= least)
    order = sorted(missed, key=lambda v: (-abs(v.verdict - v.label), -(v.confidence or 0.0), v.id))
    return tuple(order)


def _groups(verdicts: Sequence[_LabelledVerdict | _UnlabelledVerdict]) -> intervals.Clusters:
    return intervals.clusters_of(
        verdict.id if verdict.cluster is None else verdict.cluster for verdict in verdicts
    )


def _vector(values: Sequence[float]) -> intervals.Matrix:
    return np.array(values, dtype=np.float64)


def _read_attacks(path: Path | None, judge: JudgeReport) -> cards.CardAttacks | None:
    """Read the report of attacks; raise InputError if it is unusable or about another judge."""
    if path is None:
        return None
    fix = _("Run `gigamind judge attack` with the judge that you certify.")
    report = read_report(path, AttackReport, fix)
    if report.fingerprint != judge.fingerprint:
        raise InputError(
            "{file}: this report is about another judge: its fingerprint is {other:.12}, but the judge of the"
            " runs has {judge:.12}. {fix}",
            file=path,
            other=report.fingerprint,
            judge=judge.fingerprint,
            fix=fix,
        )
    fooled = report.overall.fooled
    rate = cards.CardFigure.like(fooled, value=fooled.rate, n=fooled.of)
    return cards.CardAttacks(succeeded=fooled.hits, attempted=fooled.of, rate=rate)


_MISSES = 20
_FAR_OFF = {"binary": 1.0, "graded": 0.25}  # distance from the label from which a verdict is a miss
_NAMED = 5

_Labels = dict[str, dict[str, float]]  # item -> scale -> label


def certify(
    folders: Sequence[Path],
    kinds: Mapping[str, JudgedKind],
    labels: Path | None = None,
    *,
    created_at: str,
    attacks: Path | None = None,
    seed: int = 42,
) -> cards.JudgeCard:
    """Return the report on the judge of the first run; the other runs are its repetitions.

    Args:
        folders: Output folders of finished runs, at least one.
        labels: JSON lines of human labels; None for the labels of the dataset.
        created_at: ISO 8601 time.
        attacks: JSON report of attacks on the same judge.

    Raises:
        InputError: A run, the labels or the attacks cannot be used or do not match.
    """
    runs = read_judged_runs(folders, kinds)
    first = runs[0]
    values, source, drawn = labels_of(first, labels)
    return cards.JudgeCard(
        task=first.report.task,
        dataset=first.report.dataset,
        dataset_hash=first.report.dataset_hash,
        judge=first.judge,
        created_at=created_at,
        app_version=__version__,
        seed=seed,
        labels=source,
        runs=tuple(run.report.run_id for run in runs),
        scales=tuple(
            _scale(name, kind, runs, values, drawn=drawn, seed=seed)
            for name, kind in first.kind.scales.items()
            if any(name in given for given in values.values())
        ),
        attacks=_read_attacks(attacks, first.judge),
        second_looks=tuple(dict.fromkeys(look for run in runs for look in run.second_looks)),
    )


def labels_of(
    run: JudgedRun, path: Path | None
) -> tuple[_Labels, cards.CardLabels, dict[str, int] | None]:
    """Return the labels of a file, by default of the dataset, their origin, and the stratum of each drawn unit.

    Labels that the judge of the run has learned from are left out. The strata are None for labels drawn at random.

    Raises:
        InputError: There are none, or they do not match the run.
    """
    if path and is_label_file(path):
        return _from_session(run, path)
    return *(_from_file(run, path) if path else _from_dataset(run)), None


def _from_file(run: JudgedRun, path: Path) -> tuple[_Labels, cards.CardLabels]:
    read = read_labels(path, run.kind.label)
    unknown = [name for name in read.values if name not in run.items and name not in run.failed]
    if unknown:
        named = [_('"{item}" (line {line})', item=name, line=read.lines[name]) for name in unknown]
        raise InputError(
            "{file}: {unknown} of {total} labels belong to items that are not in the run {run}: {items}. Label the"
            " items of this run.",
            file=path,
            unknown=len(unknown),
            total=len(read.values),
            run=run.folder,
            items=listed(named, _NAMED),
        )
    values = {name: dict(given) for name, given in read.values.items()}
    return _labelled(run, values, "file", path.name, read.sha256)


def _from_session(
    run: JudgedRun, path: Path
) -> tuple[_Labels, cards.CardLabels, dict[str, int] | None]:
    """Return the labels of `gigamind label`, and the stratum of each unit; None if they were drawn at random.

    Only drawn units count: labels that people added elsewhere are no sample.
    """
    plan, choices = read_plan(path), choices_of(read_rows(path), run.units)
    if plan.dataset_hash != run.report.dataset_hash or not choices.agreed:
        raise InputError(
            "{file}: none of these labels belongs to the answers of {run}. Label this run with `gigamind label`.",
            file=path,
            run=run.folder,
        )
    sha256 = hashlib.sha256(read_bytes(path, _("the file of labels"))).hexdigest()
    drawn = {
        name: plan.strata.get(unit.id, -1)
        for unit in run.units
        for name in (unit.id, *(task.id for task in unit.tasks))
    }
    found = labels_by_scale(choices.agreed, run.units)
    values, source = _labelled(run, found, "file", path.name, sha256)
    given = sum(own.keys() != {"correctness"} for own in values.values())  # the rest is computed
    return values, source.model_copy(update={"count": given}), None if plan.random else drawn


def _from_dataset(run: JudgedRun) -> tuple[_Labels, cards.CardLabels]:
    values = {item.id: dict(item.own_labels) for item in run.items.values() if item.own_labels}
    if not values:
        raise InputError(
            "{run}: the dataset of this run has no human labels. Pass a file of labels with --labels.",
            run=run.folder,
        )
    return _labelled(run, values, "dataset", run.report.dataset, run.report.dataset_hash)


def _labelled(
    run: JudgedRun, values: _Labels, source: str, name: str, sha256: str
) -> tuple[_Labels, cards.CardLabels]:
    learned = set(run.judge.learned_from)
    items = {key: run.items[key].cluster if key in run.items else key for key in values}
    kept = {key: given for key, given in values.items() if items[key] not in learned}
    if not kept:
        raise InputError(
            "{run}: the judge has learned from all of these labels, so they cannot certify it. Label more items.",
            run=run.folder,
        )
    left_out, values = len(values) - len(kept), kept
    judged = {scale: run.verdicts(scale) for scale in run.kind.scales}
    known = {scale for scale, verdicts in judged.items() if verdicts}  # others are not measured
    unscored = sum(
        not known & given.keys() or any(item not in judged[scale] for scale in known & given.keys())
        for item, given in values.items()
    )
    if unscored == len(values):
        raise InputError(
            "{run}: the judge gave no verdict on any labelled item ({n}). See errors.jsonl for the reasons.",
            n=len(values),
            run=run.folder,
        )
    origin = {"source": source, "name": name, "sha256": sha256}
    counts = {"count": len(values), "unscored": unscored, "learned": left_out}
    return values, cards.CardLabels.model_validate(origin | counts)


def _scale(
    name: str,
    kind: Scale,
    runs: Sequence[JudgedRun],
    labels: _Labels,
    *,
    drawn: Mapping[str, int] | None,
    seed: int,
) -> cards.CardScale:
    first, judged = runs[0], runs[0].verdicts(name)
    both = [key for key, given in labels.items() if name in given and key in judged]
    weights = weights_of(both, judged, drawn)
    pairs = [
        _LabelledVerdict(
            key,
            labels[key][name],
            judged[key],
            item.language,
            item.confidence,
            item.cluster,
            weights.get(key, 1.0),
        )
        for key in both
        if (item := first.items[key])
    ]
    rest = [
        _UnlabelledVerdict(item, verdict, first.items[item].cluster)
        for item, verdict in judged.items()
        if name not in labels.get(item, {})
    ]
    missed = _worst_misses(pairs, least=_FAR_OFF[kind])
    return cards.CardScale(
        name=name,
        kind=kind,
        overall=_agreement(pairs, kind, seed=seed, label=name),
        by_language={
            language: _agreement(own, kind, seed=seed, label=f"{name} {language}")
            for language, own in intervals.sliced(
                pairs, lambda pair: [pair.language or None]
            ).items()
        },
        flips=_flips_of_claims(name, runs, seed) if len(runs) > 1 else None,
        headline=_headline(pairs, rest, drawn),
        missed=len(missed),
        misses=tuple(
            cards.CardMiss.like(miss, question=item.question, quotes=item.quotes)
            for miss in missed[:_MISSES]
            if (item := first.items[miss.id])
        ),
    )


def _flips_of_claims(scale: str, runs: Sequence[JudgedRun], seed: int) -> cards.CardFigure:
    """Compare only claims with the same text, because another run can split an answer differently."""
    known = runs[0].items
    clusters = {item.id: item.cluster for item in known.values()}
    repeated = [
        {
            name: verdict
            for name, verdict in run.verdicts(scale).items()
            if name in known and run.items[name].question == known[name].question
        }
        for run in runs
    ]
    return _figure(_flips(repeated, clusters, seed=seed, label=scale))


def weights_of(
    labelled: Sequence[str], judged: Collection[str], drawn: Mapping[str, int] | None
) -> dict[str, float]:
    """Return the inverse chance of being labelled for each labelled item, with mean 1; empty if all are equal."""
    if drawn is None:
        return {}
    sizes, used = (Counter(drawn[item] for item in some) for some in (judged, labelled))
    return {
        item: sizes[drawn[item]] / used[drawn[item]] * len(labelled) / len(judged)
        for item in labelled
    }


def _headline(
    pairs: Sequence[_LabelledVerdict],
    rest: Sequence[_UnlabelledVerdict],
    drawn: Mapping[str, int] | None,
) -> cards.CardHeadline | None:
    """Return the mean verdict of all items, corrected by the labels; None with labels in fewer than two clusters."""
    if not rest:
        return None
    labels, clusters = _vector([pair.label for pair in pairs]), _groups([*pairs, *rest])
    judged, others = ([one.verdict for one in some] for some in (pairs, rest))
    mean = corrected_mean(labels, _vector(judged), _vector(others), clusters=clusters)
    if mean is None:
        return None
    counts = mean.labels, mean.label_clusters
    value, interval, weight = mean.value, mean.interval, mean.weight
    if drawn is not None:
        stratified = stratified_mean(
            labels,
            _vector([*judged, *others]),
            np.arange(len(pairs)),
            np.array([drawn[one.id] for one in (*pairs, *rest)]),
            clusters,
        )
        if stratified is None:
            return None
        value, interval, weight = stratified.value, stratified.interval, stratified.weight
    return cards.CardHeadline.like(
        mean,
        labelled=_figure(intervals.Estimate(mean.labelled, mean.labelled_interval, *counts)),
        corrected=_figure(intervals.Estimate(value, interval, *counts)),
        weight=weight,
        clusters=_clusters(mean.item_clusters, mean.items),
    )


def _figure(estimate: intervals.Estimate) -> cards.CardFigure:
    return cards.CardFigure.like(estimate, clusters=_clusters(estimate.clusters, estimate.n))


def _clusters(clusters: int, items: int) -> int | None:
    return clusters if clusters < items else None


def write_card(
    options: CertifyOptions, kinds: Mapping[str, JudgedKind]
) -> tuple[cards.JudgeCard, Path]:
    """Write the judge report; return it and its folder.

    Raises:
        InputError: See `certify`, or the folder cannot be written to.
        EvaluationError: The disk is full.
    """
    now = datetime.now(UTC)
    out = options.out or Path("eval/cards") / now.astimezone().strftime("%Y%m%d-%H%M%S")
    check_out_folder(out)
    card = certify(
        options.runs,
        kinds,
        options.labels,
        created_at=now.isoformat(timespec="seconds"),
        attacks=options.attacks,
        seed=options.seed,
    )
    write_texts(out, card_files(card, out, language_of(options.lang)))
    return card, out
