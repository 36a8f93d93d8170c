"""Read the YAML or TOML block at the top of a note, and the fields that gigamind uses."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import yaml

from gigamind.i18n import Message, _

_OPENING = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)
_TOML = re.compile(
    r"\A\ufeff?\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\r?\Z)", re.DOTALL | re.MULTILINE
)
_ALIASES = frozenset({"alias", "aliases"})
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
class _Frontmatter:
    """The frontmatter of a note."""

    fields: Mapping[str, object]  # scalars as written, or None; empty without a usable block
    body_start: int  # first code point after the block and after a byte order mark
    warnings: tuple[Message, ...] = ()  # why a block could not be used, without the note's path


def split(text: str) -> _Frontmatter:
    """Read the frontmatter, which starts on the first line of the file: YAML between `---`, or TOML between `+++`."""
    if toml := _TOML.match(text):
        return _toml(toml)
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return _Frontmatter({}, body_start=1 if text.startswith("\ufeff") else 0)
    try:
        loaded, twice = _load(text[opening.end() : closing.start()])
    except yaml.YAMLError as error:
        return _Frontmatter({}, closing.end(), (_broken(error),))
    if loaded is None:
        return _Frontmatter({}, closing.end())
    if not isinstance(loaded, dict):
        warning = _(
            "the frontmatter has no `key: value` structure and is ignored. Write `key: value` lines."
        )
        return _Frontmatter({}, closing.end(), (warning,))
    fields = {str(key): value for key, value in cast("dict[object, object]", loaded).items()}
    warnings = [
        _("the frontmatter has the key {key} more than once. The last one counts.", key=key)
        for key in twice
    ]
    return _Frontmatter(fields, closing.end(), tuple(warnings))


def _toml(block: re.Match[str]) -> _Frontmatter:
    try:
        return _Frontmatter(tomllib.loads(block[1].replace("\r\n", "\n")), block.end())
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error)
        warning = _("the frontmatter is not valid TOML and is ignored: {reason}", reason=reason)
        return _Frontmatter({}, block.end(), (warning,))


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


def aliases(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the other names of a note as Obsidian reads them: `aliases` or `alias`, a list or a text with commas."""
    found: list[str] = []
    for name in fields:
        if name.casefold() in _ALIASES:
            own = list_field(fields, name)
            found += own if isinstance(fields[name], list) else ",".join(own).split(",")
    return tuple(dict.fromkeys(filter(None, (alias.strip() for alias in found))))


def texts(value: object) -> Iterator[str]:
    """Yield every text in a field, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from texts(part)
    elif isinstance(value, Mapping):
        for part in cast("Mapping[object, object]", value).values():
            yield from texts(part)


def _load(block: str) -> tuple[object, list[str]]:
    """Return the content of a block, and its keys that occur more than once."""
    depth = 0
    events = cast("Iterator[object]", yaml.parse(block, Loader=_Loader))  # pyright: ignore[reportUnknownMemberType]
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"nested more than {_DEEPEST} levels deep")
    loader = _Loader(block)
    try:
        root = loader.get_single_node()
        keys = (
            [key.value for key, _value in root.value] if isinstance(root, yaml.MappingNode) else []
        )
        twice = [key for key, count in Counter(map(str, keys)).items() if count > 1]
        read = cast("Callable[[object], object]", loader.construct_document)  # pyright: ignore[reportUnknownMemberType]
        return read(root) if root else None, twice
    finally:
        loader.dispose()


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
