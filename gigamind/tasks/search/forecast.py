"""Forecasts the errors of the free judges on a vault, with questions that the vault itself provides.

A question is a heading of three words or more that no other note has; no index contains it. Each is
searched twice: in the whole vault, where a judge should accept it, and without its note, where it should refuse it.
Ten folds leave notes out: single notes (near misses) or whole folders (strangers). A vault with too few headings is
asked with first sentences; the rest of a note says too little about these, so refusals are then unknown.
"""

import contextlib
import hashlib
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

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

_FOLDS, _PROBES, _ENOUGH, _SEED = 10, 200, 40, 7
_HEADING_WORDS, _SENTENCE_WORDS = 3, 4
_MOST_NOTES = 200  # of a vault whose run computes a forecast unasked
_FOLDERS = 3  # with fewer, leaving one out leaves too little of the vault
_forecasts: TypeAdapter[ForecastReport | None] = TypeAdapter(ForecastReport | None)


@dataclass(frozen=True, slots=True)
class _Probe:
    """A question, and the path of the note that it comes from."""

    note: str
    text: str


def forecast(
    vault: Vault,
    settings: RetrievalSettings,
    run: Chosen[UnanswerableJudge],
    progress: Progress,
    *,
    only_cached: bool = False,
) -> ForecastReport | None:
    """Return the forecast for each free judge in this search mode, cached by vault, settings and judges.

    Args:
        run: the judge of the run; it replaces the free judge of its kind.
        only_cached: compute nothing.

    None if it is not cached, the vault has too few headings and sentences, or each embedding costs money.
    """
    if settings.bills:
        return None
    settings = replace(settings, qdrant_url=None, cold_start=False)
    file = settings.cache and Cache(settings.cache).forecasts / f"{_key(vault, settings, run)}.json"
    if file:
        with contextlib.suppress(OSError, ValueError):
            known = _forecasts.validate_json(file.read_bytes())
            touch(file)
            return known
    if only_cached:
        return None
    made = _forecast(vault.notes, settings, run, progress)
    if file:
        with contextlib.suppress(OSError), private_file(file) as aside:  # costs only time
            aside.write_bytes(_forecasts.dump_json(made))
    return made


def is_wanted(prepared: Prepared) -> bool:
    """Return whether a run computes the forecast: it was requested, or the labels of the run are too few."""
    labelled = sum(not query.item.answerable for query in prepared.queries)
    is_free = prepared.judge is not None and isinstance(prepared.judge.judge, RuleJudge)
    too_few = 0 < labelled < ENOUGH_LABELS and len(prepared.vault.notes) <= _MOST_NOTES
    return prepared.options.judge_forecast or (is_free and too_few)


def _key(vault: Vault, settings: RetrievalSettings, run: Chosen[UnanswerableJudge]) -> str:
    judge = run.report.fingerprint if isinstance(run.judge, RuleJudge) else ""
    searched = replace(settings, cache=None, topk=1)
    digest = hashlib.sha256(f"{RAG_SCHEMA_VERSION} {searched} {judge}".encode())
    for note in vault.notes:
        digest.update(f"\n{len(note.path)} {note.path} {note.content_hash}".encode())
    return digest.hexdigest()[:24]


