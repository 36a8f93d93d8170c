"""What an evaluation must know of a task; everything else about a run is the same for search, links and answers.

A `Task` opens an `Evaluation`: checked input and whatever scoring it needs.  `run` drives it, directly or in batches.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, TypeAdapter

from gigamind.choices import TaskName
from gigamind.evaluation.inputs import PreparedInput
from gigamind.evaluation.options import EvalOptions
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import Shard
from gigamind.evaluation.unfinished import ModelRun
from gigamind.records.environment import describe_hardware
from gigamind.records.judged import JudgeReport
from gigamind.records.schema import (
    RUN_ID_FORMAT,
    Environment,
    ErrorReport,
    Record,
    RunReport,
    by_item,
)
from gigamind.release.model import ComparedTask
from gigamind.reports.views import View

if TYPE_CHECKING:  # what no run asks for but certifications and `--dry-run`
    from gigamind.assurance.judged_runs import JudgedKind

Options = TypeVar("Options", bound=EvalOptions)
Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Run(Generic[Result]):
    """What a run gave.

    Attributes:
        results: of the items that code scores, in their order, as far as an interrupted run came.
        opening_ms: from the first read of the dataset until everything was ready.
        scoring_ms: wall time of scoring, warm-up apart.
        asked: what asking models gave; None where none was asked.
        asking_ms: wall time of that.
    """

    results: Sequence[Result]
    opening_ms: float
    scoring_ms: float
    interrupted: bool = False
    asked: ModelRun | None = None
    asking_ms: float = 0.0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped the scoring of items; `results` are of those that had ended by then."""

    def __init__(self, results: Sequence[Any]) -> None:
        super().__init__()
        self.results = results


