"""What a system is asked, and how what it tells is read: rankings of queries, or answers to questions.

However a system is reached (a file, HTTP, a process, a function), only this differs by what is evaluated.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from gigamind.errors import SystemFailedError
from gigamind.interop.ranking import RankedNote, Ranking, told_hits
from gigamind.interop.reply import Reply, recorded_reply, told_reply
from gigamind.interop.run_file import RunFile, read_json_run, read_run_file
from gigamind.systems.preset import AnswerPreset, Endpoint, Preset
from gigamind.systems.protocol import Query

Told = TypeVar("Told", Ranking[RankedNote], Reply)


class Dialect(ABC, Generic[Told]):
    """See the module.

    Attributes:
        what: that is told, in messages.
        presets: folder of the presets that come with gigamind.
        parameters: of a function, in messages.
    """

    what: ClassVar[str]
    presets: ClassVar[str]
    parameters: ClassVar[str]

    @property
    @abstractmethod
    def endpoint(self) -> type[Endpoint[Told]]:
        """What a preset is read as."""

    @abstractmethod
    def asked(self, query: Query) -> dict[str, object]:
        """The line of a command, and what templates know, by name."""

    @abstractmethod
    def arguments(self, query: Query) -> tuple[object, ...]:
        """Of a function."""

    @abstractmethod
    def read(self, payload: object) -> Told:
        """What JSON or Python values tell.

        Raises:
            ValueError: nothing of that kind; says what there is.
        """

    @abstractmethod
    def read_run(self, path: Path) -> RunFile[Told]:
        """What a run file tells.

        Raises:
            InputError: it cannot be used.
        """

    @abstractmethod
    def absent(self) -> Told:
        """What a run tells of a query that it lacks.

        Raises:
            SystemFailedError: nothing can be taken for it.
        """


@dataclass(frozen=True, slots=True)
class Rankings(Dialect[Ranking[RankedNote]]):
    """Of a search: the first `topk` notes."""

    topk: int
    what = "ranking of the query"
    presets = "systems"
    parameters = "a query and a number of notes"

    @property
    def endpoint(self) -> type[Preset]:
        return Preset

    def asked(self, query: Query) -> dict[str, object]:
        return {"id": query.id, "query": query.text, "topk": self.topk}

    def arguments(self, query: Query) -> tuple[object, ...]:
        return query.text, self.topk

    def read(self, payload: object) -> Ranking[RankedNote]:
        return Ranking(told_hits(payload))

    def read_run(self, path: Path) -> RunFile[Ranking[RankedNote]]:
        return read_run_file(path)

    def absent(self) -> Ranking[RankedNote]:
        """It found nothing, as trec_eval takes it."""
        return Ranking((), {"not_in_run_file": 1})


@dataclass(frozen=True, slots=True)
class Answers(Dialect[Reply]):
    """Of a RAG system."""

    what = "answer to the question"
    presets = "systems/answers"
    parameters = "a question"

    def asked(self, query: Query) -> dict[str, object]:
        return {"id": query.id, "question": query.text}

    def arguments(self, query: Query) -> tuple[object, ...]:
        return (query.text,)

    def read(self, payload: object) -> Reply:
        return told_reply(payload)

    def read_run(self, path: Path) -> RunFile[Reply]:
        return read_json_run(path, recorded_reply, '{"id": ..., "answer": ..., "contexts": [...]}')

    def absent(self) -> Reply:
        raise SystemFailedError("the run has no line of the question")

    @property
    def endpoint(self) -> type[AnswerPreset]:
        return AnswerPreset
