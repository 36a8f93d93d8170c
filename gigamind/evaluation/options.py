"""The options of every evaluation, and what is wrong with one, in words for users; pydantic's are for programmers.

A task adds its own to `EvalOptions`; one that asks models, `ModelRunOptions`, too.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, Self, TypeVar, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from gigamind.choices import Phase, PromptLanguage, Relaxable, TaskName
from gigamind.datasets.sample import sample_size
from gigamind.errors import InputError
from gigamind.llm.options import Determinism, ModelOptions
from gigamind.loading import ConfigReport
from gigamind.retrieval.settings import FusionName, Mode, RetrievalSettings, default_cache_folder
from gigamind.wording import AUTO, Language, LanguageChoice, language_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


Options = TypeVar("Options", bound=BaseModel)


def validated(model: type[Options], values: Mapping[str, object]) -> Options:
    """The options in `values`, by field name.

    Raises:
        InputError: names every option that cannot be, its value and what it must be.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError("\n".join(_problem(details) for details in error.errors())) from error


def _problem(details: "ErrorDetails") -> str:
    if not details["loc"]:  # of several options together
        return demand_of(details)
    option = f"--{details['loc'][0]}".replace("_", "-")
    if details["type"] == "missing":
        return f"{option}: must be given"
    return f"{option} {details['input']}: {demand_of(details)}"


def demand_of(details: "ErrorDetails") -> str:
    """What a value must be, in words for users."""
    context = details.get("ctx", {})
    match details["type"]:
        case "greater_than_equal":
            return f"must be {context['ge']:,.12g} or more"
        case "less_than_equal":
            return f"must be {context['le']:,.12g} or less"
        case "finite_number":
            return "must be a number"
        case "literal_error":
            return f"must be one of {context['expected'].replace(' or ', ', ')}"
        case "extra_forbidden":
            return "there is no such option"
        case _:
            return details["msg"].removeprefix("Value error, ")


def _check_sample(value: str) -> str:
    try:
        sample_size(value)
    except InputError as error:
        raise ValueError(str(error).removeprefix(f"--sample {value}: ")) from error
    return value


SampleText = Annotated[
    str, AfterValidator(_check_sample)
]  # a count such as "50", or a share such as "0.2"


OWN_SECTION = "search"
"""Each task's own options are a section of the task's name, where this one stands here."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "what": (
        *("task", "dataset", "notes", "system", "system_config", "system_name"),
        *("sample", "seed", "deterministic"),
    ),
    "where": (
        *(
            "out",
            "lang",
            "format",
            "figures",
            "save_snapshot",
            "junit",
            "comment",
            "resume",
            "cache_dir",
        ),
        *("dry_run", "strict", "min_rows", "notes_hash_mode", "notes_hash_exclude"),
    ),
    OWN_SECTION: (),
    "judge": (
        *("unanswerable_mode", "min_score", "judge", "judge_lang", "fresh_fraction"),
        *("checklist", "checklist_judge", "feature"),
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
"""How options are grouped where people see them: in the form of a deployment, and in pages of help."""

FIRST = frozenset(
    (
        *("dataset", "notes", "system", "sample", "out", "lang", "dry_run", "resume"),
        *("mode", "topk", "unanswerable_mode", "answer_model", "min_confidence"),
        *("model", "api_base", "max_cost_usd", "compare", "changed", "phase"),
        "fail_on_regression",
    )
)
"""The few of them that a page of help shows where there are many."""


class ReleaseOptions(BaseModel):
    """How a comparison is judged and where its verdict goes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    phase: Phase = Field("mvp", description="which thresholds of the gates apply")
    gates: Path | None = Field(
        None, description="gates.toml; the one that comes with gigamind without it"
    )
    changed: tuple[Relaxable, ...] = Field(
        (), description="what was changed on purpose, and may differ from the baseline"
    )
    judge_card: Path | None = Field(
        None, description="card of the judge, or its folder: see `gigamind judge certify`"
    )
    fail_on_regression: bool = Field(
        default=False, description="exit code 4 when a gate fails, 1 when nothing can be said"
    )
    junit: Path | None = Field(None, description="write the gates as JUnit XML to this file")
    comment: Path | None = Field(
        None, description="write the verdict, figures and worse items in short, for a pull request"
    )


