"""The options of every evaluation, and messages about invalid ones for users.

A task adds its own options to `EvalOptions`; a task that uses models also to `ModelRunOptions`.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic_core import to_jsonable_python

from gigamind.choices import Phase, PromptLanguage, Relaxable, TaskName
from gigamind.datasets.sample import sample_size
from gigamind.errors import InputError, text_of
from gigamind.i18n import Language, LanguageChoice, Message, Text, _, joined, language_of
from gigamind.llm.settings import Determinism, ModelOptions
from gigamind.loading import ConfigReport, demand_of, placed_judge
from gigamind.redaction import without_secrets
from gigamind.retrieval.settings import FusionName, Mode, RetrievalSettings, default_cache_folder

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


_Options = TypeVar("_Options", bound=BaseModel)


def validated(model: type[_Options], values: Mapping[str, object]) -> _Options:
    """Return the options in `values`, by field name; InputError names each wrong value and what it must be."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(joined(map(_problem, error.errors()), "\n")) from error


def _problem(details: "ErrorDetails") -> Text:
    if not details["loc"]:  # of several options together
        return demand_of(details)
    option = f"--{details['loc'][0]}".replace("_", "-")
    if details["type"] == "missing":
        return _("{option} is required", option=option)
    if details["type"] == "extra_forbidden":
        return _("{option}: there is no such option", option=option)
    value = str(details["input"])
    return _("{option} {value}: {demand}", option=option, value=value, demand=demand_of(details))


def _check_sample(value: str) -> str:
    try:
        sample_size(value)
    except InputError as error:
        raise ValueError(text_of(error)) from error
    return value


def _out_of(folder: Path) -> Path:
    """Return the output folder of a run that may be named by the folder it keeps until it is finished."""
    return folder.with_suffix("") if folder.suffix == ".unfinished" else folder


_SampleText = Annotated[str, AfterValidator(_check_sample)]  # "50" is a count, "0.2" a share

OWN_SECTION = "search"
"""Placeholder of the section with a task's own options, which is named after the task."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "what": (
        *("task", "dataset", "notes", "exclude", "system", "system_config", "system_name"),
        *("sample", "seed", "deterministic"),
    ),
    "where": (
        *("out", "lang", "format", "save_snapshot"),
        *("junit", "comment", "resume", "cache_dir"),
        *("dry_run", "strict", "min_rows", "notes_hash_mode", "notes_hash_exclude"),
    ),
    OWN_SECTION: (),
    "judge": (
        *("unanswerable_mode", "min_score", "judge", "judge_forecast"),
        *("judge_lang", "fresh_fraction", "checklist", "checklist_judge", "feature"),
    ),
    "model": (
        *("model", "api_base", "key_variable", "structured", "model_timeout_s", "max_wait"),
        *("max_in_flight", "requests_per_minute", "tokens_per_minute", "store", "store_mode"),
    ),
    "budget": (
        *("max_cost_usd", "max_calls", "max_minutes", "prices", "min_coverage", "allow_partial"),
        *("batch", "batch_poll"),
    ),
    "gate": ("compare", "changed", "phase", "gates", "judge_card", "fail_on_regression"),
}
"""Groups of options in the form of a deployment and in help pages."""


class ReleaseOptions(BaseModel):
    """Options of a comparison and of the output of its verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    phase: Phase = Field(
        "mvp", description="release phase (mvp, beta or ga) whose gate thresholds apply"
    )
    gates: Path | None = Field(
        None,
        description="file with the gate thresholds (default: the gates.toml included with gigamind)",
    )
    changed: tuple[Relaxable, ...] = Field(
        (),
        description="part of the setup (notes, hardware, settings, sample or models) that you changed intentionally, so"
        " that it may differ from the baseline; repeatable",
    )
    judge_card: Path | None = Field(
        None,
        description="judge report to check against the gates: its file or folder, written by `gigamind judge certify`",
    )
    fail_on_regression: bool = Field(
        default=False,
        description="exit with code 4 if a gate fails, and with code 1 if the run and the baseline are not comparable",
    )
    junit: Path | None = Field(None, description="write the gate results to this file as JUnit XML")
    comment: Path | None = Field(
        None,
        description="write a short summary for a pull request to this file: verdict, metrics and items that got worse",
    )
    _informational: bool = PrivateAttr(default=False)

    @property
    def is_informational(self) -> bool:
        """Return whether the comparison decides on no release."""
        return self._informational

    def informed_by(self, baseline: Path | None) -> Self:
        """Return a copy that is compared with a baseline for information, as the options name none."""
        changed = self.model_copy(update={"compare": baseline})
        changed._informational = True  # noqa: SLF001  a copy of itself
        return changed