def _forecast(
    notes: Sequence[Note],
    settings: RetrievalSettings,
    run: Chosen[UnanswerableJudge],
    progress: Progress,
) -> ForecastReport | None:
    start = time.perf_counter()
    masked, probes = _masked(notes, headings=True)
    if has_headings := len(probes) >= _ENOUGH:
        kind = "headings"
    else:
        kind, (masked, probes) = "sentences", _masked(notes, headings=False)
    if len(probes) < _ENOUGH:
        return None
    asked = random.Random(_SEED).sample(probes, min(_PROBES, len(probes)))  # noqa: S311  no secret
    folders = {note.path: str(PurePosixPath(note.path).parent) for note in masked}
    sizes = Counter(folders.values())
    ways = [{note.path: note.path for note in masked}]
    if len(sizes) >= _FOLDERS and max(sizes.values()) <= len(masked) / 2:
        ways.append(folders)
    done, total = 0, 1 + _FOLDS * len(ways)

    def accepted(kept: Sequence[Note], probes: Sequence[_Probe]) -> Counter[FreeJudge]:
        nonlocal done
        counts = _accepted(kept, settings, run, probes)
        progress.stage(_("Testing the judges on the vault"), done := done + 1, total)
        return counts

    kept = accepted(masked, asked)
    left = [
        sum(
            (
                accepted(
                    [note for note in masked if fold_of[note.path] != fold],
                    [probe for probe in asked if fold_of[probe.note] == fold],
                )
                for fold in range(_FOLDS)
            ),
            Counter[FreeJudge](),
        )
        for fold_of in map(_folds, ways)
    ]
    n = len(asked)
    return ForecastReport(
        probes=kind,
        runtime_ms=1000 * (time.perf_counter() - start),
        judges=tuple(
            JudgeForecast(
                kind=judge,
                near_misses=RateReport.of(left[0][judge], n),
                strangers=RateReport.of(left[1][judge], n) if len(left) > 1 else None,
                refused=RateReport.of(n - kept[judge], n) if has_headings else None,
            )
            for judge in kept
        ),
    )


def _folds(groups: Mapping[str, str]) -> dict[str, int]:
    """Return the fold of each note; notes of one group are left out together."""
    names = sorted(set(groups.values()))
    random.Random(_SEED).shuffle(names)  # noqa: S311  no secret
    place = {name: at % _FOLDS for at, name in enumerate(names)}
    return {path: place[name] for path, name in groups.items()}


def _accepted(
    notes: Sequence[Note],
    settings: RetrievalSettings,
    run: Chosen[UnanswerableJudge],
    probes: Sequence[_Probe],
) -> Counter[FreeJudge]:
    """Return how many of the questions each judge accepts over these notes."""
    counts = Counter[FreeJudge]()
    if not probes:
        return counts
    vault = Vault(Path(), tuple(notes), ())
    with open_retriever(vault, Identities(notes), settings, quiet, keeps_index=False) as engine:
        judges = free_judges(run, engine)
        counts.update(dict.fromkeys(judges.by_kind, 0))
        for probe in probes:
            verdicts = judge_freely(judges, probe.text, engine.search(probe.text))
            counts.update(kind for kind in judges.by_kind if not verdicts[kind].unanswerable)
    return counts


def _masked(notes: Sequence[Note], *, headings: bool) -> tuple[list[Note], list[_Probe]]:
    """Return the notes without the text of the probes, and the probes."""
    masked: list[Note] = []
    probes: list[_Probe] = []
    found = [_headings(note) if headings else _first_sentence(note) for note in notes]
    counts = Counter(question.casefold() for spans in found for _start, _end, question in spans)
    for note, own in zip(notes, found, strict=True):
        # A heading that several notes share, such as "What to do next", is answered by none alone.
        spans = [span for span in own if counts[span[2].casefold()] == 1]
        text = note.text
        for start, end, _question in reversed(spans):
            text = text[:start] + text[end:]
        changed = {
            "document": parse(text),
            "content_hash": content_hash(text.encode("utf-8", "surrogatepass")),
        }
        masked.append(replace(note, text=text, **changed) if spans else note)
        probes += [_Probe(note.path, question) for _start, _end, question in spans]
    return masked, probes


def _headings(note: Note) -> list[tuple[int, int, str]]:
    return [
        (heading.span.start, heading.span.end, heading.text)
        for heading in note.document.headings
        if heading.level > 1 and len(heading.text.split()) >= _HEADING_WORDS
    ]


def _first_sentence(note: Note) -> list[tuple[int, int, str]]:
    for block in note.document.blocks:
        if block.kind == "paragraph":
            own, start = block.span.slice(note.text), block.span.start
            for sentence in sentences(own):
                question = sentence.slice(own)
                if len(question.split()) >= _SENTENCE_WORDS:
                    return [(start + sentence.start, start + sentence.end, question)]
    return []
