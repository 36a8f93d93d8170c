"""Define the request to a system and the parsing of its response; the transports are shared.

A preset describes how to query an endpoint: a file in `systems/`, or a user's own. Its templates are Jinja templates of
`id`, `query` and `topk` or `question`, and `vector` if an embedder is named. A path goes through objects by name and
through lists by number: "results.0.hits". "" is the whole value.
"""

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError, SystemFailedError, text_of
from gigamind.i18n import Message, _
from gigamind.interop.ranking import (
    Oddity,
    RankedNote,
    Ranking,
    Reply,
    RunFile,
    parse_hits,
    read_json_run,
    read_run_file,
)
from gigamind.loading import file_named, read_fields
from gigamind.records.judged import Count, Report, Share

_jinja = SandboxedEnvironment(undefined=StrictUndefined)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
# A query that breaks the JSON of a template without escaping.
_HARD_QUERY = 'say "a\\b"\nand {c}'
_VECTOR = [0.5, -0.5]
_HITS = "hits"
_Response_co = TypeVar("_Response_co", covariant=True)


class Endpoint(BaseModel, ABC, Generic[_Response_co]):
    """How to query an endpoint; subclasses read its response."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    folder: ClassVar[str]  # of the presets that come with gigamind
    probe: ClassVar[Mapping[str, object]]  # values that templates are tested with

    method: Literal["GET", "POST"] = "POST"
    params: dict[str, str] = {}  # query parameters of the address by name; templates
    # `$NAME` is an environment variable; a header whose variable is not set is left out
    headers: dict[str, str] = {}
    body: str = ""  # template of the JSON body; "" for none
    # paths within a hit or context; None if the system does not provide the value
    note: str | None = "note"
    score: str | None = None
    text: str | None = None
    start: str | None = None
    end: str | None = None
    embedder: str | None = None  # computes `vector` for each query; see `--embedder`
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    timeout_s: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] = 10.0
    # attempts after status 429 or 5xx, or a broken connection
    retries: Annotated[int, Field(ge=0, le=10)] = 2

    @classmethod
    def load(cls, name: str) -> tuple[Self, Path]:
        """Return a preset and its path, from a file, or by the name of one that comes with gigamind.

        Raises InputError if there is no such preset, or it cannot be used.
        """
        path = file_named(name, cls.folder, "--system-config")
        preset = read_fields(path, cls, _("system file"))
        values = {
            name: example
            for name, example in cls.probe.items()
            if name != "vector" or preset.embedder
        }
        try:
            _params, body = preset.request(values)
        except (TemplateError, TypeError) as error:  # TypeError: JSON of an undefined value
            lacks_vector = "vector" in str(preset.params) + preset.body and not preset.embedder
            if lacks_vector and not isinstance(error, TemplateSyntaxError):
                raise InputError(
                    '{file}: a template uses the vector of the query. Set "embedder" in this file.',
                    file=path,
                ) from error
            raise InputError(
                "{file}: a template cannot be filled: {reason}", file=path, reason=text_of(error)
            ) from error
        try:
            json.loads(body or b"null")
        except ValueError as error:
            raise InputError(
                "{file}: body: the template produces invalid JSON if the query contains quotes ({reason}). Write"
                " {{{{ {variable} | tojson }}}}.",
                file=path,
                reason=str(error),
                variable=next(iter(values)),
            ) from error
        return preset, path

    @property
    def fingerprint(self) -> str:
        """Return a hash of everything that may change requests or parsing, API keys excluded."""
        definition = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(definition.encode()).hexdigest()[:16]

    @property
    def variables(self) -> list[str]:
        """Return the environment variables that its headers name."""
        return [name for value in self.headers.values() for name in _VARIABLE.findall(value)]

    @property
    def unset(self) -> list[str]:
        """Return the variables that are not set."""
        return [name for name in self.variables if not os.environ.get(name)]

    def sent_headers(self) -> dict[str, str]:
        """Return the headers with the values of the environment."""
        values = os.environ
        return {
            name: _VARIABLE.sub(lambda match: values[match[1]].strip(), value)
            for name, value in self.headers.items()
            if not set(_VARIABLE.findall(value)) & set(self.unset)
        }

    def request(self, values: Mapping[str, object]) -> tuple[dict[str, str], bytes]:
        """Return the query parameters and the body of a request; TemplateError if a value is undefined."""
        params = {name: _rendered(template, values) for name, template in self.params.items()}
        return params, _rendered(self.body, values).encode()

    @abstractmethod
    def read(self, reply: object) -> _Response_co:
        """Parse a response; raise ValueError, which says what is there, if a required value is not at its path."""

    def fields_of(self, value: object) -> dict[str, object]:
        """Return the values of a hit or context by name."""
        paths = {name: getattr(self, name) for name in ("note", "score", "text", "start", "end")}
        return {name: _at(value, path) for name, path in paths.items() if path is not None}


class _Preset(Endpoint[Ranking[RankedNote]]):
    """A preset of a search."""

    folder = "systems"
    probe = {"query": _HARD_QUERY, "id": "q-1", "topk": 10, "vector": _VECTOR}

    note: str = "note"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    hits: str = _HITS  # path of the list of hits in the response

    def read(self, reply: object) -> Ranking[RankedNote]:
        hits = _at(reply, self.hits)
        if hits is None and self.hits == _HITS:
            hits = reply  # the response may be the list itself
        if not isinstance(hits, list):
            raise ValueError(  # noqa: TRY004
                _(
                    'no list of hits at "{path}" of the response ({content})',
                    path=self.hits,
                    content=_keys(reply),
                )
            )
        listed = enumerate(cast("list[object]", hits), start=1)
        ranked_notes = parse_hits([self._hit(hit, place) for place, hit in listed])
        lacking: dict[Oddity, int] = {}
        if self.score is not None and all(hit.base_score is None for hit in ranked_notes):
            lacking["no_scores"] = len(ranked_notes)
        if self.text is not None and not any(hit.text for hit in ranked_notes):
            lacking["no_texts"] = len(ranked_notes)
        return Ranking(ranked_notes, lacking if ranked_notes else {})

    def _hit(self, hit: object, place: int) -> object:
        fields = self.fields_of(hit)
        note = fields["note"]
        if isinstance(note, str | int) and not isinstance(note, bool):
            return {**fields, "note": str(note)}
        if isinstance(hit, dict):
            raise ValueError(  # noqa: TRY004
                _(
                    'hit {number} has no note name at "{path}" ({content})',
                    number=place,
                    path=self.note,
                    content=_keys(cast("object", hit)),
                )
            )
        return hit


class _AnswerPreset(Endpoint[Reply]):
    """A preset of an answering system."""

    folder = "systems/answers"
    probe = {"question": _HARD_QUERY, "id": "q-1", "vector": _VECTOR}

    answer: str = "answer"  # path of the answer in the response
    # path of the list of contexts; each is a string, or an object that `note` and `text` lead into
    contexts: str | None = "contexts"
    timeout_s: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] = 60.0  # pyright: ignore[reportIncompatibleVariableOverride]  frozen

    def read(self, reply: object) -> Reply:
        answer = _at(reply, self.answer)
        if not isinstance(answer, str):
            raise ValueError(  # noqa: TRY004
                _(
                    'no text at "{path}" of the response ({content})',
                    path=self.answer,
                    content=_keys(reply),
                )
            )
        contexts = None if self.contexts is None else _at(reply, self.contexts)
        if isinstance(contexts, list):
            listed = cast("list[object]", contexts)
            contexts = [
                context if isinstance(context, str) else self.fields_of(context)
                for context in listed
            ]
        return Reply.parse((answer, contexts))


def _at(value: object, path: str) -> object:
    """Return the value at a path of a JSON value, or None."""
    for step in path.split(".") if path else ():
        match value:
            case {}:
                value = cast("Mapping[str, object]", value).get(step)
            case list():
                items = cast("Sequence[object]", value)
                value = items[int(step)] if step.isdecimal() and int(step) < len(items) else None
            case _:
                return None
    return value


def _rendered(template: str, values: Mapping[str, object]) -> str:
    return _jinja.from_string(template).render(values)


def _keys(value: object) -> Message:
    if not isinstance(value, dict):
        return _("found a value of type {type}", type=type(value).__name__)
    names = list(cast("dict[str, Any]", value))[:10]
    return (
        _("found the fields {names}", names=names) if names else _("found an object without fields")
    )


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
        endpoint=_Preset,
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
    endpoint=_AnswerPreset,
    arguments=lambda text: {"question": text},
    read=Reply.parse,
    read_run=lambda path: read_json_run(
        path, Reply.recorded, '{"id": ..., "answer": ..., "contexts": [...]}'
    ),
    absent=_no_answer,
)
"""Format of a RAG system."""
