"""In what two runs differ beside what is measured, and what that takes away from a comparison (seed 6.2 and 7)."""

from collections.abc import Iterable, Mapping

from gigamind.choices import Relaxable
from gigamind.errors import InputError
from gigamind.release.comparison import Mismatch, Snapshot
from gigamind.release.model import checks_of, why_not_compared


def mismatches(baseline: Snapshot, current: Snapshot) -> tuple[Mismatch, ...]:
    """Everything in which the two differ, the gravest first.

    Raises:
        InputError: the tasks differ.
    """
    check_task(baseline, current.task)
    return tuple(mismatch for differs, mismatch in _checks(baseline, current) if differs)


def checklists(baseline: Snapshot, current: Snapshot) -> tuple[str, str]:
    """Fingerprints of the checklists of both; "" for a run without checks."""
    task = current.kind
    return task.checklist(baseline), task.checklist(current)


def _checks(baseline: Snapshot, current: Snapshot) -> tuple[tuple[bool, Mismatch], ...]:
    """What may differ, and whether it does."""
    task = current.kind
    settings = _changed(_BEFORE | baseline.config, _BEFORE | current.config, task.settings)
    drawn = _changed(baseline.config, current.config, _DRAWN if _samples(baseline, current) else ())
    served = _changed(task.models(baseline.metrics), task.models(current.metrics))
    marks = checklists(baseline, current)
    embedders = _embedders(baseline, current)
    return (
        (baseline.dataset_hash != current.dataset_hash, _dataset(baseline, current)),
        (
            baseline.judge_fingerprint != current.judge_fingerprint,
            _refused("judge", "The verdicts were given by different judges or thresholds."),
        ),
        (
            bool(embedders),
            _refused(
                "embedding model",
                f"The embedding models differ ({embedders}): their scores have nothing in common.",
                embedders,
            ),
        ),
        (
            _system(baseline) != _system(current),
            _open(
                "system",
                "settings",
                f"Two systems were evaluated ({_named(baseline)}; {_named(current)}).{_one_name(baseline, current)}",
                f"{_named(baseline)} -> {_named(current)}",
            ),
        ),
        (
            bool(settings) and _system(baseline) == _system(current),
            _open(
                f"{task.said.setting} settings",
                "settings",
                f"{task.said.setting.capitalize()} was set differently ({settings}): the runs are of two systems.",
                settings,
            ),
        ),
        (
            bool(served),
            _open(
                "model version",
                "models",
                f"A model of the same name answered in another version ({served}).",
                served,
            ),
        ),
        (
            bool(drawn),
            _open(
                "sample",
                "sample",
                f"Other {task.said.subject} were drawn ({drawn}): what was left out may have got worse.",
                drawn,
            ),
        ),
        (
            baseline.notes_hash != current.notes_hash
            or baseline.notes_hash_mode != current.notes_hash_mode,
            _open(
                "notes",
                "notes",
                f"The notes changed: a difference may come from them and not from {task.said.maker}.",
            ),
        ),
        (
            baseline.hardware.hash != current.hardware.hash,
            _open(
                "hardware",
                "hardware",
                f"The hardware differs ({baseline.hardware.cpu}; {current.hardware.cpu}): speed is not compared.",
            ),
        ),
        (
            checks_of(marks) not in {"none", "compared"},
            Mismatch(what="checklist", severity="no-checks", meaning=why_not_compared(marks)),
        ),
        (
            baseline.environment.rag_schema_version != current.environment.rag_schema_version,
            Mismatch(
                what="index schema",
                severity="warn",
                meaning="The index is built in another way (chunks, tokens or scores).",
            ),
        ),
    )


_DRAWN = ("sample", "seed")
_WITHOUT_MODEL = ("mode", "semantic")  # settings that say whether anything is embedded
_BEFORE = {  # what runs did that are older than an option
    "fusion": "weighted",
    "title_weight": 0.1,
    "chunk_chars": 800,
    "evidence_notes": 3,
    "context_notes": 5,
    "context_chars": 12_000,
}
_MEND = "A new baseline is needed"


def _refused(what: str, meaning: str, detail: str = "") -> Mismatch:
    return Mismatch(what=what, severity="refuse", meaning=f"{meaning} {_MEND}.", detail=detail)


