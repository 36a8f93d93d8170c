"""Define the request to a system and the parsing of its response; the transports are shared."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from gigamind.errors import SystemFailedError
from gigamind.i18n import Message, _
from gigamind.interop.ranking import RankedNote, Ranking, parse_hits
from gigamind.interop.reply import Reply, parse_reply, recorded_reply
from gigamind.interop.run_file import RunFile, read_json_run, read_run_file
from gigamind.systems.preset import AnswerPreset, Endpoint, Preset
from gigamind.systems.protocol import Query

Response = TypeVar("Response", Ranking[RankedNote], Reply)


class Dialect(ABC, Generic[Response]):
    """The request and response format of one kind of system."""

    what: ClassVar[Message]  # name of the response, in messages
    presets: ClassVar[str]  # folder of the presets that come with gigamind
    parameters: ClassVar[Message]  # what a Python function takes, in messages

    @property
    @abstractmethod
    def endpoint(self) -> type[Endpoint[Response]]:
        """Return the class that reads a preset."""

    @abstractmethod
    def request_fields(self, query: Query) -> dict[str, object]:
        """Return the fields that a command receives as JSON and that templates know by name."""

    @abstractmethod
    def arguments(self, query: Query) -> tuple[object, ...]:
        """Return the arguments of a Python function."""

    @abstractmethod
    def read(self, payload: object) -> Response:
        """Parse JSON or Python values.

        Raises:
            ValueError: not a response of this kind; the message says what was there.
        """

    @abstractmethod
    def read_run(self, path: Path) -> RunFile[Response]:
        """Read a run file.

        Raises:
            InputError: the file cannot be used.
        """

    @abstractmethod
    def absent(self) -> Response:
        """Return the response for a query that is missing from a run.

        Raises:
            SystemFailedError: nothing can replace it.
        """


@dataclass(frozen=True, slots=True)
class Rankings(Dialect[Ranking[RankedNote]]):
    """Format of a search system: the first `topk` notes."""

    topk: int
    what = _("ranking of the query")
    presets = "systems"
    parameters = _("a query and a number of notes")

    @property
    def endpoint(self) -> type[Preset]:
        return Preset

    def request_fields(self, query: Query) -> dict[str, object]:
        return {"id": query.id, "query": query.text, "topk": self.topk}

    def arguments(self, query: Query) -> tuple[object, ...]:
        return query.text, self.topk

    def read(self, payload: object) -> Ranking[RankedNote]:
        return Ranking(parse_hits(payload))

    def read_run(self, path: Path) -> RunFile[Ranking[RankedNote]]:
        return read_run_file(path)

    def absent(self) -> Ranking[RankedNote]:
        """Return an empty ranking, as trec_eval does."""
        return Ranking((), {"not_in_run_file": 1})


@dataclass(frozen=True, slots=True)
class Answers(Dialect[Reply]):
    """Format of a RAG system."""

    what = _("answer to the question")
    presets = "systems/answers"
    parameters = _("a question")

    def request_fields(self, query: Query) -> dict[str, object]:
        return {"id": query.id, "question": query.text}

    def arguments(self, query: Query) -> tuple[object, ...]:
        return (query.text,)

    def read(self, payload: object) -> Reply:
        return parse_reply(payload)

    def read_run(self, path: Path) -> RunFile[Reply]:
        return read_json_run(path, recorded_reply, '{"id": ..., "answer": ..., "contexts": [...]}')

    def absent(self) -> Reply:
        raise SystemFailedError(_("the run file has no line for this question"))

    @property
    def endpoint(self) -> type[AnswerPreset]:
        return AnswerPreset
