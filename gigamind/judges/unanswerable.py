"""Loads the judge that decides whether a query is unanswerable, from `judges/` or another file, by its kind."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

from gigamind.assets import asset
from gigamind.choices import PromptLanguage, UnanswerableMode
from gigamind.judges.calibrated import CalibratedJudge, load_calibrated_judge
from gigamind.judges.spec import kind_of, read_judge_file, wrong_kind
from gigamind.judges.threshold import ThresholdJudge

if TYPE_CHECKING:  # rule-based judges must not pay for importing the judges with models
    from gigamind.judges.unanswerable_llm import ModelJudge

RuleJudge = ThresholdJudge | CalibratedJudge
UnanswerableJudge: TypeAlias = "RuleJudge | ModelJudge"


def judge_path(mode: UnanswerableMode) -> Path:
    """Return the included judge file of a mode."""
    return asset("judges") / f"unanswerable_{mode}.toml"


def load_question_judge(
    path: Path, language: PromptLanguage = "auto", embedder: str | None = None
) -> UnanswerableJudge:
    """Return the judge of a file; raise InputError if it or a prompt cannot be read, or has unknown fields.

    `embedder` is the full name of the run's; None in keyword mode or while unknown.
    """
    kind = kind_of(path)
    if kind in get_args(ThresholdJudge.model_fields["kind"].annotation):
        return read_judge_file(path, ThresholdJudge)
    if kind == "calibrated":
        return load_calibrated_judge(path, embedder)
    if kind == "llm":
        from gigamind.judges.unanswerable_llm import load_model_judge

        return load_model_judge(path, language)
    raise wrong_kind(path, kind, get_args(UnanswerableMode))
