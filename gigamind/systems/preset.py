"""How an endpoint is asked and read: a file of `systems/`, or a team's own.

Templates are Jinja's; of a search they know `query`, `id`, `topk`, of what answers `question` and `id`; and `vector`
where an embedder is named.  A path leads through objects by names and through lists by numbers: "results.0.hits"; ""
is the whole.
"""

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, told_hits
from gigamind.interop.reply import Reply, told_reply
from gigamind.loading import file_named, read_fields

_jinja = SandboxedEnvironment(undefined=StrictUndefined)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
# What a query may hold: a template that does not escape it makes no JSON of it.
_HARD = 'say "a\\b"\nand {c}'
_VECTOR = [0.5, -0.5]
_HITS = "hits"
Told_co = TypeVar("Told_co", covariant=True)


class Endpoint(BaseModel, ABC, Generic[Told_co]):
    """How it is asked, whatever it tells.

    Attributes:
        probe: values that templates are tried with.
        params: of the address, by name; templates.
        headers: `$NAME` stands for an environment variable; a header whose variable is not set is left out.
        body: template of the JSON that is sent; "" for none.
        note, score, text, start, end: paths in a hit or context; None where the system does not tell it.
        embedder: makes `vector` of each query; see `--embedder`.
        concurrency: requests at a time, at most; --max-concurrency may be less.
        timeout_s: of one request.
        retries: after a status of 429 or 5xx, or a connection that broke.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    probe: ClassVar[Mapping[str, object]]

    method: Literal["GET", "POST"] = "POST"
    params: dict[str, str] = {}
    headers: dict[str, str] = {}
    body: str = ""
    note: str | None = "note"
    score: str | None = None
    text: str | None = None
    start: str | None = None
    end: str | None = None
    embedder: str | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    timeout_s: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] = 10.0
    retries: Annotated[int, Field(ge=0, le=10)] = 2

    @property
    def fingerprint(self) -> str:
        """Changes with anything that may change what is asked or read; keys are not part of it."""
        definition = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(definition.encode()).hexdigest()[:16]

    @property
    def variables(self) -> list[str]:
        """The environment variables that its headers name."""
        return [name for value in self.headers.values() for name in _VARIABLE.findall(value)]

    @property
    def unset(self) -> list[str]:
        """Those of them that are not set."""
        return [name for name in self.variables if not os.environ.get(name)]

    def sent_headers(self) -> dict[str, str]:
        """The headers with the values of the environment."""
        values = os.environ
        return {
            name: _VARIABLE.sub(lambda match: values[match[1]].strip(), value)
            for name, value in self.headers.items()
            if not set(_VARIABLE.findall(value)) & set(self.unset)
        }

    def request(self, values: Mapping[str, object]) -> tuple[dict[str, str], bytes]:
        """Parameters of the address, and the body.

        Raises:
            TemplateError: a template asks for what is not there.
        """
        params = {name: _rendered(template, values) for name, template in self.params.items()}
        return params, _rendered(self.body, values).encode()

    @abstractmethod
    def read(self, reply: object) -> Told_co:
        """What a reply tells.

        Raises:
            ValueError: it has not what it should have where it should; says what there is.
        """

    def fields_of(self, value: object) -> dict[str, object]:
        """What a hit or context tells, by name."""
        paths = {name: getattr(self, name) for name in ("note", "score", "text", "start", "end")}
        return {name: at(value, path) for name, path in paths.items() if path is not None}


class Preset(Endpoint[Ranking[RankedNote]]):
    """A file of `systems/`: a search.

    Attributes:
        hits: path of the list of hits in the reply.
    """

    probe = {"query": _HARD, "id": "q-1", "topk": 10, "vector": _VECTOR}

    note: str = "note"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    hits: str = _HITS

    def read(self, reply: object) -> Ranking[RankedNote]:
        hits = at(reply, self.hits)
        if hits is None and self.hits == _HITS:
            hits = reply  # a ranking may be told as its list alone
        if not isinstance(hits, list):
            raise ValueError(f'no list of hits at "{self.hits}" of the reply ({_keys(reply)})')  # noqa: TRY004
        listed = enumerate(cast("list[object]", hits), start=1)
        ranked_notes = told_hits([self._hit(hit, place) for place, hit in listed])
        return Ranking(ranked_notes, dict(self._lacking(ranked_notes)))

    def _lacking(self, ranked_notes: Sequence[RankedNote]) -> Iterator[tuple[Oddity, int]]:
        """What stands in no hit where it is sought."""
        if (
            ranked_notes
            and self.score is not None
            and all(hit.base_score is None for hit in ranked_notes)
        ):
            yield "no_scores", len(ranked_notes)
        if ranked_notes and self.text is not None and not any(hit.text for hit in ranked_notes):
            yield "no_texts", len(ranked_notes)

    def _hit(self, hit: object, place: int) -> object:
        """A hit as `told_hits` reads it: what is no object is told as in any ranking, by a name or a pair."""
        fields = self.fields_of(hit)
        note = fields["note"]
        if isinstance(note, str | int) and not isinstance(note, bool):
            return {**fields, "note": str(note)}
        if isinstance(hit, dict):
            raise ValueError(  # noqa: TRY004
                f'hit {place} has no name of a note at "{self.note}" ({_keys(cast("object", hit))})'
            )
        return hit


class AnswerPreset(Endpoint[Reply]):
    """A file of `systems/answers/`: what answers questions.

    Attributes:
        answer: path of the answer in the reply.
        contexts: path of the list of its contexts, each a string, or what `note` and `text` lead into; None where the
            system does not tell them.
    """

    probe = {"question": _HARD, "id": "q-1", "vector": _VECTOR}

    answer: str = "answer"
    contexts: str | None = "contexts"
    timeout_s: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)] = 60.0  # pyright: ignore[reportIncompatibleVariableOverride]  frozen

    def read(self, reply: object) -> Reply:
        answer = at(reply, self.answer)
        if not isinstance(answer, str):
            raise ValueError(f'no text at "{self.answer}" of the reply ({_keys(reply)})')  # noqa: TRY004
        contexts = None if self.contexts is None else at(reply, self.contexts)
        if isinstance(contexts, list):
            listed = cast("list[object]", contexts)
            contexts = [
                context if isinstance(context, str) else self.fields_of(context)
                for context in listed
            ]
        return told_reply((answer, contexts))


Preset_co = TypeVar("Preset_co", bound=Endpoint[Any], covariant=True)


def read_preset(name: str, kind: type[Preset_co], folder: str) -> tuple[Preset_co, Path]:
    """A preset by its file, or the name of one that comes with gigamind, in that folder; and where it stands.

    Raises:
        InputError: there is none, or it cannot be used; says why.
    """
    path = file_named(name, folder, "--system-config")
    preset = read_fields(path, kind, "system file")
    values = {
        name: example for name, example in kind.probe.items() if name != "vector" or preset.embedder
    }
    try:
        _, body = preset.request(values)
    except (TemplateError, TypeError) as error:  # what is undefined has no JSON
        lacks_vector = "vector" in str(preset.params) + preset.body and not preset.embedder
        is_syntax = isinstance(error, TemplateSyntaxError)
        hint = "; a vector needs an embedder" if lacks_vector and not is_syntax else ""
        raise InputError(f"{path}: a template of it cannot be filled: {error}{hint}") from error
    try:
        json.loads(body or b"null")
    except ValueError as error:
        asked = next(iter(values))
        raise InputError(
            f"{path}: body: makes no JSON of a query with quotes ({error}); write {{{{ {asked} | tojson }}}}"
        ) from error
    return preset, path


def at(value: object, path: str) -> object:
    """What stands at a path of a JSON value; None where nothing does."""
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


def _keys(value: object) -> str:
    if not isinstance(value, dict):
        return f"it is a {type(value).__name__}"
    named = list(cast("dict[str, Any]", value))[:10]
    return f"it has {', '.join(named) or 'nothing'}"
