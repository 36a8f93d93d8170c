"""Certifies the judge of finished runs: their verdicts and the labels in, a judge card out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gigamind import __version__
from gigamind.datasets.labels import read_labels
from gigamind.errors import InputError
from gigamind.evals.card_attacks import read_attacks
from gigamind.evals.judged_items import TASKS, RunItem
from gigamind.evals.judged_runs import JudgedRun, read_judged_runs
from gigamind.judges.certify import (
    Agreement,
    LabelledVerdict,
    Scale,
    UnlabelledVerdict,
    agreement,
    agreement_by_language,
    corrected,
    flips,
    worst_misses,
)
from gigamind.reports.cards.schema import (
    CardBin,
    CardFigure,
    CardGroup,
    CardHeadline,
    CardLabels,
    CardMiss,
    CardScale,
    JudgeCard,
)
from gigamind.stats.estimate import Estimate

_MISSES = 20
_FAR_OFF = {"binary": 1.0, "graded": 0.25}  # least distance from its label that makes a miss
_NAMED = 5


@dataclass(frozen=True, slots=True)
class _Labelled:
    """The labels of a certification, by item id and scale, and where they are from."""

    values: dict[str, dict[str, float]]
    source: CardLabels


def certify(
    folders: Sequence[Path],
    labels: Path | None = None,
    *,
    created_at: str,
    attacks: Path | None = None,
    seed: int = 42,
) -> JudgeCard:
    """The card of the judge that judged the first run; the other runs are its repetitions.

    Args:
        folders: out folders of finished runs, at least one.
        labels: JSON lines of people's labels; None for the dataset's own.
        created_at: ISO 8601.
        attacks: JSON report of attacks on the same judge.
        seed: of the bootstrap.

    Raises:
        InputError: a run, the labels or the attacks cannot be used, or do not belong together.
    """
    runs = read_judged_runs(folders)
    first = runs[0]
    labelled = _from_file(first, labels) if labels else _from_dataset(first)
    return JudgeCard(
        created_at=created_at,
        app_version=__version__,
        seed=seed,
        task=first.task,
        dataset=first.dataset,
        dataset_hash=first.dataset_hash,
        judge=first.judge,
        labels=labelled.source,
        runs=tuple(run.run_id for run in runs),
        scales=tuple(
            _scale(name, kind, runs, labelled.values, seed)
            for name, kind in TASKS[first.task].scales.items()
            if any(name in given for given in labelled.values.values())
        ),
        attacks=read_attacks(attacks, first.judge) if attacks else None,
    )


def _from_file(run: JudgedRun, path: Path) -> _Labelled:
    read = read_labels(path, TASKS[run.task].label)
    strangers = [name for name in read.values if name not in run.items and name not in run.failed]
    if strangers:
        named = ", ".join(f'"{name}" (line {read.lines[name]})' for name in strangers[:_NAMED])
        more = f" and {len(strangers) - _NAMED} more" if len(strangers) > _NAMED else ""
        raise InputError(
            f"{path}: {len(strangers)} of {len(read.values)} labels match no item of {run.folder}: {named}{more};"
            " label the items of this run"
        )
    values = {name: dict(given) for name, given in read.values.items()}
    return _labelled(run, values, "file", path.name, read.sha256)


def _from_dataset(run: JudgedRun) -> _Labelled:
    values = {item.id: dict(item.own_labels) for item in run.items.values() if item.own_labels}
    if not values:
        raise InputError(
            f"{run.folder}: its dataset has no labels of its own; give some with --labels"
        )
    return _labelled(run, values, "dataset", run.dataset, run.dataset_hash)


def _labelled(
    run: JudgedRun, values: dict[str, dict[str, float]], source: str, name: str, sha256: str
) -> _Labelled:
    judged = {scale: run.verdicts(scale) for scale in TASKS[run.task].scales}
    unscored = sum(
        any(item not in judged[scale] for scale in given) for item, given in values.items()
    )
    if unscored == len(values):
        raise InputError(
            f"{run.folder}: none of the {len(values)} labelled items has a verdict; errors.jsonl says why"
        )
    told = {"source": source, "name": name, "sha256": sha256}
    card = CardLabels.model_validate(told | {"count": len(values), "unscored": unscored})
    return _Labelled(values, card)


def _scale(
    name: str,
    kind: Scale,
    runs: Sequence[JudgedRun],
    labels: dict[str, dict[str, float]],
    seed: int,
) -> CardScale:
    first, judged = runs[0], runs[0].verdicts(name)
    pairs = [
        _pair(first.items[item], given[name], judged[item])
        for item, given in labels.items()
        if name in given and item in judged
    ]
    rest = [
        UnlabelledVerdict(item, verdict, first.items[item].cluster)
        for item, verdict in judged.items()
        if name not in labels.get(item, {})
    ]
    missed = worst_misses(pairs, len(pairs), least=_FAR_OFF[kind])
    return CardScale(
        name=name,
        kind=kind,
        overall=_group(agreement(pairs, kind, seed=seed, label=name)),
        by_language={
            language: _group(found)
            for language, found in agreement_by_language(pairs, kind, seed=seed, label=name).items()
        },
        flips=_flips(name, runs, seed) if len(runs) > 1 else None,
        headline=_headline(pairs, rest),
        missed=len(missed),
        misses=tuple(_miss(one, first) for one in missed[:_MISSES]),
    )


def _pair(item: RunItem, label: float, verdict: float) -> LabelledVerdict:
    return LabelledVerdict(item.id, label, verdict, item.language, item.confidence, item.cluster)


def _flips(scale: str, runs: Sequence[JudgedRun], seed: int) -> CardFigure:
    """A claim that a model cut otherwise in another run is another item, whatever its number."""
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
    return _figure(flips(repeated, clusters, seed=seed, label=scale))


def _headline(
    pairs: Sequence[LabelledVerdict], rest: Sequence[UnlabelledVerdict]
) -> CardHeadline | None:
    found = corrected(pairs, rest) if rest else None
    if found is None:
        return None
    stands_on = found.labels, found.label_clusters
    return CardHeadline(
        judged=found.judged,
        labelled=_figure(Estimate(found.labelled, found.labelled_interval, *stands_on)),
        corrected=_figure(Estimate(found.value, found.interval, *stands_on)),
        weight=found.weight,
        items=found.items,
        clusters=_clusters(found.item_clusters, found.items),
    )


def _group(found: Agreement) -> CardGroup:
    bins = (
        CardBin(low=b.low, high=b.high, confidence=b.confidence, right=_figure(b.outcome))
        for b in found.bins
    )
    return CardGroup(
        items=found.items,
        clusters=_clusters(found.clusters, found.items),
        positive=found.positive,
        figures={name: _figure(estimate) for name, estimate in found.figures.items()},
        bins=tuple(bins),
    )


def _figure(estimate: Estimate) -> CardFigure:
    interval = estimate.interval
    return CardFigure(
        value=estimate.value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n=estimate.n,
        clusters=_clusters(estimate.clusters, estimate.n),
    )


def _clusters(clusters: int, items: int) -> int | None:
    return clusters if clusters < items else None


def _miss(one: LabelledVerdict, run: JudgedRun) -> CardMiss:
    item = run.items[one.id]
    return CardMiss(
        id=one.id,
        question=item.question,
        language=one.language,
        label=one.label,
        verdict=one.verdict,
        confidence=one.confidence,
        quotes=item.quotes,
    )
