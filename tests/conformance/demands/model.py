"""A row: what a document says at some lines, and its proof: a check made here, or a test elsewhere."""

import ast
import atexit
import functools
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal, get_args, get_type_hints

import click
from pydantic import BaseModel
from typing_extensions import is_typeddict

from gigamind.assets import asset
from gigamind.cli.main import cli
from gigamind.library import evaluate_search

TESTS = Path(__file__).parents[2]
REQUIRED: Literal["required"] = "required"
"""The default of an option that must be given."""
UNSAID: Literal["unsaid"] = "unsaid"
"""The default of an option that its document says none of."""


@dataclass(frozen=True, slots=True)
class Option:
    """A command, such as "eval search", has this option, with this default and at least these choices."""

    command: str
    flag: str
    default: object = UNSAID
    choices: tuple[str, ...] = ()

    def check(self) -> None:
        option = _option(self.command, self.flag)
        if self.default == REQUIRED:
            assert option.required, f"{self.command} {self.flag} may be left out"
        elif self.default != UNSAID:
            default = option.to_info_dict()["default"]
            if option.is_flag and default is None:
                default = False
            assert default == self.default, f"{self.command} {self.flag}: {default!r}"
        known = option.type.choices if isinstance(option.type, click.Choice) else ()
        assert set(self.choices) <= set(known), f"{self.command} {self.flag} takes {known}"


def _option(command: str, flag: str) -> click.Option:
    found: click.Command = cli
    for name in command.split():
        assert isinstance(found, click.Group), f"{command}: no such command"
        below = found.get_command(click.Context(found), name)
        assert below is not None, f"{command}: no such command"
        found = below
    for option in found.params:
        if isinstance(option, click.Option) and flag in {*option.opts, *option.secondary_opts}:
            return option
    raise AssertionError(f"{command} has no {flag}")


@dataclass(frozen=True, slots=True)
class Field:
    """A model of a file, a row or a value has this field, such as "environment.git_commit"; so has a real value."""

    model: Any
    path: str

    def check(self) -> None:
        models = [self.model]
        for name in self.path.split("."):
            types = [found[name] for model in models if name in (found := _fields(model))]
            assert types, f"{self.model.__name__} has no {self.path}"
            models = [model for kind in types for model in _models(kind)]
        if place := _REAL.get(self.model.__name__):
            file, above = place
            _has(_real_run() / file, above + self.path)


# Where the folder of a run has a value of a model.
_REAL = {
    "EvalSnapshot": ("snapshot.json", ""),
    "Environment": ("snapshot.json", "environment."),
    "RunReport": ("run.json", ""),
    "SummaryReport": ("summary.json", ""),
    "HitReport": ("per_item.jsonl", "ranking.0."),
}


@functools.cache
def _real_run() -> Path:
    """The folder of a search run over the examples."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    examples, out = asset("examples"), folder / "out"
    evaluate_search(
        examples / "queries.jsonl",
        examples / "vault",
        out=out,
        mode="keyword",
        sample="4",
        speed_passes=0,
        save_snapshot=True,
    )
    return out


def _has(file: Path, path: str) -> None:
    """A file has a value at this path; of JSON Lines the first line."""
    text = file.read_text("utf-8")
    value = json.loads(text.partition("\n")[0] if file.suffix == ".jsonl" else text)
    for name in path.split("."):
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        key = int(name) if isinstance(value, list) else name
        assert key in parts, f"{file.name} has no {path}"
        value = parts[key]


def _fields(model: Any) -> dict[str, Any]:
    """Types of a model's fields by their names, and by the names that they have in JSON."""
    if is_typeddict(model):
        return get_type_hints(model)
    if is_dataclass(model):
        return {field.name: field.type for field in fields(model)}
    return {
        name: field.annotation
        for own, field in model.model_fields.items()
        for name in {own, field.alias or own}
    }


def _models(kind: Any) -> Iterator[Any]:
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    if is_model or is_typeddict(kind) or is_dataclass(kind):
        yield kind
    else:
        for part in get_args(kind):
            yield from _models(part)


@dataclass(frozen=True, slots=True)
class Written:
    """A golden file, which the tests hold runs against, has a value at this path; of JSONL the first line."""

    file: str
    path: str

    def check(self) -> None:
        _has(TESTS / "data/golden" / self.file, self.path)


@dataclass(frozen=True, slots=True)
class Equal:
    """What the code gives is what the document says; a float to nine digits."""

    given: Callable[[], object]
    expected: object

    def check(self) -> None:
        given = self.given()
        if isinstance(given, float) and isinstance(self.expected, float):
            given = round(given, 9)
        assert given == self.expected, f"{given!r} is not {self.expected!r}"


@dataclass(frozen=True, slots=True)
class Test:
    """A test shows it: its file below `tests/`, and its function.  Whether it passed, named_tests.py asks."""

    id: str

    __test__ = False

    def check(self) -> None:
        file, _, name = self.id.partition("::")
        is_there = (TESTS / file).is_file() and name in _functions(TESTS / file)
        assert is_there, f"there is no test {self.id}"


@functools.cache
def _functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_bytes())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@dataclass(frozen=True, slots=True)
class Repeats:
    """The document says here what another one says at that line, which has its own row."""

    document: str
    line: int


Proof = Option | Field | Written | Equal | Test | Repeats


@dataclass(frozen=True, slots=True)
class Row:
    """One demand.

    Attributes:
        lines: of the document, from 1.
        says: a short quote of it.
        proofs: none if docs/conformance.md says instead what is here, and why.
    """

    lines: tuple[int, ...]
    says: str
    proofs: tuple[Proof, ...]


def row(lines: int | tuple[int, ...], says: str, *proofs: Proof | str) -> Row:
    """A demand of the document; a proof that is a text is the id of a test."""
    found = tuple(Test(proof) if isinstance(proof, str) else proof for proof in proofs)
    return Row((lines,) if isinstance(lines, int) else lines, says, found)


def shown(table: str) -> Iterator[Row]:
    """Demands that tests alone prove; each line has lines of the document, its quote, and the ids of the tests."""
    for line in table.strip().splitlines():
        lines, *parts = line.strip().split(" | ")
        ranges = (part.partition("-") for part in lines.split(", "))
        numbers = (range(int(first), int(last or first) + 1) for first, _, last in ranges)
        says = " | ".join(part for part in parts if "::" not in part)
        yield row(tuple(chain(*numbers)), says, *(part for part in parts if "::" in part))


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of a part of a document, such as "2"."""

    document: str
    part: str
    rows: tuple[Row, ...]