class Evaluation(ABC, Generic[Summary, Line, Result]):
    """Checked input of one run, ready to be scored; close it, or use `with`.

    Attributes:
        results: how results pass between processes.
    """

    results: ClassVar[TypeAdapter[Any]]

    @property
    @abstractmethod
    def count(self) -> int:
        """Items that code scores; 0 where models are asked about all of them."""

    def warm_up(self) -> int:
        """Try the first items unmeasured, so that none pays for cold memory; how many were tried."""
        return 0

    @abstractmethod
    def score(self, first: int, end: int, progress: Progress) -> list[Result]:
        """The results of the items `first` to `end` (exclusive).

        Raises:
            Interrupted: Ctrl-C.
        """

    @property
    def asks_a_model(self) -> bool:
        """Whether `ask` is to be called once all items are scored."""
        return False

    @property
    def to_ask(self) -> int:
        """Items that models are asked about once all are scored; shards are ranges of them."""
        return self.count

    def ask(
        self,
        results: Sequence[Result],
        out: Path,
        progress: Progress,
        shard: Shard | None = None,
    ) -> ModelRun:
        """Ask models about the items; what they answer is kept beside `out`, whatever happens.

        Args:
            results: of the items that are asked about here, where code scores any.
            shard: of the run; None for all of it.

        Raises:
            GigamindError: see `ask_all`.
        """
        raise TypeError(
            f"{type(self).__name__} asks no model about {results} for {out} ({progress}, {shard})"
        )

    @abstractmethod
    def record(self, run: Run[Result], started: datetime) -> Record[Summary, Line]:
        """All that the out folder of a run is to hold; equal runs give equal records, times apart."""

    def close(self) -> None:
        """Let go of indexes and files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Estimate:
    """One kind of work.

    Attributes:
        calls: requests over HTTP, none of them failing; 0 for work that is done here.
        tokens: sent and answered, low and high.
        usd: low and high; None where the price is not known.
        seconds: low and high.
        speed: what is known of the server's; empty for work that is done here.
        in_batches: at the price of batch files, and whenever they are done.
    """

    what: str
    calls: int
    tokens: tuple[int, int]
    usd: tuple[float, float] | None
    seconds: tuple[float, float]
    speed: str = ""
    in_batches: bool = False

    def describe(self) -> str:
        """In a line."""
        parts = [self.what]
        if self.calls:
            parts.append(f"{self.calls:,} requests, {_between(*self.tokens)} tokens")
        parts.append(_dollars(self.usd))
        time = _time(*self.seconds)
        parts.append("at the batch price, up to 24 h" if self.in_batches else time)
        line = ": ".join([parts[0], ", ".join(parts[1:])])
        return f"{line} ({self.speed})" if self.speed and not self.in_batches else line


def _dollars(usd: tuple[float, float] | None) -> str:
    if usd is None:
        return "cost unknown (name a price with --prices)"
    return "0 USD" if usd == (0.0, 0.0) else f"{usd[0]:.4f} to {usd[1]:.4f} USD"


def _between(low: int, high: int) -> str:
    return f"{low:,} to {high:,}"


_SECONDS = 90  # from which on a time is told in minutes


def _time(low: float, high: float) -> str:
    """As people say it."""
    least, most = (max(1, round(seconds)) for seconds in (low, high))
    minutes, most_minutes = round(low / 60), round(high / 60)
    if high < _SECONDS:
        return f"{least} s" if least == most else f"{least} s to {most} s"
    if low < _SECONDS:
        return f"{least} s to {most_minutes} min"
    return f"{minutes} min" if minutes == most_minutes else f"{minutes} min to {most_minutes} min"


@dataclass(frozen=True, slots=True)
class Checked:
    """What `--dry-run` finds.

    Attributes:
        ready: how much there is to evaluate, in a few words; `terminal` has some more.
        estimate: what the run would need.
        least_calls: requests that are enough to judge the first item whole; 0 where no model is asked.
    """

    ready: str
    terminal: str
    errors: Sequence[ErrorReport]
    warnings: Sequence[str]
    dataset_hash: str
    notes_hash: str
    estimate: Callable[[], Sequence[Estimate]] = tuple
    least_calls: Callable[[], int] = int

    def describe(self) -> str:
        """In a line."""
        return f"{self.ready}; rows with problems: {len(by_item(self.errors))}; warnings: {len(self.warnings)}"


class Task(ABC, Generic[Options, Summary, Line]):
    """One task.

    Attributes:
        name: as in run.json.
        compared: what snapshots, comparisons and gates must know of it.
        view: how its run is shown.
    """

    name: ClassVar[TaskName]
    options: type[Options]
    compared: ComparedTask[Summary, Line, Any]
    view: View[Summary, Line, Any]

    @property
    def judged(self) -> "JudgedKind | None":
        """What its judge judges, for a certification; None where nobody judges."""
        return None

    @abstractmethod
    def open(self, options: Options, progress: Progress) -> Evaluation[Summary, Line, Any]:
        """Check the input and get ready.

        Raises:
            GigamindError: the options, the dataset or the vault cannot be used; its class tells the exit code.
        """

    def forewarn(self, options: Options) -> tuple[str, ...]:
        """What the options alone show to be of no use, told before the run; it stands among the run's warnings, too.

        Raises:
            InputError: the options cannot be used.
        """
        del options
        return ()

    def shortfall(self, record: Record[Summary, Line]) -> str | None:
        """Why the figures of a run that ended are none of its dataset, without a model's part in it."""
        del record
        return None

    @abstractmethod
    def check(self, options: Options) -> Checked:
        """Check the input only; no model is asked, and nothing is embedded.

        Raises:
            GigamindError: as `open` does.
        """


def run_report(
    prepared: PreparedInput,
    started: datetime,
    status: Literal["complete", "interrupted"],
    environment: Environment,
    judge: JudgeReport | None = None,
) -> RunReport:
    """run.json."""
    options = prepared.options
    return RunReport.like(
        prepared,
        run_id=started.astimezone().strftime(RUN_ID_FORMAT),
        created_at=started.isoformat(timespec="seconds"),
        task=options.task,
        status=status,
        dataset=str(options.dataset),
        notes=str(options.notes or ""),
        notes_hash_mode=options.notes_hash_mode,
        options=options.for_report(),
        config=options.config,
        judge=judge,
        environment=environment,
        hardware=describe_hardware(),
    )
