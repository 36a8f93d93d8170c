"""The result of comparing two runs: `compare.py` makes it, gates and reports read it (seed 6.2 and 7).

`mismatches` are the differences other than the measured values, and which comparisons they rule out.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any, Literal

from pydantic import BaseModel, Field

from gigamind.choices import Relaxable
from gigamind.errors import InputError
from gigamind.i18n import Message, Text, _, joined
from gigamind.metrics.table import use_of
from gigamind.records.judged import Report
from gigamind.release.model import (
    Checks,
    EvalSnapshot,
    SliceName,
    SnapshotHit,
    Speed,
    checks_of,
)
from gigamind.stats.paired import ALPHA, MIN_PAIRS

Snapshot = EvalSnapshot[Any, Any]
_COMPARE_VERSION = "1.2"  # 1.1 lacked metrics of one run, and gave verdicts over changed notes
_DETAIL = 80  # characters
Severity = Literal["refuse", "no-verdict", "no-checks", "warn"]


class Mismatch(BaseModel, frozen=True, extra="forbid"):
    """One difference between two runs, other than the measured values.

    Attributes:
        severity: "refuse": metrics measure different things; "no-verdict": gates do not apply; "no-checks": the
            checklist is not compared; "warn": everything is compared.
        meaning: what differs, what follows and how to fix it.
        detail: what differs, with both values.
        relaxed_by: the key of `relax` in gates.toml that allows this difference; None if nothing does.
    """

    what: str
    severity: Severity
    meaning: Text
    relaxed_by: Relaxable | None = None
    detail: Text = ""


def detailed(mismatch: Mismatch, *, most: float = _DETAIL) -> Text:
    """Return what differs between two runs, with both values if they have at most so many characters."""
    what = WHAT.get(mismatch.what, mismatch.what)
    if not mismatch.detail or len(mismatch.detail) > most:
        return what
    return _("{what} ({detail})", what=what, detail=mismatch.detail)


def relaxation(mismatch: Mismatch) -> Message:
    """Return the note that the policy allows a difference of the runs."""
    return _(
        "Allowed difference between the runs: {what}. --changed {key} or [comparable] in gates.toml allows it.",
        what=detailed(mismatch, most=inf),
        key=mismatch.relaxed_by,
    )


class MetricChange(Report):
    """One metric over the items that both runs measured; if only one run measured it, over that run's items.

    Attributes:
        n: number of items that both runs measured.
        difference: current - baseline.
        low, high: its interval (BCa bootstrap), 95 % by default; null for a ratio that is not a mean over items. Too
            narrow with fewer than six changed items: pages show `interval`.
        p_value: of the paired test; null if no test fits.
        p_adjusted: Holm-adjusted over all metrics of this comparison.
        same_as: an earlier metric with the same difference on each item; Holm counts the two as one test.
        detectable: the smallest difference that this number of items shows with 80 % power; null if unknown.
        improved, worse: items on which the current run is better, worse.
        changed: items that differ; for a ratio perhaps more than `improved` and `worse` together.
        baseline_n, current_n: items that each run measured, among the shared items.
    """

    metric: str
    n: int
    baseline: float | None
    current: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    same_as: str | None = Field(default=None, exclude_if=lambda name: name is None)
    detectable: float | None = None
    improved: int = 0
    worse: int = 0
    changed: int = 0
    baseline_n: int = 0
    current_n: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the interval if enough items changed for the test to find a difference, else None."""
        if self.low is None or self.high is None or self.changed < MIN_PAIRS:
            return None
        return self.low, self.high

    @property
    def is_better(self) -> bool | None:
        """Return whether the metric is significantly better (True) or worse (False); None if neither or undirected."""
        if self.interval is None or self.p_adjusted is None or self.p_adjusted >= ALPHA:
            return None
        if use_of(self.metric).undirected:
            return None
        low, high = self.interval
        if low <= 0 <= high:
            return None
        return (low > 0) is not use_of(self.metric).lower

    @property
    def drop(self) -> float | None:
        """Return by how much it got worse; negative if it got better.  Rounded, so that 0.9 - 0.88 is 0.02."""
        if self.difference is None:
            return None
        return round(self.difference if use_of(self.metric).lower else -self.difference, 12)


