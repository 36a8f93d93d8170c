"""Free judges (without model calls): errors on the queries of a run, a forecast for its vault, and advice."""

import contextlib
import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, get_args

from pydantic import TypeAdapter

from gigamind.choices import FreeJudge
from gigamind.evaluation.progress import Progress
from gigamind.i18n import Text, _
from gigamind.judges.unanswerable import (
    CalibratedJudge,
    FreeVerdict,
    RuleJudge,
    Scored,
    ThresholdJudge,
    judge_path,
    load_question_judge,
)
from gigamind.metrics.answerability import Confusion
from gigamind.records.judged import WeakJudge
from gigamind.retrieval.cache import Cache, quiet, touch
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION, open_retriever
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.retrieval.signals import signals_of
from gigamind.runs.folders import private_file
from gigamind.tasks.search.schema import (
    ForecastReport,
    ItemReport,
    JudgeForecast,
    JudgeRates,
    RateReport,
    SearchJudge,
)
from gigamind.text import sentences
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Note, Vault, content_hash
from gigamind.version import __version__


@dataclass(frozen=True, slots=True)
class FreeJudges:
    """Free judges by kind, and the engine whose signals they read; None if another system searches."""

    by_kind: Mapping[FreeJudge, RuleJudge]
    engine: Engine | None

    @classmethod
    def of(cls, run: SearchJudge | None, engine: Engine | None) -> Self:
        """Return gigamind's free judges that can judge this search; the run's own judge replaces the one of its kind.

        Another system is judged only by a threshold that was set for it. An unusable judge file raises InputError.
        """
        if run is None:
            return cls({}, None)
        chosen = run.judge
        if engine is None:
            return cls({"threshold": chosen} if isinstance(chosen, ThresholdJudge) else {}, None)
        embedder = engine.semantic.embedder.name if engine.semantic else None
        judges: dict[FreeJudge, RuleJudge] = {}
        for kind in get_args(FreeJudge):
            if kind == "answer_score" and engine.balance is None:
                continue
            own = chosen.kind == kind
            judge = chosen if own else load_question_judge(judge_path(kind), "en", embedder)
            if isinstance(judge, RuleJudge):
                judges[kind] = judge
        return cls(judges, engine)

    def verdicts(self, query: str, ranking: Sequence[Scored]) -> dict[str, FreeVerdict]:
        """Return each judge's verdict on a query, by kind; empty if the system returned no score for the first note."""
        if self.engine is None and ranking and ranking[0].base_score is None:
            return {}
        return {
            kind: verdict
            for kind, judge in self.by_kind.items()
            if (verdict := _decide(judge, self.engine, query, ranking))
        }

    def rates(self, chosen: str, items: Sequence[ItemReport]) -> tuple[JudgeRates, ...]:
        """Return the accuracy of each judge; `chosen` is the kind of the run's own judge."""
        rates: list[JudgeRates] = []
        for kind, judge in self.by_kind.items():
            judged = (item for item in items if kind in item.judges)
            counts = Confusion.of((not x.answerable, x.judges[kind].unanswerable) for x in judged)
            rates.append(
                JudgeRates.like(
                    counts,
                    kind=kind,
                    chosen=kind == chosen,
                    setting=judge.file.min_probability
                    if isinstance(judge, CalibratedJudge)
                    else judge.min_score,
                    missed=counts.fn,
                    unanswerable=counts.tp + counts.fn,
                    refused=counts.fp,
                    answerable=counts.fp + counts.tn,
                )
            )
        return tuple(rates)


def _decide(
    judge: RuleJudge, engine: Engine | None, query: str, ranking: Sequence[Scored]
) -> FreeVerdict | None:
    if isinstance(judge, ThresholdJudge) and judge.kind == "threshold":
        return judge.verdict(ranking)
    if engine is None:
        return None
    if isinstance(judge, CalibratedJudge):
        return judge.verdict(signals_of(engine, query))
    score = engine.answer_score(query) or 0.0
    return FreeVerdict(unanswerable=not ranking or score < judge.min_score, score=score)


_MOST_REFUSED = 0.2  # of the answerable queries; a judge that refuses more is not usable
_MOST_MISSED = 0.5  # of the unanswerable queries
ENOUGH_LABELS = 20  # queries of a kind; with fewer, the forecast decides
NO_FREE_JUDGE = _(
    "On this vault no free judge can tell answerable from unanswerable questions; use --unanswerable-mode llm."
)


def is_usable(rates: JudgeRates | Confusion) -> bool:
    """Return whether a judge with these verdicts refuses and misses few enough queries to be recommended."""
    refused, missed = rates.false_refusals, rates.far
    if refused is None or missed is None:
        return False
    return refused <= _MOST_REFUSED and missed <= _MOST_MISSED


