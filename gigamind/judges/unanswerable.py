"""Which judge decides whether a query is unanswerable: a file in `judges/` or another one, read by its kind."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

from gigamind.assets import asset
from gigamind.choices import PromptLanguage, UnanswerableMode
from gigamind.errors import InputError
from gigamind.judges.calibrated import CalibratedJudge, load_calibrated_judge
from gigamind.judges.spec import kind_of, read_judge_file
from gigamind.judges.threshold import ThresholdJudge

if TYPE_CHECKING:  # what decides by rule must not cost the import of all that asks
    from gigamind.judges.unanswerable_llm import ModelJudge

RuleJudge = ThresholdJudge | CalibratedJudge
UnanswerableJudge: TypeAlias = "RuleJudge | ModelJudge"


def judge_path(mode: UnanswerableMode) -> Path:
    """The judge file of a mode that comes with gigamind."""
    return asset("judges") / f"unanswerable_{mode}.toml"


def load_question_judge(
    path: Path, language: PromptLanguage = "auto", embedder: str | None = None
) -> UnanswerableJudge:
    """The judge of a file.

    Args:
        embedder: the full name of the run's; None in keyword mode, or while it is not known.

    Raises:
        InputError: the file or a prompt cannot be read, or says something unknown.
    """
    kind = kind_of(path)
    if kind in get_args(ThresholdJudge.model_fields["kind"].annotation):
        return read_judge_file(path, ThresholdJudge)
    if kind == "calibrated":
        return load_calibrated_judge(path, embedder)
    if kind == "llm":
        from gigamind.judges.unanswerable_llm import load_model_judge

        return load_model_judge(path, language)
    raise InputError(
        f"{path}: kind: must be one of {', '.join(get_args(UnanswerableMode))}, and is {kind!r}"
    )