class ComparedItem(Report):
    """An item: a query, a note or a question."""

    id: str
    text: str
    expected_notes: tuple[str, ...]


class ItemChange(ComparedItem):
    """One item whose result differs from the baseline; rankings are null for a task without them."""

    change: Literal["improved", "worse"]
    what: Text
    baseline_ranking: tuple[SnapshotHit, ...] | None
    current_ranking: tuple[SnapshotHit, ...] | None


class LostItem(ComparedItem):
    """An item that this run could not evaluate; its errors.jsonl has the reason."""


class SpeedChange(Report):
    """A time in milliseconds; null if a run did not measure it.

    Attributes:
        ratio: current / baseline, in units of the load; null unless both have it.  `low`, `high`: its 99 % interval.
        query_ms: mean time of the baseline's timed queries.
        of_system: the time is that of another system, called over a network or in its own process.
        of_file: the other system is known from a run file, which has no times.
    """

    name: Speed
    baseline_ms: float | None
    current_ms: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    passes: int = 0
    baseline_passes: int = 0
    query_ms: float | None = None
    of_system: bool = False
    of_file: bool = False


class RunName(Report):
    """Identifies a run."""

    run_id: str
    created_at: str
    app_version: str
    git_commit: str | None


class Comparison(Report):
    """compare.json, without the verdict of the gates.

    Attributes:
        shared: number of items that both runs evaluated; all metrics are over these.
        lost: items that the baseline evaluated and the current run did not, although it drew the same sample.
        unjudged: shared items with a verdict in the baseline and none in the current run.
        gone: shared items whose expected passage was in its note in the baseline and no longer is.
        checks: whether checklist results are compared; "none" if neither run has any.
        unchecked: shared items that were checked in the baseline and not in the current run.
        unchanged: number of shared items with the same result.
        changes: items with another result, worst first.
        worse_in: a slice that contains all items that got worse, if chance does not explain that.
        figures: metrics of the current run over all its items.
        by_words: the judge of the current run compares words, not meaning, and calls no model.
    """

    version: Literal["1.2"] = _COMPARE_VERSION
    task: str
    baseline: RunName
    current: RunName
    mismatches: tuple[Mismatch, ...]
    shared: int
    only_baseline: int
    only_current: int
    lost: tuple[LostItem, ...]
    unjudged: tuple[LostItem, ...] = ()
    gone: tuple[LostItem, ...] = ()
    checks: Checks = "none"
    unchecked: tuple[LostItem, ...] = ()
    metrics: tuple[MetricChange, ...]
    speed: tuple[SpeedChange, ...]
    unchanged: int
    changes: tuple[ItemChange, ...]
    worse_in: SliceName | None = None
    figures: dict[str, float] = Field(default={})
    by_words: bool = Field(default=False, exclude_if=lambda by_words: not by_words)

    @property
    def items(self) -> int:
        """Return the number of items that the current run evaluated."""
        return self.shared + self.only_current

    def metric(self, name: str) -> MetricChange | None:
        """Return the metric with that name, such as `search.mrr`; None if there is none."""
        return next((change for change in self.metrics if change.metric == name), None)

    def changed(self, way: Literal["improved", "worse"]) -> list[ItemChange]:
        """Return the items that changed in this way, in the order of `changes`."""
        return [change for change in self.changes if change.change == way]


def mismatches(baseline: Snapshot, current: Snapshot) -> tuple[Mismatch, ...]:
    """Return all differences of two runs, the most serious first; InputError if the tasks differ."""
    check_task(baseline, current.task)
    return tuple(_differences(baseline, current))


