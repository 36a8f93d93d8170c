"""Define what differs between tasks; everything else about a run is shared by search, links and answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from gigamind.choices import TaskName
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import ModelRun, Shard
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.records import schema
from gigamind.release.model import ComparedTask
from gigamind.reports.views import View

if TYPE_CHECKING:  # needed by certifications only
    from gigamind.assurance.judged_runs import JudgedKind
    from gigamind.assurance.label_items import LabelUnit

_Options = TypeVar("_Options", bound=EvalOptions)
_Summary = TypeVar("_Summary", bound=BaseModel)
_Line = TypeVar("_Line", bound=BaseModel)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Run(Generic[_Result]):
    """The results of a run."""

    # Of the items that code scores, in order; of an interrupted run, those that ended.
    results: Sequence[_Result]
    opening_ms: float  # from the first read of the dataset until everything was ready
    scoring_ms: float  # wall time of scoring, without warm-up
    interrupted: bool = False
    model_run: ModelRun | None = None  # results of models; None if none was used
    asking_ms: float = 0.0  # wall time of using models


class Evaluation(ABC, Generic[_Summary, _Line, _Result]):
    """Checked input of a run, ready to be scored; to be closed."""

    results: ClassVar[TypeAdapter[Any]]  # how results are passed between processes

    @property
    @abstractmethod
    def count(self) -> int:
        """Return the number of items that code scores; 0 if models judge all of them."""

    def warm_up(self) -> int:
        """Run the first items unmeasured to fill caches, and return their number."""
        return 0

    @abstractmethod
    def score(self, first: int, end: int, progress: Progress) -> list[_Result]:
        """Return the results of the items `first` to `end` (exclusive); Ctrl-C raises Interrupted."""

    @property
    def asks_a_model(self) -> bool:
        """Return whether `ask` must be called after scoring."""
        return False

    @property
    def to_ask(self) -> int:
        """Return the number of items for models; shards are ranges of them."""
        return self.count

    def ask(
        self, results: Sequence[_Result], out: Path, progress: Progress, shard: Shard | None = None
    ) -> ModelRun:
        """Judge the items (of a shard) with models, from their scored results; replies are kept beside `out`."""
        raise TypeError(
            f"{type(self).__name__} asks no model about {results} for {out} ({progress}, {shard})"
        )

    @abstractmethod
    def record(self, run: Run[_Result], started: datetime) -> schema.Record[_Summary, _Line]:
        """Return the content of the output folder; equal runs give equal records, except for times."""

    def close(self) -> None:
        """Release indexes and files."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One kind of work."""

    what: Text
    calls: int  # HTTP requests if none fails; 0 for local work
    tokens: tuple[int, int]  # prompt and completion tokens, low and high
    usd: tuple[float, float] | None  # low and high; None if the price is unknown
    seconds: tuple[float, float]  # low and high
    speed: Text = ""  # basis of the time; empty for local work
    in_batches: bool = False  # through the batch API, with its price and delay

    def describe(self) -> Message:
        parts: list[Message] = []
        if self.calls:
            low, high = self.tokens
            requests = n_(
                "{n} request, {low:,} to {high:,} tokens",
                "{n:,} requests, {low:,} to {high:,} tokens",
                n=self.calls,
                low=low,
                high=high,
            )
            parts.append(requests)
        if self.usd is None:
            parts.append(_("cost unknown (set prices with --prices)"))
        elif self.usd == (0.0, 0.0):
            parts.append(_("0 USD"))
        else:
            parts.append(_("{low:.4f} to {high:.4f} USD", low=self.usd[0], high=self.usd[1]))
        if self.in_batches:
            parts.append(_("at the batch price; can take up to 24 h"))
        elif self.speed:
            time = _time(*self.seconds)
            parts.append(_("{time} ({speed})", time=time, speed=self.speed))
        else:
            parts.append(_time(*self.seconds))
        return joined([self.what, joined(parts, ", ")], ": ")


_SECONDS = 90  # longer times are shown in minutes


def _time(low: float, high: float) -> Message:
    if high < _SECONDS:
        least, most = (max(1, round(seconds)) for seconds in (low, high))
        return (
            _("{low} to {high} s", low=least, high=most) if least < most else _("{low} s", low=most)
        )
    least, most = round(low / 60), round(high / 60)
    return (
        _("{low} to {high} min", low=least, high=most) if least < most else _("{low} min", low=most)
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of `--dry-run`."""

    ready: Text  # what there is to evaluate; `terminal` has more details
    terminal: Text
    errors: Sequence[schema.ErrorReport]
    warnings: Sequence[Text]
    dataset_hash: str
    notes_hash: str
    estimate: Callable[[], Sequence[Estimate]] = tuple  # work of the run
    # Requests needed to judge the first item completely; 0 if no model is used.
    least_calls: Callable[[], int] = int

    def describe(self) -> Message:
        return _(
            "{ready}; rows with problems: {rows:,}; warnings: {warnings:,}",
            ready=self.ready,
            rows=len(schema.by_item(self.errors)),
            warnings=len(self.warnings),
        )


class Task(ABC, Generic[_Options, _Summary, _Line]):
    """A task."""

    name: ClassVar[TaskName]  # as in run.json
    options: type[_Options]
    # The part that snapshots, comparisons and gates need.
    compared: ComparedTask[_Summary, _Line, Any]
    view: View[_Summary, _Line, Any]  # how its runs are shown

    @property
    def judged(self) -> "JudgedKind | None":
        """Return what its judge judges, for certification; None if the task has no judge."""
        return None

    @abstractmethod
    def units(self, item: _Line) -> "Sequence[LabelUnit]":
        """Return what people can label of a line of per_item.jsonl."""

    @abstractmethod
    def open(self, options: _Options, progress: Progress) -> Evaluation[_Summary, _Line, Any]:
        """Check the input and prepare the evaluation; the class of a GigamindError determines the exit code."""

    def forewarn(self, options: _Options) -> tuple[Text, ...]:
        """Return warnings about the options alone, shown before the run, or raise InputError; the run repeats them."""
        del options
        return ()

    @abstractmethod
    def shortfall(self, record: schema.Record[_Summary, _Line]) -> Text | None:
        """Return why the figures of a finished run do not represent its dataset, apart from models."""

    @abstractmethod
    def check(self, options: _Options) -> Checked:
        """Check the input as `open` does; no model is used, and nothing is embedded."""
