"""Which judge decides whether a query is unanswerable: a file in `judges/` or another one, read by its kind."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.judges.calibrated import CalibratedJudge, load_calibrated_judge
from gigamind.judges.spec import (
    LANGUAGES,
    Language,
    LlmJudge,
    PromptLanguage,
    fingerprint_of_run,
    read_judge_file,
)
from gigamind.judges.threshold import ThresholdJudge
from gigamind.judges.unanswerable_llm import UnanswerableJudgeFile, load_unanswerable_judge
from gigamind.llm.options import ModelOptions

UnanswerableMode = Literal["threshold", "calibrated", "llm"]


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A judge that asks a model, with its prompt in each language that it may ask in."""

    by_language: Mapping[Language, LlmJudge[UnanswerableJudgeFile]]

    @property
    def kind(self) -> Literal["llm"]:
        """As the judge file has it."""
        return "llm"

    @property
    def file(self) -> UnanswerableJudgeFile:
        """The judge file."""
        return self.judge_in("").file

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """The models that it asks: those of its panel, else that of the run.

        Raises:
            InputError: neither the judge file nor the options name one.
        """
        return self.file.panel or (options.settings().model,)

    def judge_in(self, language: str) -> LlmJudge[UnanswerableJudgeFile]:
        """The judge whose prompt is in this language, else in the first there is."""
        known = {str(name): judge for name, judge in self.by_language.items()}
        return known.get(language) or next(iter(known.values()))

    def fingerprint(self, model: str) -> str:
        """Changes with the file, a prompt, the reply's schema, and the model, or `named(models)` of a panel."""
        return fingerprint_of_run(list(self.by_language.values()), model)


def named(models: Sequence[str]) -> str:
    """One or several models as reports name them."""
    return ", ".join(models)


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