class EvalOptions(ReleaseOptions, Determinism):
    """What every evaluation is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: TaskName = Field(description="what is evaluated")
    dataset: Path = Field(description="one JSON object a line")
    notes: Path = Field(description="the vault: a folder of Markdown notes")
    out: Path | None = Field(None, description="folder for the results; eval/out/<time> without it")
    format: Literal["json", "md", "both"] = Field(
        "both", description="summary.json, or summary.md and report.html, or all"
    )
    lang: LanguageChoice = Field("auto", description=f"language of reports; {AUTO}")
    figures: Literal["svg"] | None = Field(
        None, description="also write the report's figures as files"
    )
    seed: int = Field(42, ge=0, description="of sampling and of the bootstrap intervals")
    sample: SampleText | None = Field(
        None, description="evaluate only so many items: 50, or a share: 0.2"
    )
    strict: bool = Field(
        default=False, description="stop with exit code 1 at a bad row or an identifier collision"
    )
    min_rows: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.5,
        description="share of the dataset's rows that must be usable; with fewer the exit code is 1",
    )
    dry_run: bool = Field(default=False, description="check the dataset and the notes, then stop")
    notes_hash_mode: Literal["content", "mtime"] = Field(
        "content", description="hash the notes' bytes, or only their names and times"
    )
    notes_hash_exclude: tuple[str, ...] = Field((), description="patterns the hash leaves out, too")
    save_snapshot: bool = Field(
        default=False, description="write snapshot.json, to compare later runs with"
    )
    compare: Path | None = Field(
        None,
        description="hold the run against this baseline: a snapshot.json, an out folder, or a folder of baselines",
    )
    config: ConfigReport | None = Field(
        None, description="of the command line alone: which options came from a file"
    )

    @model_validator(mode="after")
    def _check_drawn(self) -> Self:
        if self.deterministic and self.sample is not None:
            raise ValueError("--deterministic: every item counts; leave --sample out")
        return self

    @model_validator(mode="after")
    def _check_compared(self) -> Self:
        if self.fail_on_regression and self.compare is None and self.gates is None:
            raise ValueError(
                "--fail-on-regression: nothing is compared; name the baseline, such as --compare eval/baselines, or a"
                " file of --gates with [floors] or [ceilings]"
            )
        return self

    def told(self, names: Iterable[str]) -> str:
        """Those of these options that were given another value than their own, as flags; "" where none was."""
        fields = type(self).model_fields
        given = [name for name in names if getattr(self, name) != fields[name].default]
        return ", ".join(f"--{name.replace('_', '-')}" for name in given)

    def typed(self, names: Iterable[str]) -> str:
        """The same without those that stand in a file of options, which is one for many commands."""
        kept = self.config.options if self.config else ()
        return self.told(name for name in names if name not in kept)

    def idle_in_gate(self) -> tuple[str, ...]:
        """A word on options of gates that have no part in this run; bounds and the judge's card have phases, too."""
        if self.compare:
            return ()
        has_phase = self.gates is not None or self.judge_card is not None
        idle = self.typed(("changed",) if has_phase else ("changed", "phase"))
        return (
            (f"{idle}: no part in a run that is compared with nothing; add --compare",)
            if idle
            else ()
        )

    def in_any_folder(self) -> Self:
        """With paths that are right whatever the working directory is."""
        paths = {name: path.absolute() for name, path in self if isinstance(path, Path)}
        return self.model_copy(update=paths)

    @property
    def language(self) -> Language:
        """That of reports."""
        return language_of(self.lang)

    def for_report(self) -> dict[str, object]:
        """The options as run.json shows them: JSON values; task and config stand beside them."""
        resolved = self.model_copy(update={"lang": self.language})
        return resolved.model_dump(mode="json", exclude={"task", "config"})


class ContextOptions(BaseModel):
    """How much of what search finds a model is shown."""

    context_notes: int = Field(
        5, ge=1, le=50, description="notes that a model is shown of those that search found"
    )
    context_chars: int = Field(
        12_000, ge=500, le=1_000_000, description="characters of these notes, all together"
    )

    def searched_by(
        self, mode: Mode, fusion: FusionName, embedder: str, cache: Path
    ) -> RetrievalSettings:
        """How so many notes are found."""
        return RetrievalSettings(
            mode=mode, fusion=fusion, topk=self.context_notes, embedder=embedder, cache=cache
        )


class CacheOptions(BaseModel):
    """Where what is slow to compute is kept."""

    cache_dir: Path | None = Field(
        None,
        description="folder of vectors, indexes and answers; the user's cache folder without it",
    )

    @property
    def cache(self) -> Path:
        """Folder of what later runs may use again."""
        return self.cache_dir or default_cache_folder()


@runtime_checkable
class PartialOptions(Protocol):
    """Options that may say that a part of the dataset will do."""

    @property
    def allow_partial(self) -> bool: ...


class ModelRunOptions(ModelOptions, CacheOptions):
    """What every evaluation by a model is told."""

    judge: Path | None = Field(
        None, description="another judge file, of any kind; see judges/README.md"
    )
    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto: that of the item"
    )
    batch: bool = Field(
        default=False,
        description="send requests as batch files (OpenAI, Anthropic): half the price, up to 24 hours for each round",
    )
    batch_poll: float = Field(
        10.0,
        gt=0,
        le=3_600,
        allow_inf_nan=False,
        description="seconds until a batch is looked at again; more and more, up to 5 minutes",
    )
    fresh_fraction: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0, description="share of the items that the model judges a second time, to see what flips"
    )
    resume: Path | None = Field(
        None, description="continue the run that was to write this out folder and was stopped"
    )
    allow_partial: bool = Field(
        default=False,
        description="exit code 0 however many items were left unjudged, or not answered by another system",
    )
    min_coverage: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.8,
        description="share of the items that must have a verdict; with fewer the exit code is 3",
    )

    @model_validator(mode="after")
    def _check_fresh(self) -> Self:
        if self.deterministic and self.fresh_fraction:
            raise ValueError("--deterministic: nothing is judged twice; leave --fresh-fraction out")
        return self

    @property
    def replies(self) -> Path:
        """Folder of the answers of models."""
        return self.store or self.cache / "replies"

    def written_to(self, out: Path | None) -> Path | None:
        """The out folder that is asked for; None for one named by the time.

        Raises:
            InputError: a resumed run is to be written elsewhere.
        """
        if self.resume and out not in {None, self.resume}:
            raise InputError("--out: a resumed run is written where --resume says; leave it out")
        return self.resume or out
