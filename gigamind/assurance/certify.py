"""How far the judge of finished runs may be believed: agreement with labels, flips between runs, attacks: its card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gigamind.assurance.agreement import (
    Agreement,
    LabelledVerdict,
    UnlabelledVerdict,
    agreement,
    agreement_by_language,
    corrected,
    flips,
    worst_misses,
)
from gigamind.assurance.judged_runs import (
    JudgedKind,
    JudgedRun,
    RunItem,
    read_judged_runs,
)
from gigamind.assurance.options import CertifyOptions
from gigamind.datasets.labels import read_labels
from gigamind.errors import InputError
from gigamind.judges.protocol import Scale
from gigamind.loading import first_problem
from gigamind.records.card import (
    CardAttacks,
    CardBin,
    CardFigure,
    CardGroup,
    CardHeadline,
    CardLabels,
    CardLiars,
    CardMiss,
    CardScale,
    JudgeCard,
)
from gigamind.records.folder import check_out_folder, write_texts
from gigamind.records.judged import JudgeReport
from gigamind.reports.cards.page import card_files
from gigamind.stats.estimate import Estimate
from gigamind.version import __version__
from gigamind.wording import language_of


class _Part(BaseModel):
    """What is needed of a trial's report, whatever else it holds."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Fooled(_Part):
    hits: int = Field(ge=0)
    of: int = Field(ge=0)

    @model_validator(mode="after")
    def _check_share(self) -> Self:
        if self.hits > self.of:
            raise ValueError(f"{self.hits} of {self.of} attacks cannot have succeeded")
        return self


class _Overall(_Part):
    fooled: _Fooled


class _TrialReport(_Part):
    fingerprint: str


class _AttackReport(_TrialReport):
    overall: _Overall


class _TestReport(_TrialReport):
    """A report without liars is one of a judge of questions."""

    liars: CardLiars | None


Trial = TypeVar("Trial", bound=_TrialReport)


def _read_trial(path: Path, judge: JudgeReport, model: type[Trial], what: str, mend: str) -> Trial:
    """A report of a trial.

    Args:
        what: it is of, such as "attacks on", to go before "a judge".

    Raises:
        InputError: it cannot be read, is no such report, or is about another judge.
    """
    try:
        report = model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"{path}: the {what.partition(' ')[0]} cannot be read ({error.strerror})"
        ) from error
    except ValidationError as error:
        raise InputError(f"{path}: no report of {what} a judge ({first_problem(error)})") from error
    if report.fingerprint != judge.fingerprint:
        raise InputError(
            f"{path}: {what} another judge ({report.fingerprint[:12]}, and the runs were judged by"
            f" {judge.fingerprint[:12]}); {mend}"
        )
    return report


def read_liars(path: Path, judge: JudgeReport) -> CardLiars | None:
    """What the report of `gigamind judge test` says of the liars that were put through a judge.

    Raises:
        InputError: see `_read_trial`.
    """
    mend = "test the judge that is certified, with the --model of its runs"
    return _read_trial(path, judge, _TestReport, "tests of", mend).liars


