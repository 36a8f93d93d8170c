"""Builds the command line of a search evaluation from its options."""

import shlex
from typing import cast

from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.schema import JudgeRates

# These options control how a run is shown and stored, not what it measures.
_OMITTED = {"task", "out", "format", "lang", "figures", "save_snapshot"}
_JUDGE_OPTIONS = {"unanswerable_mode", "min_score", "judge"}


def eval_command(options: SearchEvalOptions, judge: JudgeRates | None) -> str:
    """Return the command of an evaluation with these options, with another judge if one is given."""
    hybrid = ("fusion", *(("alpha",) if options.fusion == "weighted" else ()))
    always = {"dataset", "notes", "mode", *(hybrid if options.mode == "hybrid" else ())}
    other = judge is not None and not judge.chosen
    shown, typed = options.for_report(), list[str]()
    for name, field in SearchEvalOptions.model_fields.items():
        omitted = name in _OMITTED or (other and name in _JUDGE_OPTIONS)
        if not omitted and (name in always or getattr(options, name) != field.default):
            typed += _typed(f"--{name.replace('_', '-')}", shown[name])
    own = ("--unanswerable-mode", judge.kind) if judge is not None and other else ()
    return f"gigamind eval search {shlex.join([*typed, *own])}"


def _typed(flag: str, value: object) -> list[str]:
    if value is True:
        return [flag]
    if value is False:
        return [f"--no-{flag.removeprefix('--')}"]
    if isinstance(value, list):
        return [word for part in cast("list[object]", value) for word in (flag, str(part))]
    return [flag, str(value)]
