"""Forecasts the errors of the free judges on a vault, with questions that the vault itself provides.

A question is a heading of three words or more that no other note has. Each is searched in a vault without these
headings, where a judge should accept it, and in ten folds of the vault that lack its note (near misses) or its folder
(strangers), where it should refuse it. With too few headings, first sentences are asked; the rest of a note says too
little about these, so refusals are then unknown.
"""

import contextlib
import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from gigamind.choices import FreeJudge
from gigamind.evaluation.progress import Progress
from gigamind.i18n import _
from gigamind.judges.spec import Chosen
from gigamind.judges.unanswerable import RuleJudge, UnanswerableJudge
from gigamind.retrieval.cache import Cache, quiet, touch
from gigamind.retrieval.prepare import RAG_SCHEMA_VERSION, open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.runs.folders import private_file
from gigamind.tasks.search.free_judges import free_judges, judge_freely
from gigamind.tasks.search.judge_advice import ENOUGH_LABELS
from gigamind.tasks.search.prepare import Prepared
from gigamind.tasks.search.schema import ForecastReport, JudgeForecast, RateReport
from gigamind.text import sentences
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, Vault, content_hash
from gigamind.version import __version__

_FOLDS, _PROBES, _ENOUGH, _SEED = 10, 200, 40, 7
_HEADING_WORDS, _SENTENCE_WORDS = 3, 4
_MOST_NOTES = 200  # of a vault whose run computes a forecast without a request
_FOLDERS = 3  # with fewer, leaving one out leaves too little of the vault
_report: TypeAdapter[ForecastReport | None] = TypeAdapter(ForecastReport | None)
_Probe = tuple[str, str]  # path of the note, and the question
_Cut = tuple[int, int, str]  # where it starts and ends in the note, and the question


def forecast(
    vault: Vault,
    settings: RetrievalSettings,
    run: Chosen[UnanswerableJudge],
    progress: Progress,
    *,
    only_cached: bool = False,
) -> ForecastReport | None:
    """Return the forecast for each free judge in this search mode, cached by vault, settings and judges.

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


def is_wanted(prepared: Prepared) -> bool:
    """Return whether a run computes the forecast: it was requested, or the labels of the run are too few."""
    labelled = sum(not query.item.answerable for query in prepared.queries)
    is_free = prepared.judge is not None and isinstance(prepared.judge.judge, RuleJudge)
    too_few = 0 < labelled < ENOUGH_LABELS and len(prepared.vault.notes) <= _MOST_NOTES
    return prepared.options.judge_forecast or (is_free and too_few)


def _computed(
    notes: Sequence[Note],
    settings: RetrievalSettings,
    run: Chosen[UnanswerableJudge],
    progress: Progress,
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
    return ForecastReport(
        probes="headings" if has_headings else "sentences",
        runtime_ms=1000 * (time.perf_counter() - start),
        judges=judges,
    )


def _accepted(
    notes: Sequence[Note],
    settings: RetrievalSettings,
    run: Chosen[UnanswerableJudge],
    probes: Sequence[_Probe],
) -> dict[FreeJudge, int]:
    """Return how many of the questions each judge accepts over these notes."""
    vault = Vault(Path(), tuple(notes), ())
    with open_retriever(vault, Identities(notes), settings, quiet, keeps_index=False) as engine:
        judges = free_judges(run, engine)
        found = [judge_freely(judges, query, engine.search(query)) for _path, query in probes]
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
        masked.append(replace(note, text=text, document=parse(text), content_hash=key))
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
