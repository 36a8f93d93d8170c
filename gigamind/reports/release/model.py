"""What snapshot.json holds (seed 6.2), whatever the task: the seed's fields, and what a verdict needs beside them.

Those are the hardware, which its section 7 compares, the judge's fingerprint, and the values of each item, without
which nothing can be said about chance.
"""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gigamind.reports.judged import JudgeReport
from gigamind.reports.schema import Environment, Hardware

VERSION = "1.0"
FILE = "snapshot.json"

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """A piece of a snapshot."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SnapshotItem(Part):
    """What a comparison needs of one item; each task adds its own."""

    id: str


class SnapshotHit(Part):
    """One note of a ranking."""

    note: str
    base_score: Finite
    final_score: Finite


Summary = TypeVar("Summary", bound=BaseModel)
Item = TypeVar("Item", bound=SnapshotItem)


class EvalSnapshot(Part, Generic[Summary, Item]):
    """One run as a baseline.

    Attributes:
        task: decides what `metrics` and `items` are.
        judge_fingerprint: changes with anything that may change a verdict on the same output.
        config: the options of the run.
        metrics: its summary.json.
    """

    version: Literal["1.0"] = VERSION
    created_at: str
    run_id: str
    task: str
    dataset_hash: str
    notes_hash: str
    notes_hash_mode: Literal["content", "mtime"]
    environment: Environment
    hardware: Hardware
    judge_fingerprint: str
    judge: JudgeReport | None = None
    config: dict[str, object]
    metrics: Summary
    items: tuple[Item, ...]