@dataclass(frozen=True, slots=True)
class KnownErrors:
    """What is known about the errors of the free judges of a run: their rates, and the forecast for the vault."""

    rates: Sequence[JudgeRates]
    forecast: ForecastReport | None = None

    def weakness(self, rates: JudgeRates) -> WeakJudge | None:
        """Return the errors of a judge if one is beyond its bound; the labels of a run decide, if they are enough."""
        own = self.forecast.judges if self.forecast else ()
        expected = next((judge for judge in own if judge.kind == rates.kind), None)
        accepts, refuses = rates.far, rates.false_refusals
        if rates.unanswerable < ENOUGH_LABELS:
            accepts = expected and expected.accepts
        if rates.answerable < ENOUGH_LABELS:
            known = expected and expected.refused
            refuses = known and known.count / known.n
        if (accepts or 0.0) <= _MOST_MISSED and (refuses or 0.0) <= _MOST_REFUSED:
            return None
        return WeakJudge(accepts=accepts, refuses=refuses)

    @property
    def chosen(self) -> JudgeRates | None:
        """Return the run's own judge, if it is a free one."""
        return next((rates for rates in self.rates if rates.chosen), None)

    @property
    def is_unchecked(self) -> bool:
        """Return whether the run's judge is beyond a bound, on too few labels and without a forecast."""
        own = self.chosen
        if own is None or self.forecast or self.weakness(own):
            return False
        return own.unanswerable > 0 and not is_usable(own)

    @property
    def none_tells(self) -> bool:
        """Return whether every free judge of the run is known to be beyond a bound."""
        return bool(self.rates) and all(map(self.weakness, self.rates))

    @property
    def usable(self) -> list[JudgeRates]:
        """Return the judges that may be recommended."""
        return [rates for rates in self.rates if is_usable(rates) and not self.weakness(rates)]

    @property
    def best(self) -> JudgeRates | None:
        """Return the best of them on the queries of the run."""
        return min(self.usable, key=lambda rates: rates.both_rates or 0.0, default=None)

    @property
    def advice(self) -> Text:
        """Return what to use if no free judge fits, or the run's own detects no unanswerable query; else ""."""
        chosen = self.chosen
        if chosen and self.none_tells:
            return NO_FREE_JUDGE
        if not chosen or not chosen.unanswerable or chosen.missed < chosen.unanswerable:
            return ""
        values = {"judge": chosen.kind, "unanswerable": chosen.unanswerable}
        if not (best := self.best):
            return _(
                "The judge `{judge}` detects none of the {unanswerable:,} unanswerable queries, and no other judge"
                " without an LLM is usable on these queries. Use `--unanswerable-mode llm --model MODEL`.",
                **values,
            )
        return _(
            "The judge `{judge}` detects none of the {unanswerable:,} unanswerable queries. Use"
            " `--unanswerable-mode {best}`: on these queries, it misses {missed:,} of {unanswerable:,} and wrongly"
            " refuses {refused:,} of {answerable:,} answerable ones.",
            best=best.kind,
            missed=best.missed,
            refused=best.refused,
            answerable=best.answerable,
            **values,
        )


_FOLDS, _PROBES, _ENOUGH, _SEED = 10, 200, 40, 7
_HEADING_WORDS, _SENTENCE_WORDS = 3, 4
_FOLDERS = 3  # with fewer, leaving one out leaves too little of the vault
_report: TypeAdapter[ForecastReport | None] = TypeAdapter(ForecastReport | None)
_Probe = tuple[str, str]  # path of the note, and the question
_Cut = tuple[int, int, str]  # where it starts and ends in the note, and the question


def forecast(
    vault: Vault,
    settings: RetrievalSettings,
    run: SearchJudge,
    progress: Progress,
    *,
    only_cached: bool = False,
) -> ForecastReport | None:
    """Return the forecast for each free judge in this search mode, cached by vault, settings and judges.

    A question is a heading of three words or more that no other note has. Each is searched in a vault without these
    headings, where a judge should accept it, and in ten folds of the vault that lack its note (near misses) or its
    folder (strangers), where it should refuse it. With too few headings, first sentences are asked; the rest of a note
    says too little about these, so refusals are then unknown.

    The judge of the `run` replaces the free judge of its kind. None if it is not cached and `only_cached`, if the
    vault has too few headings and sentences, or if each embedding costs money.
    """
    if settings.bills:
        return None
    judge = run.report.fingerprint if isinstance(run.judge, RuleJudge) else ""
    settings = replace(settings, qdrant_url=None, cold_start=False, topk=1)
    searched = f"{__version__} {RAG_SCHEMA_VERSION} {replace(settings, cache=None)} {judge}"
    notes = [(note.path, note.content_hash) for note in vault.notes]
    key = hashlib.sha256(f"{searched} {notes}".encode()).hexdigest()[:24]
    file = Cache(settings.cache).forecasts / f"{key}.json" if settings.cache else None
    if file:
        with contextlib.suppress(OSError, ValueError):
            known = _report.validate_json(file.read_bytes())
            touch(file)
            return known
    if only_cached:
        return None
    made = _computed(vault.notes, settings, run, progress)
    if file:
        with contextlib.suppress(OSError), private_file(file) as aside:  # costs only time
            aside.write_bytes(_report.dump_json(made))
    return made