def asks_the_same(baseline: Snapshot, current: Snapshot) -> bool:
    """Whether both runs are of answers that their datasets record, to the same questions."""
    task = current.kind
    if not (task.is_recorded(baseline) and task.is_recorded(current)):
        return False
    asked = [{item.id: task.shown(item).text for item in run.items} for run in (baseline, current)]
    return asked[0] == asked[1]


def _dataset(baseline: Snapshot, current: Snapshot) -> Mismatch:
    if baseline.dataset_hash != current.dataset_hash and asks_the_same(baseline, current):
        return _refused(
            "recorded answers",
            "The datasets ask the same questions, and what they record with them (answers, contexts or labels) differs."
            " To compare the answers of two systems, keep one dataset and give the answers of each with"
            " `--system run:FILE`.",
        )
    return _refused(
        "dataset",
        f"The datasets differ: a difference may come from the {current.kind.said.subject}.",
    )


def _open(what: str, key: Relaxable, meaning: str, detail: str = "") -> Mismatch:
    mend = (
        f"{_MEND}: where the change is meant, `gigamind baseline promote` this run;"
        f" `--changed {key}` compares all the same."
    )
    return Mismatch(
        what=what, severity="no-verdict", meaning=f"{meaning} {mend}", relaxed_by=key, detail=detail
    )


def _samples(baseline: Snapshot, current: Snapshot) -> bool:
    """Whether either run left items out; else the seed draws nothing."""
    return any(run.config.get("sample") is not None for run in (baseline, current))


def _system(run: Snapshot) -> str:
    """What tells systems apart; "" for gigamind's own engine."""
    return run.environment.system.fingerprint if run.environment.system else ""


def _named(run: Snapshot) -> str:
    return run.environment.system.name if run.environment.system else "builtin"


def _one_name(baseline: Snapshot, current: Snapshot) -> str:
    """How to say that one system runs at two places; "" where one of the two can have no name."""
    both = (baseline.environment.system, current.environment.system)
    if any(system is None or system.kind == "run" for system in both):
        return ""
    return " Where they are one at two places, give --system-name NAME in both runs."


def _embedders(baseline: Snapshot, current: Snapshot) -> str:
    """Both embedding models where one system has two; "" otherwise.

    A run that has none because it was told to search without, which its settings tell, lost its model to no other one.
    """
    before, after = (run.environment.embedding_model for run in (baseline, current))
    if before == after or _system(baseline) != _system(current):
        return ""
    is_told = any(baseline.config.get(name) != current.config.get(name) for name in _WITHOUT_MODEL)
    if None in {before, after} and is_told:
        return ""
    if before is None:
        return f"none -> {after}"
    return f"{before} -> {after}" if after else f"{before} -> none"


def check_models(baseline: Snapshot, current: Snapshot) -> None:
    """See to it that a gate does not hold one embedding model against another (seed 7).

    Raises:
        InputError: the models differ.
    """
    if differing := _embedders(baseline, current):
        raise InputError(
            f"the runs cannot be compared: their embedding models differ ({differing}); make a new baseline with the"
            " new model, or hold finished runs against each other with `gigamind compare`"
        )


def check_task(baseline: Snapshot, task: str) -> None:
    """See to it that a baseline is of this task.

    Raises:
        InputError: it is of another one.
    """
    if baseline.task != task:
        raise InputError(
            f"the runs cannot be compared: the baseline {baseline.run_id} is of the task {baseline.task}, the current"
            f" run of {task}; give a baseline of {task}"
        )


def _changed(
    baseline: Mapping[str, object],
    current: Mapping[str, object],
    names: Iterable[str] | None = None,
) -> str:
    """What differs of what both have, with both values; "" where nothing does."""
    both = (
        (name, baseline[name], current[name])
        for name in (current if names is None else names)
        if name in baseline and name in current
    )
    return ", ".join(
        f"{name} {_plain(name, old)} -> {_plain(name, new)}"
        for name, old, new in both
        if old != new
    )


def _plain(name: str, value: object) -> str:
    if value is None:
        return "all" if name == "sample" else "none"
    return str(value).strip("(),").replace("'", "")  # names of models come as a tuple
