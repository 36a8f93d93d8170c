"""Which judge a search evaluation's options name, and how its reports call it."""

from dataclasses import dataclass
from pathlib import Path

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.evals.options import SearchEvalOptions
from gigamind.judges.calibrated import CalibratedJudge
from gigamind.judges.localised import named
from gigamind.judges.threshold import ThresholdJudge
from gigamind.judges.unanswerable import (
    ModelJudge,
    UnanswerableJudge,
    judge_path,
    load_judge,
)
from gigamind.reports.judged import JudgeReport


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """A judge, ready to judge, and what run.json says of it."""

    judge: UnanswerableJudge
    report: JudgeReport
    warnings: tuple[str, ...] = ()


def choose_judge(options: SearchEvalOptions, embedder: str | None = None) -> ChosenJudge:
    """The judge of the options.

    Args:
        embedder: the full name of the run's; None in keyword mode, or while it is not known.

    Raises:
        InputError: its file cannot be used, or an option says something that it cannot follow.
    """
    mode = options.unanswerable_mode
    path = options.judge or judge_path(mode)
    judge = load_judge(path, options.judge_lang, embedder)
    if options.judge and mode not in {"threshold", judge.kind}:
        raise InputError(
            f"--judge {path}: is of the kind {judge.kind}, and --unanswerable-mode says {mode}; leave one out"
        )
    if options.resume and not isinstance(judge, ModelJudge):
        raise InputError(
            f"--resume: the judge {path} asks no model, so its runs keep nothing to continue; leave it out"
        )
    if isinstance(judge, ThresholdJudge):
        if options.min_score is not None:
            judge = judge.model_copy(update={"min_score": options.min_score})
        report = JudgeReport(
            kind=judge.kind,
            file=_name(path),
            fingerprint=judge.fingerprint,
            setting=judge.min_score,
        )
        return ChosenJudge(judge, report)
    if options.min_score is not None:
        raise InputError("--min-score: only a judge of the kind threshold has one; leave it out")
    if isinstance(judge, CalibratedJudge):
        report = JudgeReport(
            kind=judge.kind,
            file=_name(path),
            fingerprint=judge.fingerprint,
            setting=judge.calibration.min_probability,
        )
        return ChosenJudge(judge, report, judge.warnings)
    model = named(judge.models(options))
    report = JudgeReport(
        kind="llm",
        file=_name(path),
        fingerprint=judge.fingerprint(model),
        model=model,
        languages=tuple(judge.by_language),
    )
    return ChosenJudge(judge, report, _unasked(options, judge))


def asks_a_model(options: SearchEvalOptions) -> bool:
    """Whether the judge of the options asks a model.

    Raises:
        InputError: see `choose_judge`.
    """
    return choose_judge(options).report.asks_a_model


def _unasked(options: SearchEvalOptions, judge: ModelJudge) -> tuple[str, ...]:
    """A warning for a model that is named in vain."""
    if options.model is None or not judge.file.panel:
        return ()
    told = f"--model {options.model}: is not asked, for the judge file names a panel of its own"
    return (told,)


def _name(path: Path) -> str:
    """A file that comes with gigamind by its short name, which is the same everywhere."""
    own = asset("judges")
    return f"judges/{path.name}" if path.parent == own else str(path)
