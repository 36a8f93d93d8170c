"""Common parts of model replies: bounds that a grammar can enforce, and fields that a verdict does not need.

Small models write `"confidence": 100`, omit a summary or add a field; none of this should cost a verdict.  Such fields
are dropped and counted if they are invalid.  For a field that the verdict needs, the reply is requested again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core import CoreSchema

from gigamind.i18n import _

_UNKNOWN = "unknown field"
"""Counter name of unrequested fields, whose own names come from the model and can be anything."""
_MOST_COUNTED = 1_000  # fields of one reply


@dataclass(frozen=True, slots=True)
class Most:
    """Maximum length of a string or list, part of the schema so that generation by a grammar ends.

    Auxiliary values are truncated to it; values that a verdict needs are not.
    """

    length: int
    kept: bool = False  # never truncated: half a quote proves nothing

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        limited = handler(schema)
        name = "maxLength" if limited["type"] == "string" else "maxItems"
        return {**limited, name: self.length}


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """Marks a field that a verdict does not need, with the value used if it cannot be read."""

    instead: object = None


QUOTED = Most(600, kept=True)
Quotation = Annotated[str, QUOTED]
"""A quote.  Prompts ask for at most 300 characters, but longer quotes are accepted."""


class ModelReply(BaseModel, extra="forbid", frozen=True):
    """The reply of a model; its field descriptions are prompt text.

    Parsing is lenient regardless of the schema.  Dropped and counted are: missing or invalid fields marked `Auxiliary`,
    invalid rows of a list with valid ones, and unrequested fields.

    Attributes:
        unread_fields: Names of dropped or truncated fields of this reply, with repetitions; see `unread_in`.
    """

    unread_fields: SkipJsonSchema[tuple[str, ...]] = Field(
        default=(), exclude_if=lambda lost: not lost
    )

    @classmethod
    def requested_fields(cls) -> AbstractSet[str]:
        """Return the names of the fields that the model is asked for."""
        return cls.model_fields.keys() - {"unread_fields"}

    @classmethod
    def model_validate_json(
        cls,
        json_data: str | bytes | bytearray,
        **given: Any,  # noqa: ANN401  as pydantic takes it
    ) -> Self:
        """Validate JSON text, never in instructor's strict mode: a number can be in quotes."""
        given["strict"] = False
        return super().model_validate_json(json_data, **given)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401  whatever a model sent
        if not isinstance(given, Mapping):
            return validate(given)
        draft = _Draft.of(cls, cast("Mapping[str, Any]", given))
        while True:
            try:
                return validate(draft.values | {"unread_fields": tuple(draft.lost)})
            except ValidationError as error:
                if not draft.drop_invalid(error):
                    raise


@dataclass(slots=True)
class _Draft:
    """The values of a reply, and what was dropped of them."""

    fields: Mapping[str, FieldInfo]  # by the names in the schema for the model
    values: dict[str, Any]
    lost: list[str]

    @classmethod
    def of(cls, reply: type[ModelReply], given: Mapping[str, Any]) -> Self:
        """Return the values of a reply, without unrequested fields and truncated to the limits."""
        fields: dict[str, FieldInfo] = {}
        values: dict[str, Any] = {}
        for name, field in reply.model_fields.items():
            alias = field.alias or name
            fields[alias] = field
            known = next((key for key in (alias, name) if key in given), None)
            if known is not None:
                values[alias] = given[known]
        before = values.pop("unread_fields", ())
        del fields["unread_fields"]
        names = {*reply.model_fields, *fields}
        draft = cls(fields, values, [_UNKNOWN for name in given if name not in names])
        if isinstance(before, list | tuple):  # a reply from the store
            draft.lost += map(str, cast("Sequence[object]", before)[:_MOST_COUNTED])
        draft._fit()
        return draft

    def _fit(self) -> None:
        for name, field in self.fields.items():
            auxiliary, most = _mark(field, Auxiliary), _mark(field, Most)
            if auxiliary is None:
                continue
            if name not in self.values:
                self._drop(name, auxiliary)
            elif most and not most.kept:
                value = cast("Sequence[object]", self.values[name])
                kinds = str if field.annotation is str else (list, tuple)
                if isinstance(value, kinds) and len(value) > most.length:
                    self.values[name] = value[: most.length]
                    self.lost.append(name)

    def drop_invalid(self, error: ValidationError) -> bool:
        """Drop the values that an error is about; return False and drop nothing if a verdict needs one of them."""
        bad_rows: dict[str, set[int]] = {}
        bad_fields: dict[str, None] = {}  # in order
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            place = problem["loc"]
            name = str(place[0]) if place else ""
            row = place[1] if len(place) > 1 else None
            if name in self.values and isinstance(row, int):
                bad_rows.setdefault(name, set()).add(row)
            else:
                bad_fields[name] = None
        for name, rows in bad_rows.items():
            if len(rows) == len(self.values[name]):
                bad_fields[name] = None  # no row is valid
        spare = {
            name: auxiliary
            for name in bad_fields
            if name in self.fields and (auxiliary := _mark(self.fields[name], Auxiliary))
        }
        if len(spare) < len(bad_fields) or any(
            self.values.get(name) == auxiliary.instead for name, auxiliary in spare.items()
        ):
            return False
        for name, auxiliary in spare.items():
            self._drop(name, auxiliary)
        for name, rows in bad_rows.items():
            if name not in bad_fields:
                kept = enumerate(self.values[name])
                self.values[name] = [value for row, value in kept if row not in rows]
                self.lost += [name] * len(rows)
        return True

    def _drop(self, name: str, auxiliary: Auxiliary) -> None:
        self.values[name] = auxiliary.instead
        self.lost.append(name)


