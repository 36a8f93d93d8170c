"""Reads the definition of a judge that uses a model: its file in `judges/` and its prompt in `prompts/`.

Both, with the schema of the reply, make up the judge's fingerprint: runs with other fingerprints are not comparable.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gigamind.assets import asset
from gigamind.choices import PromptLanguage
from gigamind.errors import InputError
from gigamind.i18n import LANGUAGES as CATALOGUES
from gigamind.i18n import Language
from gigamind.loading import read_fields
from gigamind.prompting.prompts import Prompt
from gigamind.records.judged import JudgeReport

LANGUAGES: Mapping[PromptLanguage, tuple[Language, ...]] = {
    "auto": ("ko", "en"),
    **{language: (language,) for language in CATALOGUES},
}


_PromptName = Annotated[str, Field(pattern=r"^[a-z_]+/v[1-9][0-9]*$")]
"""A folder in `prompts/`."""


class Tuned(BaseModel):
    """What `gigamind judge tune` records: the labelled items (answers or queries) that the judge learned from.

    `kept` are the items that can certify it. `gain` is the difference of balanced accuracies on items that did not
    choose, with its 95 % interval.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset_hash: str
    labels_hash: str
    learned_from: tuple[str, ...]
    kept: tuple[str, ...]
    gain: float
    low: float
    high: float


class JudgeFile(BaseModel):
    """A file in `judges/`; each kind of judge has its own fields, `kind` among them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    also_hashed: ClassVar[Mapping[str, Any]] = {}
    tuned: Tuned | None = Field(default=None, exclude_if=lambda tuned: tuned is None)

    def fingerprint_with(self, *parts: str | type[BaseModel]) -> str:
        """Return the SHA-256, in hexadecimal, of a judge's file and of everything else that determines its verdicts."""
        values: list[Any] = [{**self.also_hashed, **self.model_dump(mode="json")}]
        values += [part if isinstance(part, str) else part.model_json_schema() for part in parts]
        return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class _AnyJudgeFile(JudgeFile, extra="ignore"):
    kind: str


NO_PANEL: Mapping[str, Any] = {
    "panel": [], "repeats": 1, "adaptive": False, "near": 0.1, "tie": "unscored", "missing_seat": "unscored",
}  # fmt: skip
"""Removed fields with their defaults: part of fingerprints, so that these stay the same."""


class LlmJudgeFile(JudgeFile):
    """Fields that the files of all judges with a model share."""

    prompt: _PromptName
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    max_tokens: Annotated[int, Field(ge=64, le=64_000)] = 768


_AnyJudge = TypeVar("_AnyJudge")


@dataclass(frozen=True, slots=True)
class Chosen(Generic[_AnyJudge]):
    """A judge that is ready to use, with its report for run.json."""

    judge: _AnyJudge
    report: JudgeReport
    warnings: tuple[str, ...] = ()


_File = TypeVar("_File", bound=JudgeFile)
_LlmFile_co = TypeVar("_LlmFile_co", bound=LlmJudgeFile, covariant=True)


@dataclass(frozen=True, slots=True)
class LlmJudge(Generic[_LlmFile_co]):
    """A judge with a model, ready to use; `fingerprint` is the SHA-256 of file, prompt and reply schema."""

    file: _LlmFile_co
    prompt: Prompt
    fingerprint: str

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return (self.prompt,)


def load_llm_judge(
    path: Path,
    language: Language,
    file: type[_LlmFile_co],
    reply: type[BaseModel],
    given: Collection[str],
    *parts: str,
) -> LlmJudge[_LlmFile_co]:
    """Return the judge of a file, with fields as in `file` and its prompt, of variables `given`, in one language.

    `parts` are further parts of the fingerprint, such as the version of the rules in code. Raises InputError if the
    file or the prompt cannot be read, or has unknown fields.
    """
    read = read_judge_file(path, file)
    prompt = Prompt.load(asset("prompts") / read.prompt / f"{language}.jinja", given)
    mark = read.fingerprint_with(prompt.fingerprint, reply)
    return LlmJudge(read, prompt, read.fingerprint_with(mark, *parts) if parts else mark)


def short_name(path: Path) -> str:
    """Return a judge file's name for reports: for included judges, the same on every machine."""
    return f"judges/{path.name}" if path.parent == asset("judges") else str(path)


def read_judge_file(path: Path, model: type[_File]) -> _File:
    """Return the fields of a judge file; raise InputError, which names an unknown or invalid field."""
    return read_fields(path, model, "judge file")


def learned_from(judge: object) -> tuple[str, ...]:
    """Return the items that a judge or its file has learned from."""
    tuned: Tuned | None = getattr(getattr(judge, "file", judge), "tuned", None)
    return tuned.learned_from if tuned else ()


def kind_of(path: Path, kinds: Collection[str] | None = None) -> str:
    """Return the kind of a judge file; InputError if it cannot be read, or its kind is not one of `kinds`, if given."""
    if path.suffix == ".py" or (":" in path.name and not path.exists()):
        raise InputError(
            "--judge {file}: must be a TOML file. For answers, MODULE:CLASS or nli:FOLDER is possible, too.",
            file=path,
        )
    kind = read_judge_file(path, _AnyJudgeFile).kind
    if kinds is not None and kind not in kinds:
        raise InputError(
            "{file}: a judge of the kind {kind!r} cannot be used for this. Use a judge file whose kind is one of:"
            " {kinds}.",
            file=path,
            kinds=tuple(kinds),
            kind=kind,
        )
    return kind
