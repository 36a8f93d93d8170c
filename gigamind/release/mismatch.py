"""Differences between two runs other than the measured values, and which comparisons they rule out (seed 6.2, 7)."""

from collections.abc import Iterable, Iterator, Mapping

from gigamind.choices import Relaxable
from gigamind.errors import InputError
from gigamind.i18n import Message, Text, _, joined
from gigamind.release.comparison import Mismatch, Snapshot
from gigamind.release.model import checks_of, why_not_compared


def mismatches(baseline: Snapshot, current: Snapshot) -> tuple[Mismatch, ...]:
    """Return all differences of two runs, the most serious first.

    Raises:
        InputError: the tasks differ.
    """
    check_task(baseline, current.task)
    return tuple(_differences(baseline, current))


def checklists(baseline: Snapshot, current: Snapshot) -> tuple[str, str]:
    """Return the fingerprints of both checklists; "" for a run without checks."""
    task = current.kind
    return task.checklist(baseline), task.checklist(current)


def _differences(baseline: Snapshot, current: Snapshot) -> Iterator[Mismatch]:  # noqa: C901  one case a difference
    task = current.kind
    if baseline.dataset_hash != current.dataset_hash:
        yield _dataset(baseline, current)
    if baseline.judge_fingerprint != current.judge_fingerprint:
        text = _(
            "The runs used different judges or thresholds, so their verdicts are not comparable."
        )
        yield _refused("judge", text)
    if embedders := _embedders(baseline, current):
        text = _(
            "The embedding models differ ({detail}), so their scores are not comparable.",
            detail=embedders,
        )
        yield _refused("embedding model", text, embedders)
    settings = _changed(_BEFORE | baseline.config, _BEFORE | current.config, task.settings)
    if _system(baseline) != _system(current):
        names = _pair(_system_name(baseline), _system_name(current))
        yield _open("system", "settings", _systems(baseline, current, names), names)
    elif settings:
        what = _SETTINGS[current.task]
        text = _(
            "The {settings} differ ({detail}), so the runs evaluated two different systems.",
            settings=WHAT[what],
            detail=settings,
        )
        yield _open(what, "settings", text, settings)
    if served := _changed(task.models(baseline.metrics), task.models(current.metrics)):
        text = _("The runs used different versions of the same model ({detail}).", detail=served)
        yield _open("model version", "models", text, served)
    # Without samples, the seed has no effect.
    is_sample = any(run.config.get("sample") is not None for run in (baseline, current))
    if drawn := _changed(baseline.config, current.config, _DRAWN if is_sample else ()):
        text = _(
            "The runs evaluated different samples of the dataset ({detail}). Items outside the samples may have got"
            " worse unnoticed.",
            detail=drawn,
        )
        yield _open("sample", "sample", text, drawn)
    notes = [(run.notes_hash, run.notes_hash_mode) for run in (baseline, current)]
    if notes[0] != notes[1]:
        text = _(
            "The notes changed between the runs. A change of a metric may come from the notes and not from the"
            " evaluated system."
        )
        yield _open("notes", "notes", text)
    if baseline.hardware.hash != current.hardware.hash:
        text = _(
            "The runs used different hardware ({detail}), so their speed is not compared.",
            detail=_pair(baseline.hardware.cpu, current.hardware.cpu),
        )
        yield _open("hardware", "hardware", text)
    marks = checklists(baseline, current)
    if checks_of(marks) not in {"none", "compared"}:
        yield Mismatch(what="checklist", severity="no-checks", meaning=why_not_compared(marks))
    if baseline.environment.rag_schema_version != current.environment.rag_schema_version:
        text = _(
            "The runs used different versions of the search index: chunks, tokens or scores may differ."
        )
        yield Mismatch(what="index schema", severity="warn", meaning=text)


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


def _systems(baseline: Snapshot, current: Snapshot, detail: Text) -> Message:
    """Return that the systems differ; how to name one system with two addresses, unless one cannot have a name."""
    differs = _("Different systems were evaluated ({detail}).", detail=detail)
    both = (baseline.environment.system, current.environment.system)
    if any(system is None or system.kind == "run" for system in both):
        return differs
    same = _(
        "If this is the same system at a new address, pass the same --system-name NAME in both runs."
    )
    return joined([differs, same], " ")


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
_FIX = _("Create a new baseline.")


def _refused(what: str, meaning: Message, detail: Text = "") -> Mismatch:
    both = joined([meaning, _FIX], " ")
    return Mismatch(what=what, severity="refuse", meaning=both, detail=detail)


def _same_questions(baseline: Snapshot, current: Snapshot) -> bool:
    """Return whether both runs evaluate answers recorded in their datasets, to the same questions."""
    task = current.kind
    if not (task.is_recorded(baseline) and task.is_recorded(current)):
        return False
    questions = [
        {entry.id: task.shown(entry).text for entry in run.items} for run in (baseline, current)
    ]
    return questions[0] == questions[1]


def _dataset(baseline: Snapshot, current: Snapshot) -> Mismatch:
    if _same_questions(baseline, current):
        return _refused(
            "recorded answers",
            _(
                "The datasets have the same questions but different answers, contexts or labels. To"
                " compare the answers of two systems, use one dataset and give the answers of each"
                " system with `--system run:FILE`."
            ),
        )
    text = _(
        "The datasets of the runs differ, so a change of a metric may come from the dataset and not from the"
        " evaluated system."
    )
    return _refused("dataset", text)


def _open(what: str, key: Relaxable, meaning: Message, detail: Text = "") -> Mismatch:
    fix = _(
        "If the change is intentional, make this run the baseline (`gigamind baseline promote --force`) or"
        " rerun with `--changed {key}`.",
        key=key,
    )
    both = joined([meaning, fix], " ")
    return Mismatch(what=what, severity="no-verdict", meaning=both, relaxed_by=key, detail=detail)


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
    """Check that a gate does not compare two embedding models (seed 7).

    Raises:
        InputError: the models differ.
    """
    if differing := _embedders(baseline, current):
        raise InputError(
            "the runs cannot be compared: their embedding models differ ({models}). Create a new baseline with"
            " the model of this run, or compare finished runs with `gigamind compare`.",
            models=differing,
        )


def check_task(baseline: Snapshot, task: str) -> None:
    """Check that a baseline belongs to this task.

    Raises:
        InputError: it belongs to another task.
    """
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
