"""The differences of two runs other than the measured values, and which comparisons they rule out (spec 7)."""

from collections.abc import Iterable, Iterator, Mapping

from gigamind.choices import Relaxable
from gigamind.errors import InputError
from gigamind.i18n import Message, Text, _, joined
from gigamind.release.comparison import WHAT, Checks, Mismatch, Severity
from gigamind.release.model import Snapshot


def mismatches(baseline: Snapshot, current: Snapshot) -> tuple[Mismatch, ...]:
    """Return all differences of two runs, the most serious first; InputError if the tasks differ."""
    check_task(baseline, current.task)
    return tuple(_differences(baseline, current))


def checklists(baseline: Snapshot, current: Snapshot) -> tuple[str, str]:
    """Return the fingerprints of both checklists; "" for a run without checks."""
    task = current.kind
    return task.checklist(baseline), task.checklist(current)


def checks_of(marks: tuple[str, str]) -> Checks:
    """Return how the checks compare, from the fingerprints of both checklists; "" is a run without checks."""
    baseline, current = marks
    if baseline == current:
        return "compared" if baseline else "none"
    if baseline and current:
        return "other"
    return "dropped" if baseline else "new"


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
    """Raise InputError if a gate would compare two embedding models (spec 7)."""
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
