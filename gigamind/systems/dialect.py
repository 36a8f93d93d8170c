"""Define the request to a system and the parsing of its response; the transports are shared."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Self, TypeVar

from gigamind.errors import SystemFailedError
from gigamind.i18n import Message, _
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, parse_hits
from gigamind.interop.reply import Reply, parse_reply, recorded_reply
from gigamind.interop.run_file import RunFile, read_json_run, read_run_file
from gigamind.records.judged import Count, Report, Share
from gigamind.systems.preset import AnswerPreset, Endpoint, Preset

MOST_FAILED = 0.2  # share of items; above it, the rest no longer represents the dataset


class SystemHealth(Report):
    """How reliable another system was.

    Attributes:
        failed: items without a response; for a run file of rankings, answerable queries that it lacks.
        share: failed items / all requested items, in [0, 1].
        oddities: number of items per anomaly.
    """

    failed: Count
    share: Share
    oddities: dict[Oddity, Count]

    @classmethod
    def of(cls, failed: int, total: int, odd: Iterable[Mapping[Oddity, int]]) -> Self:
        """Return the health over `total` items; `odd` holds the anomalies of each response."""
        oddities: Counter[Oddity] = Counter(name for counts in odd for name in counts)
        return cls(failed=failed, share=failed / total if total else 0.0, oddities=dict(oddities))

    @property
    def is_unreliable(self) -> bool:
        """Whether too many items failed for the rest to represent the dataset."""
        return self.share > MOST_FAILED


Response = TypeVar("Response", Ranking[RankedNote], Reply)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[Response]):
    """The request and response format of one kind of system."""

    what: Message  # name of the response, in messages
    parameters: Message  # what a Python function takes, in messages
    endpoint: type[Endpoint[Response]]  # class that reads a preset
    # text of a query -> arguments of a Python function by the names that templates and commands know them by
    arguments: Callable[[str], Mapping[str, object]]
    read: Callable[[object], Response]  # parses JSON or Python values; may raise ValueError
    read_run: Callable[[Path], RunFile[Response]]  # may raise InputError
    absent: Callable[[], Response]  # response for a query missing from a run, or SystemFailedError


def rankings(topk: int) -> Dialect[Ranking[RankedNote]]:
    """Return the format of a search system: the first `topk` notes."""
    return Dialect(
        what=_("ranking of the query"),
        parameters=_("a query and a number of notes"),
        endpoint=Preset,
        arguments=lambda text: {"query": text, "topk": topk},
        read=lambda payload: Ranking(parse_hits(payload)),
        read_run=read_run_file,
        absent=lambda: Ranking((), {"not_in_run_file": 1}),  # as in trec_eval
    )


def _no_answer() -> Reply:
    raise SystemFailedError(_("the run file has no line for this question"))


ANSWERS: Dialect[Reply] = Dialect(
    what=_("answer to the question"),
    parameters=_("a question"),
    endpoint=AnswerPreset,
    arguments=lambda text: {"question": text},
    read=parse_reply,
    read_run=lambda path: read_json_run(
        path, recorded_reply, '{"id": ..., "answer": ..., "contexts": [...]}'
    ),
    absent=_no_answer,
)
"""Format of a RAG system."""
