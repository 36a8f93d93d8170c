"""Tune a judge by people's labels, or keep it: half of the labelled items chooses, the other half can certify.

Thresholds are chosen by the scores of a free judge. A judge of kind `search_qa` is tried with examples drawn from the
labels and with each emphasis of its prompt. A change is proposed only if the whole choice is significantly better in
cross-validation (stats/tuning.py).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from gigamind.assurance.certify import labels_of, weights_of
from gigamind.assurance.judged_runs import JudgedKind, read_judged_runs
from gigamind.assurance.label_file import is_label_file, read_rows
from gigamind.assurance.label_items import LabelTask, LabelUnit, passage
from gigamind.assurance.trials import Case, Observations
from gigamind.errors import InputError, LlmError
from gigamind.judges.load import NLI, judge_file
from gigamind.judges.search_qa.by_nli import NliJudgeFile, Thresholds
from gigamind.judges.search_qa.by_words import WordsJudgeFile
from gigamind.judges.search_qa.judge import LabelledExample, SearchQAJudgeFile
from gigamind.judges.search_qa.words import Reading
from gigamind.judges.spec import JudgeFile, Tuned, kind_of, read_judge_file
from gigamind.judges.unanswerable import (
    CalibratedJudge,
    CalibratedJudgeFile,
    ThresholdJudge,
    judge_path,
)
from gigamind.prompting.fences import Source, flags
from gigamind.records.judged import EvaluatedClaim, Report
from gigamind.stats.intervals import Booleans, Matrix, clusters_of
from gigamind.stats.tuning import (
    Gain,
    LabelledItems,
    Pick,
)

_FEWEST = 10
"""Labels of each value that a threshold needs."""
_EXAMPLES = 2  # of each value in a prompt
_PROMPT = "search_qa/v3"
_EMPHASES = ("details", "meaning")
_SCALES = {"answers": "supported", "search": "unanswerable"}
_FILES: Mapping[str, Mapping[str, type[JudgeFile]]] = {
    "answers": {"words": WordsJudgeFile, "nli": NliJudgeFile, "search_qa": SearchQAJudgeFile},
    "search": {
        "threshold": ThresholdJudge,
        "answer_score": ThresholdJudge,
        "calibrated": CalibratedJudgeFile,
    },
}
_Choice = TypeVar("_Choice")


class TuneReport(Report):
    """What `gigamind judge tune` found; the gain is measured on items that did not choose.

    Attributes:
        judge: Judge that was tuned.
        decision: `adopt` if the gain is significant, else `keep`, and no file is written.
        learned, kept: Labelled items (answers or queries) that choose, and that can certify.
        before, after: Balanced accuracy of the current judge, and of what the other folds choose.
        gain, low, high: Their difference, with its 95 % interval.
        changes: Fields of the judge file with their old and new values.
        out: File that was written; null for `keep`.
    """

    judge: str
    decision: Literal["adopt", "keep"]
    learned: int
    kept: int
    before: float
    after: float
    gain: float
    low: float
    high: float
    changes: dict[str, tuple[Any, Any]]
    out: str | None = None


_Trial = tuple[JudgeFile, int | None]
"""A judge file to try, and the fold of the items that it learned from; None if it learned from none."""


def _is_kept(item: str) -> bool:
    """Return whether a labelled item is kept to certify, by a hash of its id, so that more labels move none."""
    return hashlib.sha256(f"keep {item}".encode()).digest()[0] % 2 == 0


class Tuning:
    """The labels of a run, and a judge to tune by half of them.

    Raises:
        InputError: The run, the labels or the judge cannot be used together, or there are too few labels.
    """

    def __init__(
        self,
        folder: Path,
        labels: Path | None,
        judge: str,
        kinds: Mapping[str, JudgedKind],
        seed: int = 42,
    ) -> None:
        (run,) = read_judged_runs([folder], kinds)
        self.run = replace(run, judge=run.judge.model_copy(update={"learned_from": ()}))
        self.judge, self.path, self.seed = judge, judge_file(judge), seed
        task = run.report.task
        files = _FILES.get(task, {})
        self.file = read_judge_file(self.path, files[kind_of(self.path, files)])
        if isinstance(self.file, NliJudgeFile) and judge.startswith(NLI):
            name = judge.removeprefix(NLI)
            model = str(Path(name).resolve()) if Path(name).is_dir() else name
            self.file = self.file.model_copy(update={"model": model})
        self._scale = _SCALES[task]
        values, self._source, drawn = labels_of(self.run, labels)
        judged = run.verdicts(self._scale)
        self._truth = {
            key: bool(given[self._scale])
            for key, given in values.items()
            if self._scale in given and key in judged
        }
        clusters = sorted({run.items[key].cluster for key in self._truth})
        self.kept = tuple(filter(_is_kept, clusters))
        self.learned = tuple(one for one in clusters if not _is_kept(one))
        in_order = sorted(self.learned, key=lambda one: hashlib.sha256(one.encode()).digest())
        self.fold_of = {one: place % LabelledItems.FOLDS for place, one in enumerate(in_order)}
        self.keys = [key for key in self._truth if run.items[key].cluster in self.fold_of]
        named = [run.items[key].cluster for key in self.keys]
        weights = weights_of(self.keys, judged, drawn)
        accepts = self._scale == "supported"
        self._items = LabelledItems(
            truth=np.array([self._truth[key] == accepts for key in self.keys], dtype=np.bool_),
            verdicts=np.array([(judged[key] > 0) == accepts for key in self.keys], dtype=np.bool_),
            weights=np.array([weights.get(key, 1.0) for key in self.keys]),
            clusters=clusters_of(named),
            folds=np.array([self.fold_of[one] for one in named], dtype=np.intp),
        )
        self._refuse_too_few(np.ones(len(self.keys), dtype=np.bool_))
        self._reasons = _reasons(labels)

    def _is_enough(self, own: Booleans) -> bool:
        yes = int((self._items.truth & own).sum())
        return min(yes, int(own.sum()) - yes) >= _FEWEST

    def _refuse_too_few(self, own: Booleans) -> None:
        if not self._is_enough(own):
            raise InputError(
                "{run}: too few labels: {least} labels `{scale}` = yes and {least} = no of one language are required,"
                " but there are {yes} and {no}. The other half is kept to certify the judge. Label more items.",
                run=self.run.folder,
                least=_FEWEST,
                scale=self._scale,
                yes=int((self._items.truth & own).sum()),
                no=int((~self._items.truth & own).sum()),
            )

    @property
    def units(self) -> list[LabelUnit]:
        """The items to learn from."""
        return [unit for unit in self.run.units if unit.id in self.fold_of]

    def cases(self, without_fold: int | None = None) -> list[Case]:
        """Return the answers to judge, without a fold."""
        return [
            Case(unit.id, unit.question, _sources(unit), unit.answer)
            for unit in self.units
            if self.fold_of[unit.id] != without_fold
        ]

    @cached_property
    def trials(self) -> list[_Trial]:
        """What to judge for `decide`: a judge that accepts each claim with a score, or the current one and variants."""
        if isinstance(self.file, WordsJudgeFile):
            return [(self.file.model_copy(update={"min_score": {"ko": 0.0, "en": 0.0}}), None)]
        if isinstance(self.file, NliJudgeFile):
            every = Thresholds(ko=0.0, en=0.0)
            return [(self.file.model_copy(update={"thresholds": every}), None)]
        if not isinstance(self.file, SearchQAJudgeFile):
            return []
        base = self.file.model_copy(update={"prompt": _PROMPT, "tuned": None})
        tried: list[_Trial] = [(self.file, None)]
        tried += [(base.model_copy(update={"emphasis": name}), None) for name in _EMPHASES]
        for fold in range(LabelledItems.FOLDS):
            if examples := self._examples(fold):
                tried.append((base.model_copy(update={"examples": examples}), fold))
        return tried

    def decide(self, seen: Sequence[Observations]) -> tuple[JudgeFile, TuneReport]:
        """Return the judge with the best choice and whether to adopt it, by the verdicts of `trials`."""
        if not seen:
            return self._by_signals()
        claims = [[_claim(verdicts, key) for key in self.keys] for verdicts in seen]
        if isinstance(self.file, SearchQAJudgeFile):
            return self._by_variants(claims)
        (own,) = claims
        is_words = isinstance(self.file, WordsJudgeFile)
        texts = (claim.text if claim and (claim.source or not is_words) else "" for claim in own)
        korean = np.array([Reading(text).is_korean for text in texts], dtype=np.intp)
        scores = [claim.strength if _is_supported(claim) and claim else None for claim in own]
        field = "min_score" if is_words else "thresholds"
        return self._by_scores(scores, korean, (f"{field}.en", f"{field}.ko"))

    def _by_signals(self) -> tuple[JudgeFile, TuneReport]:
        kind, run = kind_of(self.path), self.run.judge
        if isinstance(self.file, CalibratedJudgeFile):
            embedders = (None, self.file.embedder)
            own = {CalibratedJudge.load(self.path, one).fingerprint for one in embedders}
            included = self.path == judge_path("calibrated")
            if run.fingerprint not in own if run.kind == kind else not included:
                raise InputError(
                    "{run}: another judge computed the scores of this run. Evaluate the search again with --judge"
                    " {judge}.",
                    run=self.run.folder,
                    judge=self.path,
                )
        items = [self.run.items[key] for key in self.keys]
        if not any(kind in item.scores for item in items):
            raise InputError(
                "{run}: this run has no scores of a judge of the kind {kind}.",
                run=self.run.folder,
                kind=kind,
            )
        field = "min_probability" if kind == "calibrated" else "min_score"
        scores = [item.scores.get(kind) for item in items]
        return self._by_scores(scores, np.zeros(len(items), dtype=np.intp), (field,))

    def _by_scores(
        self, scores: Sequence[float | None], groups: np.ndarray[Any, Any], fields: Sequence[str]
    ) -> tuple[JudgeFile, TuneReport]:
        known: Matrix = np.array(scores, dtype=np.float64)  # None becomes NaN
        current = [_field(self.file, name) for name in fields]
        items = replace(self._items, verdicts=known >= np.array(current)[groups])
        enough = {
            number: value
            for number, value in enumerate(current)
            if self._is_enough(groups == number)
        }
        if not enough:
            self._refuse_too_few(groups == int(np.bincount(groups).argmax()))
        found = items.pick_thresholds(known, groups, enough)

        def changed(chosen: Mapping[int, float]) -> dict[str, Any]:
            return {fields[number]: value for number, value in chosen.items()}

        return self._decided(items, found, changed)

    def _examples(self, fold: int) -> tuple[LabelledExample, ...]:
        """Return labelled claims of a fold, first those on which judge and label disagree; none that gives orders."""
        tasks = {
            task.id: task for unit in self.units for task in unit.tasks if task.kind == "claim"
        }
        wrong = self._items.truth != self._items.verdicts
        places = [at for at in np.flatnonzero(self._items.folds == fold) if self.keys[at] in tasks]
        places.sort(key=lambda at: (not wrong[at], hashlib.sha256(self.keys[at].encode()).digest()))
        chosen: list[LabelledExample] = []
        for value in (True, False):
            own = [at for at in places if self._items.truth[at] == value]
            made = (self._example(tasks[self.keys[at]], is_supported=value) for at in own)
            safe = (one for one in made if not flags(f"{one.sentence}\n{one.source}\n{one.reason}"))
            chosen += [one for one, _turn in zip(safe, range(_EXAMPLES), strict=False)]
        return tuple(chosen)

    def _example(self, task: LabelTask, *, is_supported: bool) -> LabelledExample:
        best = passage(task.text, task.sources)
        source = best[1].slice(task.sources[best[0]].text) if best else ""
        choice, reason = self._reasons.get(task.id, ("", ""))
        verdict = "supported" if is_supported else "not_found"
        if choice == "contradicted" and not is_supported:
            verdict = "contradicted"
        answer = self.run.items[task.id].cluster
        return LabelledExample(
            id=answer, sentence=task.text, source=source, verdict=verdict, reason=reason
        )

    def _by_variants(
        self, claims: Sequence[Sequence[EvaluatedClaim | None]]
    ) -> tuple[JudgeFile, TuneReport]:
        current, *others = ([_is_supported(claim) for claim in own] for own in claims)
        base = np.array([bool(verdict) for verdict in current])
        items = replace(self._items, verdicts=base)
        columns = np.full((len(self.keys), len(others)), np.nan)
        for at, (own, (_file, fold)) in enumerate(zip(others, self.trials[1:], strict=True)):
            known = [old if new is None else new for old, new in zip(base, own, strict=True)]
            columns[:, at] = np.where(items.folds == fold, np.nan, known)

        def changed(chosen: int | None) -> dict[str, Any]:
            after = {} if chosen is None else self.trials[1 + chosen][0].model_dump()
            return {name: after.get(name) for name in ("prompt", "emphasis", "examples") if after}

        return self._decided(items, items.pick_variant(columns), changed)

    def _decided(
        self,
        items: LabelledItems,
        pick: Pick[_Choice],
        changed: Callable[[_Choice], dict[str, Any]],
    ) -> tuple[JudgeFile, TuneReport]:
        gain = items.cross_validate(pick, seed=self.seed)
        new = changed(pick(np.ones(len(self.keys), dtype=np.bool_))[0])
        values = {name: (_field(self.file, name), value) for name, value in new.items()}
        values = {
            name: both for name, both in values.items() if (both[0] or None) != (both[1] or None)
        }
        adopts = gain.is_significant and bool(values)
        report = TuneReport.like(
            gain,
            judge=self.judge,
            decision="adopt" if adopts else "keep",
            learned=len(self.learned),
            kept=len(self.kept),
            gain=gain.value,
            low=gain.interval.low,
            high=gain.interval.high,
            changes=values,
        )
        return self._tuned(gain, {name: value for name, (_old, value) in values.items()}), report

    def _tuned(self, gain: Gain, changes: Mapping[str, Any]) -> JudgeFile:
        content = self.file.model_dump(exclude_none=True)
        for name, value in changes.items():
            head, _dot, key = name.partition(".")
            content[head] = {**content[head], key: value} if key else value
        content["tuned"] = Tuned(
            dataset_hash=self.run.report.dataset_hash,
            labels_hash=self._source.sha256,
            learned_from=self.learned,
            kept=self.kept,
            gain=round(gain.value, 4),
            low=round(gain.interval.low, 4),
            high=round(gain.interval.high, 4),
        )
        return type(self.file).model_validate(content)


def _sources(unit: LabelUnit) -> tuple[Source, ...]:
    return tuple(Source(one.title, one.text) for one in unit.tasks[-1].sources)


def _reasons(labels: Path | None) -> dict[str, tuple[str, str]]:
    """Return the last choice with a reason in words, by the id of the task."""
    if labels is None or not is_label_file(labels):
        return {}
    return {row.id: (row.choice, row.reason) for row in read_rows(labels) if not row.note}


def _claim(seen: Observations, key: str) -> EvaluatedClaim | None:
    answer, _mark, number = key.rpartition("#")
    observed = seen.get(answer)
    if observed is None or isinstance(observed, LlmError):
        return None
    return observed.claims.get(int(number))


def _is_supported(claim: EvaluatedClaim | None) -> bool | None:
    return None if claim is None else claim.verdict == "supported"


def _field(file: JudgeFile, name: str) -> Any:  # noqa: ANN401  any field of a judge file
    value: Any = file.model_dump()
    for part in name.split("."):
        value = value.get(part)
    return value