def checklists(baseline: Snapshot, current: Snapshot) -> tuple[str, str]:
    """Return the fingerprints of both checklists; "" for a run without checks."""
    task = current.kind
    return task.checklist(baseline), task.checklist(current)


def _differences(baseline: Snapshot, current: Snapshot) -> Iterator[Mismatch]:  # noqa: C901  one case a difference
    task = current.kind
    if baseline.dataset_hash != current.dataset_hash:
        same = _same_questions(baseline, current)
        yield _mismatch("recorded answers" if same else "dataset", "refuse")
    if baseline.judge_fingerprint != current.judge_fingerprint:
        yield _mismatch("judge", "refuse")
    if embedders := _embedders(baseline, current):
        yield _mismatch("embedding model", "refuse", embedders)
    settings = _changed(_BEFORE | baseline.config, _BEFORE | current.config, task.settings)
    if _system(baseline) != _system(current):
        names = _pair(_system_name(baseline), _system_name(current))
        systems = (run.environment.system for run in (baseline, current))
        can_be_named = all(system and system.kind != "run" for system in systems)
        yield _open("system", "settings", names, _SAME_SYSTEM if can_be_named else "")
    elif settings:
        yield _open(_SETTINGS[current.task], "settings", settings)
    if served := _changed(task.models(baseline.metrics), task.models(current.metrics)):
        yield _open("model version", "models", served)
    # Without samples, the seed has no effect.
    is_sample = any(run.config.get("sample") is not None for run in (baseline, current))
    if drawn := _changed(baseline.config, current.config, _DRAWN if is_sample else ()):
        yield _open("sample", "sample", drawn)
    notes = [(run.notes_hash, run.notes_hash_mode) for run in (baseline, current)]
    if notes[0] != notes[1]:
        yield _open("notes", "notes")
    if baseline.hardware.hash != current.hardware.hash:
        cpus = _pair(baseline.hardware.cpu, current.hardware.cpu)
        yield _open("hardware", "hardware", cpus)
    if checks_of(checklists(baseline, current)) not in {"none", "compared"}:
        yield _mismatch("checklist", "no-checks")
    if baseline.environment.rag_schema_version != current.environment.rag_schema_version:
        yield _mismatch("index schema", "warn")


_SAME_SYSTEM = _(
    "If this is the same system at a new address, pass the same --system-name NAME in both runs."
)
_EFFECTS: Mapping[str, Message] = {
    "dataset": _("A change of a metric may come from the dataset and not from the system."),
    "recorded answers": _(
        "To compare the answers of two systems, use one dataset and give the answers of each system with"
        " `--system run:FILE`."
    ),
    "sample": _("Items outside the samples may have got worse unnoticed."),
    "notes": _("A change of a metric may come from the notes and not from the system."),
    "hardware": _("Their speed is not compared."),
    "checklist": _(
        "All other metrics are compared. To compare the checklist results, evaluate both runs with one --checklist."
    ),
    "index schema": _("Chunks, tokens or scores may differ."),
}


def _mismatch(
    what: str,
    severity: Severity,
    detail: Text = "",
    key: Relaxable | None = None,
    effect: Text = "",
) -> Mismatch:
    differ = _("The runs differ in {what}.", what=WHAT[what])
    if detail:
        differ = _("The runs differ in {what} ({detail}).", what=WHAT[what], detail=detail)
    effect = effect or _EFFECTS.get(what, "")
    texts = [differ, *([effect] if effect else [])]
    if severity == "refuse":
        texts.append(_("Create a new baseline."))
    if key:
        fix = _(
            "If the change is intentional, make this run the baseline (`gigamind baseline promote --force`) or"
            " rerun with `--changed {key}`.",
            key=key,
        )
        texts.append(fix)
    meaning = joined(texts, " ")
    return Mismatch(what=what, severity=severity, meaning=meaning, relaxed_by=key, detail=detail)


def _open(what: str, key: Relaxable, detail: Text = "", effect: Text = "") -> Mismatch:
    return _mismatch(what, "no-verdict", detail, key, effect)


