"""The YAML block at the top of a note, and the fields that gigamind reads from it."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import yaml

_OPENING = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)
_NULL = "tag:yaml.org,2002:null"
_NULL_WORDS = re.compile(r"\A(?:~|null|Null|NULL|)\Z")
_DEEPEST = 50  # levels: libyaml composes recursively in C, and 100 000 brackets end the process


class _Loader(yaml.CBaseLoader):
    """Reads every scalar as it is written, whatever its tag, and an empty one or `null` as None.

    The safe loader turns `lang: no` into False and `title: 1.10` into 1.1, dies on `date: 2024-13-45`, and expands
    merge keys without bound.
    """

    yaml_implicit_resolvers: ClassVar = {
        first: [(_NULL, _NULL_WORDS)] for first in ("", "~", "n", "N")
    }


_Loader.add_constructor(_NULL, lambda _loader, _node: None)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands at the top of a note.

    Attributes:
        fields: scalars are strings as written, or None; empty without a usable block.
        body_start: the first code point after the block and after a byte order mark.
        warnings: why a block could not be used, each a sentence without the note's path.
    """

    fields: Mapping[str, object]
    body_start: int
    warnings: tuple[str, ...] = ()


def split(text: str) -> Frontmatter:
    """The frontmatter of a note: a block between `---` lines whose first line is the first of the file."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Frontmatter({}, body_start=1 if text.startswith("\ufeff") else 0)
    try:
        loaded = _load(text[opening.end() : closing.start()])
    except yaml.YAMLError as error:
        return Frontmatter({}, closing.end(), (_broken(error),))
    if loaded is None:
        return Frontmatter({}, closing.end())
    if not isinstance(loaded, dict):
        warning = "the frontmatter is not a mapping and is ignored; write it as `key: value` lines"
        return Frontmatter({}, closing.end(), (warning,))
    fields = {str(key): value for key, value in cast("dict[object, object]", loaded).items()}
    return Frontmatter(fields, closing.end())


def text_field(fields: Mapping[str, object], name: str) -> str:
    """A field's text in NFC, on one line, without white space around it; "" when it is absent, empty, or no text."""
    return _clean(fields.get(name))


def list_field(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    """The texts of a field that may be a list or a single text, in order, without empty ones and repetitions."""
    value = fields.get(name)
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(filter(None, map(_clean, values))))


def _load(block: str) -> object:
    depth = 0
    events = cast("Iterator[object]", yaml.parse(block, Loader=_Loader))  # pyright: ignore[reportUnknownMemberType]
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"nested more than {_DEEPEST} levels deep")
    return yaml.load(block, Loader=_Loader)  # noqa: S506 - builds strings, lists and mappings only


def _broken(error: yaml.YAMLError) -> str:
    problem, place = str(error), ""
    if isinstance(error, yaml.MarkedYAMLError):
        problem = error.problem or problem
        if error.problem_mark is not None:
            place = f" (line {error.problem_mark.line + 2})"
    problem = " ".join(problem.split())
    return (
        f"the frontmatter is not valid YAML{place}: {problem}; it is ignored. "
        'Put quotes around values that hold ": " or start with a bracket'
    )


def _clean(value: object) -> str:
    """A text of several lines is one line: titles and names stand in tables and in lines of a terminal."""
    if not isinstance(value, str):
        return ""
    lines = unicodedata.normalize("NFC", value).splitlines()
    return " ".join(stripped for line in lines if (stripped := line.strip()))
