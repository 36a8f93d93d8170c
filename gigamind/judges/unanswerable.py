"""Which judge decides whether a query is unanswerable: a file in `judges/` or another one, read by its kind."""

import tomllib
from pathlib import Path
from typing import Literal

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.judges.calibrated import CalibratedJudge, load_calibrated_judge
from gigamind.judges.localised import LocalisedJudge
from gigamind.judges.spec import LANGUAGES, LlmJudge, PromptLanguage, read_judge_file
from gigamind.judges.threshold import ThresholdJudge
from gigamind.judges.unanswerable_llm import UnanswerableJudgeFile, load_unanswerable_judge

UnanswerableMode = Literal["threshold", "calibrated", "llm"]


class ModelJudge(LocalisedJudge[LlmJudge[UnanswerableJudgeFile]]):
    """The judge of kind `llm`."""

    __slots__ = ()

    @property
    def kind(self) -> Literal["llm"]:
        """As the judge file has it."""
        return "llm"


UnanswerableJudge = ThresholdJudge | CalibratedJudge | ModelJudge


def judge_path(mode: UnanswerableMode) -> Path:
    """The judge file of a mode that comes with gigamind."""
    return asset("judges") / f"unanswerable_{mode}.toml"


def load_judge(
    path: Path, language: PromptLanguage = "auto", embedder: str | None = None
) -> UnanswerableJudge:
    """The judge of a file.

    Args:
        embedder: the full name of the run's; None in keyword mode, or while it is not known.

    Raises:
        InputError: the file or a prompt cannot be read, or says something unknown.
    """
    kind = _kind(path)
    if kind == "threshold":
        return read_judge_file(path, ThresholdJudge)
    if kind == "calibrated":
        return load_calibrated_judge(path, embedder)
    if kind == "llm":
        return load_model_judge(path, language)
    raise InputError(f"{path}: kind: must be threshold, calibrated or llm, and is {kind!r}")


def load_model_judge(path: Path, language: PromptLanguage = "auto") -> ModelJudge:
    """The judge of a file of kind `llm`.

    Raises:
        InputError: the file or a prompt cannot be read, or says something unknown.
    """
    return ModelJudge({name: load_unanswerable_judge(path, name) for name in LANGUAGES[language]})


def _kind(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")).get("kind")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: the judge file cannot be read: {error}") from error