class EvalOptions(ReleaseOptions, Determinism):
    """Options of every evaluation. Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: TaskName = Field(description="task to evaluate")
    dataset: Path = Field(description="dataset, one JSON object per line")
    notes: Path = Field(description="the vault (folder of Markdown notes)")
    out: Path | None = Field(None, description="output folder (default: eval/out/<time>)")
    format: Literal["json", "md", "both"] = Field(
        "both",
        description="files to write: json writes summary.json, md writes summary.md and report.html, both writes"
        " all three",
    )
    lang: LanguageChoice = Field(
        "auto", description="language of the reports; auto follows LC_ALL, LC_MESSAGES or LANG"
    )
    seed: int = Field(
        42, ge=0, description="random seed for sampling and bootstrap confidence intervals"
    )
    sample: _SampleText | None = Field(
        None, description="evaluate a random sample: a count such as 50 or a share such as 0.2"
    )
    strict: bool = Field(
        default=False,
        description="exit with code 1 if a dataset row is invalid or a note name matches several notes",
    )
    min_rows: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.5,
        description="minimum share of usable dataset rows, 0 to 1; below it, the exit code is 1",
    )
    dry_run: bool = Field(
        default=False,
        description="check the dataset and the notes, estimate requests, cost and time, then stop without evaluating",
    )
    exclude: tuple[str, ...] = Field(
        (),
        description="patterns of notes and folders of the vault that are not read, such as drafts/ or *.draft.md",
    )
    notes_hash_mode: Literal["content", "mtime"] = Field(
        "content",
        description="compute the hash of the vault from file paths and contents (content), or from paths and"
        " modification times (mtime)",
    )
    notes_hash_exclude: tuple[str, ...] = Field(
        (),
        description="patterns of further files to leave out of the hash of the vault, such as *.bak",
    )
    save_snapshot: bool = Field(
        default=False, description="write snapshot.json as a baseline for later runs"
    )
    compare: Path | None = Field(
        None,
        description="compare with this baseline: a snapshot.json, an output folder or a folder of baselines",
    )
    config: ConfigReport | None = Field(
        None,
        description="options that the command line read from a configuration file; gigamind sets this value",
    )

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.deterministic and self.sample is not None:
            problem = _(
                "--deterministic evaluates every item, so it cannot be combined with --sample. Remove one of"
                " them."
            )
            raise ValueError(problem)
        if self.fail_on_regression and self.compare is None and self.gates is None:
            problem = _(
                "--fail-on-regression needs a baseline, such as --compare eval/baselines,"
                " or a --gates file with [floors] or [ceilings]"
            )
            raise ValueError(problem)
        return self

    def flags(self, names: Iterable[str]) -> str:
        """Return the options that differ from their defaults, as flags; "" if there are none."""
        fields = type(self).model_fields
        given = [name for name in names if getattr(self, name) != fields[name].default]
        return ", ".join(f"--{name.replace('_', '-')}" for name in given)

    def typed(self, names: Iterable[str]) -> str:
        """Return `flags` without options from a configuration file, which is shared by many commands."""
        kept = self.config.options if self.config else ()
        return self.flags(name for name in names if name not in kept)

    def idle_in_gate(self) -> Iterator[Message]:
        """Yield a warning about gate options without effect; bounds and judge reports use the phase, too."""
        has_phase = self.gates is not None or self.judge_card is not None
        idle = self.typed(("changed",) if has_phase else ("changed", "phase"))
        if idle and not self.compare:
            yield _("{options}: no effect without a baseline. Add --compare.", options=idle)

    def in_any_folder(self) -> Self:
        """Return a copy with absolute paths, that of the cache included."""
        paths = {name: path.absolute() for name, path in self if isinstance(path, Path)}
        if isinstance(self, ModelRunOptions):
            paths["cache_dir"] = self.cache.absolute()
            if self.judge:
                paths["judge"] = Path(placed_judge(str(self.judge), Path.cwd()))
        return self.model_copy(update=paths)

    @property
    def language(self) -> Language:
        return language_of(self.lang)

    def for_report(self) -> dict[str, object]:
        """Return the options as JSON values for run.json, without task and config."""
        resolved = self.model_copy(update={"lang": self.language})
        shown: dict[str, object] = resolved.model_dump(mode="json", exclude={"task", "config"})
        for name in _ADDRESSES:
            if isinstance(address := shown.get(name), str):
                shown[name] = without_secrets(address)
        return shown


_ADDRESSES = ("api_base", "answer_api_base", "embedding_api_base", "qdrant_url")
_NOT_REPEATED = (
    *("task", "out", "format", "lang", "save_snapshot", "cache_dir", "resume", "dry_run"),
    *("compare", "changed", "fail_on_regression", "junit", "comment"),
)


def given_options(
    kind: type[EvalOptions],
    shown: Mapping[str, object],
    always: Collection[str] = (),
    /,
    **changes: object,
) -> dict[str, object]:
    """Return the options of a run.json that differ from their defaults, by flag, with some changed.

    Options about the output and the baseline are left out.
    """
    values = {**shown, **changes}
    return {
        name.replace("_", "-"): values[name]
        for name, field in kind.model_fields.items()
        if name in values
        and name not in _NOT_REPEATED
        and (name in always or values[name] != to_jsonable_python(field.default, fallback=str))
    }


def eval_command(task: str, values: Mapping[str, object], group: str = "eval") -> str:
    """Return the command of an evaluation with these options, or of another `group` with the same ones."""
    typed = (word for name, value in values.items() for word in _typed(f"--{name}", value))
    return f"gigamind {group} {task} {shlex.join(typed)}"


def _typed(flag: str, value: object) -> list[str]:
    if value is None:  # another system has no such option
        return []
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    if isinstance(value, list):
        return [word for part in cast("list[object]", value) for word in (flag, str(part))]
    return [flag, str(value)]


class ContextOptions(BaseModel, defer_build=True):
    """How much of the retrieved notes a model is shown."""

    context_notes: int = Field(
        5, ge=1, le=50, description="maximum number of retrieved notes to show to a model"
    )
    context_chars: int = Field(
        12_000,
        ge=500,
        le=1_000_000,
        description="maximum characters of retrieved notes to show to a model, over all notes together",
    )

    def searched_by(
        self, mode: Mode, fusion: FusionName, embedder: str, cache: Path
    ) -> RetrievalSettings:
        return RetrievalSettings(
            mode=mode, fusion=fusion, topk=self.context_notes, embedder=embedder, cache=cache
        )


class CacheOptions(BaseModel, defer_build=True):
    """Location of caches."""

    cache_dir: Path | None = Field(
        None,
        description="folder for vectors, indexes and model replies (default: the user's cache folder)",
    )

    @property
    def cache(self) -> Path:
        return self.cache_dir or default_cache_folder()


class ModelRunOptions(ModelOptions, CacheOptions):
    """Options of every evaluation that uses a model."""

    judge: Path | None = Field(
        None,
        description="judge file (or for answers nli:FOLDER, MODULE:CLASS) instead of the default; see judges/README.md",
    )
    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto uses the item's language"
    )
    batch: bool = Field(
        default=False,
        description="use the batch API (OpenAI, Anthropic): half the price, up to 24 hours per round of requests",
    )
    batch_poll: float = Field(
        10.0,
        gt=0,
        le=3_600,
        allow_inf_nan=False,
        description="initial number of seconds between checks whether a batch is finished; the interval grows to at"
        " most 5 minutes",
    )
    fresh_fraction: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0,
        description="share of items to judge twice, 0 to 1; measures whether the judge repeats its verdicts"
        " (test-retest consistency)",
    )
    resume: Annotated[Path, AfterValidator(_out_of)] | None = Field(
        None, description="resume the interrupted run that writes to this output folder"
    )
    allow_partial: bool = Field(
        default=False,
        description="exit with code 0 even if items have no verdict, or the external system did not answer them",
    )
    min_coverage: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.8,
        description="minimum share of items with a verdict, 0 to 1; below it, the exit code is 3",
    )

    @model_validator(mode="after")
    def _check_fresh(self) -> Self:
        if self.deterministic and self.fresh_fraction:
            raise ValueError(
                _("--deterministic cannot be combined with --fresh-fraction. Remove one of them.")
            )
        return self

    @property
    def replies(self) -> Path:
        return self.store or self.cache / "replies"

    def written_to(self, out: Path | None) -> Path | None:
        """Return the output folder; None for one named by time, InputError if --out differs from the resumed run."""
        if self.resume and out not in {None, self.resume}:
            raise InputError(
                _("--out: a resumed run writes to the folder named by --resume. Remove --out.")
            )
        return self.resume or out
