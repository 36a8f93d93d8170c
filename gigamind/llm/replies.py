"""What replies of models have in common: bounds that a grammar holds, and fields that a verdict can do without.

Small models write `"confidence": 100`, forget a summary or add a field; none of it may cost a verdict.  What cannot be
read of such a field is dropped and counted; what a verdict needs is still asked for once more, then an error.
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

UNKNOWN = "unknown field"
"""What a field that nobody asked for is counted as: its name is the model's own, and may be anything."""
_MOST_COUNTED = 1_000  # fields of one reply


@dataclass(frozen=True, slots=True)
class Most:
    """How many characters a string may have, or rows a list: told by the schema, so that a grammar ends.

    What is auxiliary and longer is cut; what a verdict needs is kept as it came.

    Attributes:
        kept: so is this, auxiliary or not: a quote that was cut proves nothing.
    """

    length: int
    kept: bool = False

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        made = handler(schema)
        return {**made, "maxLength" if made["type"] == "string" else "maxItems": self.length}


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """Marks a field that a verdict can do without, and what stands there where it cannot be read."""

    instead: object = None


QUOTED = Most(600, kept=True)
Quotation = Annotated[str, QUOTED]
"""A quote; prompts ask for 300 characters at most, and what is longer is looked for all the same."""


class ModelReply(BaseModel, extra="forbid", frozen=True):
    """What a model answers; its field descriptions are prompt text.

    Read leniently, whatever the schema asks for: a field marked `Auxiliary` that is missing or wrong, a row of a list
    that cannot be read among others that can, and a field that nobody asked for, are dropped and counted.

    Attributes:
        unread_fields: names of what was dropped or cut of this reply itself, one for each time; see `unread_in`.
    """

    unread_fields: SkipJsonSchema[tuple[str, ...]] = Field(
        default=(), exclude_if=lambda lost: not lost
    )

    @classmethod
    def told_fields(cls) -> AbstractSet[str]:
        """Names of the fields that a model is told."""
        return cls.model_fields.keys() - {"unread_fields"}

    @classmethod
    def model_validate_json(
        cls,
        json_data: str | bytes | bytearray,
        **given: Any,  # noqa: ANN401  as pydantic takes it
    ) -> Self:
        """The same of JSON text; never strictly, as instructor would: a number may stand in quotes."""
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
                if not draft.is_mended(error):
                    raise


@dataclass(slots=True)
class _Draft:
    """The values of a reply, and what was dropped of them.

    Attributes:
        fields: by the names that the model was told.
    """

    fields: Mapping[str, FieldInfo]
    values: dict[str, Any]
    lost: list[str]

    @classmethod
    def of(cls, reply: type[ModelReply], given: Mapping[str, Any]) -> "_Draft":
        """Those of a reply, without what nobody asked for, and without what is too long."""
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
        draft = cls(fields, values, [UNKNOWN for name in given if name not in names])
        if isinstance(before, list | tuple):  # read again, such as from the store
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

    def is_mended(self, error: ValidationError) -> bool:
        """Drop what an error is about; False, and nothing is dropped, where a verdict needs some of it."""
        bad_rows: dict[str, set[int]] = {}
        bad_fields: dict[str, None] = {}  # in their order
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
                bad_fields[name] = None  # nothing of it can be read
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


Mark = TypeVar("Mark", Auxiliary, Most)


def _mark(field: FieldInfo, kind: type[Mark]) -> Mark | None:
    return next((mark for mark in field.metadata if isinstance(mark, kind)), None)


def unread_in(reply: BaseModel) -> Counter[str]:
    """What could not be read of a reply, by field, those of rows as `list.field`."""
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
"""The middle of what each stands for, where a figure needs a number: below .5, below .8, and from there to 1."""
_WORDS: Mapping[str, Confidence] = {
    **dict.fromkeys(("low", "낮음", "낮다", "하"), "low"),
    **dict.fromkeys(("medium", "mid", "moderate", "중간", "보통", "중"), "medium"),
    **dict.fromkeys(("high", "높음", "높다", "상"), "high"),
}
_MEDIUM, _HIGH = 0.5, 0.8  # from where on
_LEAST_PERCENTAGE = 10  # what lies between 1 and it may be of a scale up to 5 or 10: nobody knows


def share_of(given: object) -> float:
    """A number that was meant as a share, in [0, 1]: up to 1 it is one, above 10 and with a `%` a percentage.

    Raises:
        ValueError: it is none, or between 1 and 10, where it could be of any scale.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError("a number from 0 to 1 is asked for")  # noqa: TRY004  pydantic reads ValueError alone
    text = str(given).strip().replace("％", "%")
    number = float(text.removesuffix("%"))
    if 0 <= number <= 1 and not text.endswith("%"):
        return number
    if 0 <= number <= 100 and (text.endswith("%") or number > _LEAST_PERCENTAGE):  # noqa: PLR2004  percent
        return number / 100
    raise ValueError("neither a share from 0 to 1, nor a percentage above 10")


def confidence_of(given: object) -> Confidence:
    """A confidence in any words or numbers that models use: below .5 low, below .8 medium, else high.

    Raises:
        ValueError: it says none of it.
    """
    if isinstance(given, str) and (word := given.strip(" .\"'\n").casefold()) in _WORDS:
        return _WORDS[word]
    share = share_of(given)
    if share >= _HIGH:
        return "high"
    return "medium" if share >= _MEDIUM else "low"


ToldConfidence = Annotated[Confidence, BeforeValidator(confidence_of)]
"""A confidence as a model tells it."""
ToldShare = Annotated[float, Field(ge=0, le=1), BeforeValidator(share_of)]
"""A share as a model tells it: no grammar holds the bounds of a number."""
