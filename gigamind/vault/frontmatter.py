"""Read the YAML block at the top of a note, and the fields that gigamind uses."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import yaml

from gigamind.i18n import Message, _

_OPENING = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)
_NULL = "tag:yaml.org,2002:null"
_NULL_WORDS = re.compile(r"\A(?:~|null|Null|NULL|)\Z")
_DEEPEST = 50  # levels: libyaml recurses in C, and 100 000 brackets crash the process


class _Loader(yaml.CBaseLoader):
    """Reads every scalar as written, whatever its tag; an empty one or `null` becomes None.

    The safe loader turns `lang: no` into False and `title: 1.10` into 1.1, fails on `date: 2024-13-45`, and expands
    merge keys without limit.
    """

    yaml_implicit_resolvers: ClassVar = {
        first: [(_NULL, _NULL_WORDS)] for first in ("", "~", "n", "N")
    }


_Loader.add_constructor(_NULL, lambda _loader, _node: None)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The frontmatter of a note."""

    fields: Mapping[str, object]  # scalars as written, or None; empty without a usable block
    body_start: int  # first code point after the block and after a byte order mark
    warnings: tuple[Message, ...] = ()  # why a block could not be used, without the note's path


def split(text: str) -> Frontmatter:
    """Read the frontmatter: a block between `---` lines that starts on the first line of the file."""
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
        warning = _(
            "the frontmatter has no `key: value` structure and is ignored. Write `key: value` lines."
        )
        return Frontmatter({}, closing.end(), (warning,))
    fields = {str(key): value for key, value in cast("dict[object, object]", loaded).items()}
    return Frontmatter(fields, closing.end())


def text_field(fields: Mapping[str, object], name: str) -> str:
    """Return a text in NFC on one line, stripped; "" if the field is absent, empty or not a text."""
    value = fields.get(name)
    if not isinstance(value, str):
        return ""
    lines = unicodedata.normalize("NFC", value).splitlines()
    return " ".join(stripped for line in lines if (stripped := line.strip()))


def list_field(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Return the texts of a list or single-text field, in order, without empty ones and repetitions."""
    value = fields.get(name)
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = (text_field({name: value}, name) for value in values)
    return tuple(dict.fromkeys(filter(None, texts)))


def _load(block: str) -> object:
    depth = 0
    events = cast("Iterator[object]", yaml.parse(block, Loader=_Loader))  # pyright: ignore[reportUnknownMemberType]
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"nested more than {_DEEPEST} levels deep")
    return yaml.load(block, Loader=_Loader)  # noqa: S506 - builds strings, lists and mappings only


def _broken(error: yaml.YAMLError) -> Message:
    problem, mark = str(error), None
    if isinstance(error, yaml.MarkedYAMLError):
        problem, mark = error.problem or problem, error.problem_mark
    problem = " ".join(problem.split())
    if mark is None:
        return _("the frontmatter is not valid YAML and is ignored: {problem}", problem=problem)
    return _(
        "the frontmatter is not valid YAML and is ignored (line {line}): {problem}."
        ' Put quotes around values that contain ": " or start with a bracket.',
        line=mark.line + 2,
        problem=problem,
    )