def _computed(
    notes: Sequence[Note], settings: RetrievalSettings, run: SearchJudge, progress: Progress
) -> ForecastReport | None:
    start = time.perf_counter()
    masked, probes = _masked(notes, _headings)
    if not (has_headings := len(probes) >= _ENOUGH):
        masked, probes = _masked(notes, _first_sentence)
    if len(probes) < _ENOUGH:
        return None
    rand = random.Random(_SEED)  # noqa: S311  no secret
    probes = rand.sample(probes, min(_PROBES, len(probes)))
    folders = {note.path: note.path.rpartition("/")[0] for note in masked}
    sizes = Counter(folders.values())
    has_folders = len(sizes) >= _FOLDERS and max(sizes.values()) <= len(masked) / 2
    rounds: list[tuple[int, Sequence[Note], Sequence[_Probe]]] = [(0, masked, probes)]
    for way, group in enumerate([{path: path for path in folders}, folders][: 1 + has_folders], 1):
        names = sorted(set(group.values()))
        rand.shuffle(names)
        for fold in range(_FOLDS):
            left = set(names[fold::_FOLDS])
            if own := [probe for probe in probes if group[probe[0]] in left]:
                rounds.append((way, [n for n in notes if group[n.path] not in left], own))
    accepted = [Counter[FreeJudge]() for _way in range(3)]
    for done, (way, kept, own) in enumerate(rounds, 1):
        accepted[way].update(_accepted(kept, settings, run, own))
        progress.stage(_("Testing the judges on the vault"), done, len(rounds))
    whole, near, strange = accepted
    n = len(probes)
    judges = tuple(
        JudgeForecast(
            kind=kind,
            near_misses=RateReport.of(near[kind], n),
            strangers=RateReport.of(strange[kind], n) if has_folders else None,
            refused=RateReport.of(n - whole[kind], n) if has_headings else None,
        )
        for kind in whole
    )
    kind_of_probes = "headings" if has_headings else "sentences"
    runtime_ms = 1000 * (time.perf_counter() - start)
    return ForecastReport(probes=kind_of_probes, runtime_ms=runtime_ms, judges=judges)


def _accepted(
    notes: Sequence[Note], settings: RetrievalSettings, run: SearchJudge, probes: Sequence[_Probe]
) -> dict[FreeJudge, int]:
    """Return how many of the questions each judge accepts over these notes."""
    vault = Vault(Path(), tuple(notes), ())
    with open_retriever(vault, Identities(notes), settings, quiet, keeps_index=False) as engine:
        judges = FreeJudges.of(run, engine)
        found = [judges.verdicts(query, engine.search(query)) for _path, query in probes]
    return {kind: sum(not own[kind].unanswerable for own in found) for kind in judges.by_kind}


def _masked(
    notes: Sequence[Note], cuts: Callable[[Note], list[_Cut]]
) -> tuple[list[Note], list[_Probe]]:
    """Return the notes without the text of the questions, and the questions."""
    masked, probes = list[Note](), list[_Probe]()
    found = [cuts(note) for note in notes]
    counts = Counter(cut[2].casefold() for own in found for cut in own)
    for note, own in zip(notes, found, strict=True):
        text = note.text
        for start, end, question in reversed(own):
            # A heading that several notes share, such as "What to do next", is answered by none alone.
            if counts[question.casefold()] == 1:
                text = text[:start] + text[end:]
                probes.append((note.path, question))
        key = content_hash(text.encode("utf-8", "surrogatepass"))
        masked.append(replace(note, text=text, document=Document.parse(text), content_hash=key))
    return masked, probes


def _headings(note: Note) -> list[_Cut]:
    return [
        (heading.span.start, heading.span.end, heading.text)
        for heading in note.document.headings
        if heading.level > 1 and len(heading.text.split()) >= _HEADING_WORDS
    ]


def _first_sentence(note: Note) -> list[_Cut]:
    for block in (block for block in note.document.blocks if block.kind == "paragraph"):
        own, start = block.span.slice(note.text), block.span.start
        for sentence in sentences(own):
            if len(sentence.slice(own).split()) >= _SENTENCE_WORDS:
                return [(start + sentence.start, start + sentence.end, sentence.slice(own))]
    return []