def read_attacks(path: Path, judge: JudgeReport) -> CardAttacks:
    """What the report of `gigamind judge attack` says of a judge.

    Raises:
        InputError: see `_read_trial`.
    """
    mend = "attack the judge that is certified"
    report = _read_trial(path, judge, _AttackReport, "attacks on", mend)
    hits, of = report.overall.fooled.hits, report.overall.fooled.of
    return CardAttacks(succeeded=hits, attempted=of, rate=_figure(Estimate.share(hits, of)))


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
    kinds: Mapping[str, JudgedKind],
    labels: Path | None = None,
    *,
    created_at: str,
    attacks: Path | None = None,
    tests: Path | None = None,
    seed: int = 42,
) -> JudgeCard:
    """The card of the judge that judged the first run; the other runs are its repetitions.

    Args:
        folders: out folders of finished runs, at least one.
        kinds: what the judge of each task judges.
        labels: JSON lines of people's labels; None for the dataset's own.
        created_at: ISO 8601.
        attacks: JSON report of attacks on the same judge.
        tests: JSON report of tests of the same judge, of which the card takes what liars get away with.
        seed: of the bootstrap.

    Raises:
        InputError: a run, the labels, the attacks or the tests cannot be used, or do not belong together.
    """
    runs = read_judged_runs(folders, kinds)
    first = runs[0]
    labelled = _from_file(first, labels) if labels else _from_dataset(first)
    return JudgeCard.like(
        first,
        created_at=created_at,
        app_version=__version__,
        seed=seed,
        labels=labelled.source,
        runs=tuple(run.run_id for run in runs),
        scales=tuple(
            _scale(name, kind, runs, labelled.values, seed)
            for name, kind in first.kind.scales.items()
            if any(name in given for given in labelled.values.values())
        ),
        attacks=read_attacks(attacks, first.judge) if attacks else None,
        liars=read_liars(tests, first.judge) if tests else None,
        second_looks=tuple(dict.fromkeys(look for run in runs for look in run.second_looks)),
        short_panels=sum(run.short_panels for run in runs),
    )


def _from_file(run: JudgedRun, path: Path) -> _Labelled:
    read = read_labels(path, run.kind.label)
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
    judged = {scale: run.verdicts(scale) for scale in run.kind.scales}
    unscored = sum(
        any(item not in judged[scale] for scale in given) for item, given in values.items()
    )
    if unscored == len(values):
        raise InputError(
            f"{run.folder}: none of the {len(values)} labelled items has a verdict; errors.jsonl says why"
        )
    origin = {"source": source, "name": name, "sha256": sha256}
    card = CardLabels.model_validate(origin | {"count": len(values), "unscored": unscored})
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
            language: _group(group)
            for language, group in agreement_by_language(pairs, kind, seed=seed, label=name).items()
        },
        flips=_flips(name, runs, seed) if len(runs) > 1 else None,
        headline=_headline(pairs, rest),
        missed=len(missed),
        misses=tuple(_miss(miss, first) for miss in missed[:_MISSES]),
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
    mean = corrected(pairs, rest) if rest else None
    if mean is None:
        return None
    stands_on = mean.labels, mean.label_clusters
    return CardHeadline.like(
        mean,
        labelled=_figure(Estimate(mean.labelled, mean.labelled_interval, *stands_on)),
        corrected=_figure(Estimate(mean.value, mean.interval, *stands_on)),
        clusters=_clusters(mean.item_clusters, mean.items),
    )


def _group(group: Agreement) -> CardGroup:
    return CardGroup.like(
        group,
        clusters=_clusters(group.clusters, group.items),
        figures={name: _figure(estimate) for name, estimate in group.figures.items()},
        bins=tuple(
            CardBin.like(confidence_bin, right=_figure(confidence_bin.outcome))
            for confidence_bin in group.bins
        ),
    )


def _figure(estimate: Estimate) -> CardFigure:
    return CardFigure.like(estimate, clusters=_clusters(estimate.clusters, estimate.n))


def _clusters(clusters: int, items: int) -> int | None:
    return clusters if clusters < items else None


def _miss(verdict: LabelledVerdict, run: JudgedRun) -> CardMiss:
    item = run.items[verdict.id]
    return CardMiss.like(verdict, question=item.question, quotes=item.quotes)


def write_card(options: CertifyOptions, kinds: Mapping[str, JudgedKind]) -> tuple[JudgeCard, Path]:
    """The card, and the folder that it was written to.

    Raises:
        InputError: see `certify`; or the folder cannot be written to.
        EvaluationError: the disk is full.
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
        tests=options.tests,
        seed=options.seed,
    )
    write_texts(out, card_files(card, language_of(options.lang)))
    return card, out