WHAT: Mapping[str, Message] = {
    "dataset": _("dataset"),
    "recorded answers": _("recorded answers"),
    "judge": _("judge"),
    "checklist": _("checklist"),
    "index schema": _("index schema"),
    "suggesting settings": _("suggestion settings"),
    "retrieval settings": _("retrieval settings"),
    "answering settings": _("answering settings"),
    "model version": _("model version"),
    "sample": _("sample"),
    "notes": _("notes"),
    "hardware": _("hardware"),
    "embedding model": _("embedding model"),
    "system": _("system"),
}
"""Labels of `Mismatch.what`."""
_SETTINGS = {
    "search": "retrieval settings",
    "links": "suggesting settings",
    "answers": "answering settings",
}


_DRAWN = ("sample", "seed")
_WITHOUT_MODEL = ("mode", "semantic")  # settings that turn the embedding model on or off
_BEFORE = {  # behaviour of runs older than an option
    "fusion": "weighted",
    "title_weight": 0.1,
    "chunk_chars": 800,
    "evidence_notes": 3,
    "context_notes": 5,
    "context_chars": 12_000,
}


def _same_questions(baseline: Snapshot, current: Snapshot) -> bool:
    """Return whether both runs evaluate answers recorded in their datasets, to the same questions."""
    task = current.kind
    if not (task.is_recorded(baseline) and task.is_recorded(current)):
        return False
    questions = [
        {entry.id: task.shown(entry).text for entry in run.items} for run in (baseline, current)
    ]
    return questions[0] == questions[1]


def _system(run: Snapshot) -> str:
    return run.environment.system.fingerprint if run.environment.system else ""


def _system_name(run: Snapshot) -> Text:
    return run.environment.system.name if run.environment.system else "builtin"


def _pair(before: Text, after: Text) -> Message:
    return _("{before} -> {after}", before=before, after=after)


def _embedders(baseline: Snapshot, current: Snapshot) -> Text:
    """Return both embedding models if one system used two; "" otherwise, also if settings turned one off."""
    before, after = (run.environment.embedding_model for run in (baseline, current))
    if before == after or _system(baseline) != _system(current):
        return ""
    is_setting = any(baseline.config.get(key) != current.config.get(key) for key in _WITHOUT_MODEL)
    if None in {before, after} and is_setting:
        return ""
    return _pair(before or _("none"), after or _("none"))


def check_models(baseline: Snapshot, current: Snapshot) -> None:
    """Raise InputError if a gate would compare two embedding models (seed 7)."""
    if differing := _embedders(baseline, current):
        raise InputError(
            "the runs cannot be compared: their embedding models differ ({models}). Create a new baseline with"
            " the model of this run, or compare finished runs with `gigamind compare`.",
            models=differing,
        )


def check_task(baseline: Snapshot, task: str) -> None:
    """Raise InputError if a baseline belongs to another task."""
    if baseline.task != task:
        raise InputError(
            "the runs cannot be compared: the baseline {baseline} evaluated the task {other}, but this run"
            " evaluates the task {task}. Give a baseline of the task {task}.",
            baseline=baseline.run_id,
            other=baseline.task,
            task=task,
        )


def _changed(
    baseline: Mapping[str, object],
    current: Mapping[str, object],
    names: Iterable[str] | None = None,
) -> Text:
    known = baseline.keys() & current.keys()
    changes: list[Message] = []
    for name in current if names is None else names:
        if name in known and baseline[name] != current[name]:
            before, after = _plain(name, baseline[name]), _plain(name, current[name])
            changes.append(_("{name} {before} -> {after}", name=name, before=before, after=after))
    return joined(changes, ", ") if changes else ""


def _plain(name: str, value: object) -> Text:
    if value is None:
        return _("all") if name == "sample" else _("none")
    return str(value).strip("(),").replace("'", "")  # names of models come as a tuple