_Mark = TypeVar("_Mark", Auxiliary, Most)


def _mark(field: FieldInfo, kind: type[_Mark]) -> _Mark | None:
    return next((mark for mark in field.metadata if isinstance(mark, kind)), None)


def unread_in(reply: BaseModel) -> Counter[str]:
    """Count the values of a reply that could not be read, by field; rows as `list.field`."""
    counts: Counter[str] = Counter()
    if isinstance(reply, ModelReply):
        counts.update(reply.unread_fields)
    for name in type(reply).model_fields:
        for row in _replies(getattr(reply, name)):
            for inner, count in unread_in(row).items():
                counts[f"{name}.{inner}"] += count
    return counts


def _replies(value: object) -> Iterable[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
    elif isinstance(value, list | tuple):
        for row in cast("Sequence[object]", value):
            yield from _replies(row)


Confidence = Literal["low", "medium", "high"]
CONFIDENCE_SHARES: Mapping[Confidence, float] = {"low": 0.25, "medium": 0.65, "high": 0.9}
"""Middle of the range of each level, for figures that need a number: below .5, below .8, and up to 1."""
_WORDS: Mapping[str, Confidence] = {
    **dict.fromkeys(("low", "낮음", "낮다", "하"), "low"),
    **dict.fromkeys(("medium", "mid", "moderate", "중간", "보통", "중"), "medium"),
    **dict.fromkeys(("high", "높음", "높다", "상"), "high"),
}
_MEDIUM, _HIGH = 0.5, 0.8  # lower bounds
_LEAST_PERCENTAGE = 10  # a number between 1 and this can be on a scale up to 5 or 10


def _share_of(given: object) -> float:
    """Return a share in [0, 1]: a number up to 1 unchanged, a number above 10 or with a `%` as a percentage.

    Raises ValueError for anything else, such as a number between 1 and 10, whose scale is unknown.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError(_("must be a number from 0 to 1"))  # noqa: TRY004  pydantic handles only ValueError
    text = str(given).strip().replace("％", "%")
    number = float(text.removesuffix("%"))
    if 0 <= number <= 1 and not text.endswith("%"):
        return number
    if 0 <= number <= 100 and (text.endswith("%") or number > _LEAST_PERCENTAGE):  # noqa: PLR2004  percent
        return number / 100
    raise ValueError(
        _(
            "must be a share from 0 to 1, a percentage with the % sign, or a number above 10 up to 100"
        )
    )


def _confidence_of(given: object) -> Confidence:
    """Return the level of a confidence in words or numbers: below .5 low, below .8 medium; else ValueError."""
    if isinstance(given, str) and (word := given.strip(" .\"'\n").casefold()) in _WORDS:
        return _WORDS[word]
    share = _share_of(given)
    if share >= _HIGH:
        return "high"
    return "medium" if share >= _MEDIUM else "low"


ReportedConfidence = Annotated[Confidence, BeforeValidator(_confidence_of)]
"""A confidence in the words of a model."""
ReportedShare = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share_of)]
"""A share in the notation of a model; grammars cannot enforce bounds of numbers."""
