"""Loads judges by their kinds, from a file, by an included judge's name or from a custom class; writes judge files."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from gigamind.choices import PromptLanguage
from gigamind.datasets.write import write_lines
from gigamind.errors import InputError
from gigamind.judges.own import OwnJudge
from gigamind.judges.protocol import Judge
from gigamind.judges.search_qa.by_nli import load_nli
from gigamind.judges.search_qa.by_words import WordsJudge, WordsJudgeFile
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.judges.spec import JudgeFile, kind_of, read_judge_file
from gigamind.judges.unanswerable import UnanswerableJudge, load_question_judge
from gigamind.judges.unanswerable_llm import ModelJudge
from gigamind.loading import file_named, imported

_ENTRY_POINTS = "gigamind.judges"
NLI = "nli:"
"""Prefix of a model of entailment, a folder or an id, for the included judge of kind `nli`."""
_Load = Callable[[Path, PromptLanguage], Judge[Any, Any]]
OF_ANSWERS: Mapping[str, _Load] = {
    "search_qa": SearchQA.load,
    "words": lambda path, _language: WordsJudge(read_judge_file(path, WordsJudgeFile)),
    "nli": lambda path, _language: load_nli(path),
}
"""Judges of answers that come with gigamind, by the kind of their file."""
_ALL: Mapping[str, _Load] = {"llm": ModelJudge.load, **OF_ANSWERS}


def load_judge(
    name: str | Path, language: PromptLanguage = "auto", kinds: Mapping[str, _Load] = _ALL
) -> Judge[Any, Any]:
    """Return a judge of one of these kinds, or of a custom class.

    `name` is a judge file, an included judge such as "search_qa", "module:Class", or "nli:" and the folder of a model.
    A class also has the name of its entry point (`gigamind.judges`), or of its module in this package, if it is alone
    there. Raises InputError if there is none, or it cannot be used.
    """
    own = _own_class(str(name))
    if own is not None:
        return own(language)
    path = judge_file(str(name))
    kind = kind_of(path, kinds)
    if str(name).startswith(NLI):
        return load_nli(path, str(name).removeprefix(NLI))
    return kinds[kind](path, language)


def load_any_judge(
    name: str | Path, language: PromptLanguage = "auto"
) -> "Judge[Any, Any] | UnanswerableJudge":
    """Return a judge of any kind, with or without a model; raises InputError as `load_judge` does."""
    if _own_class(str(name)) is None and kind_of(path := judge_file(str(name))) not in _ALL:
        return load_question_judge(path, language)
    return load_judge(name, language)


def judge_place(name: str) -> Path:
    """Return the file of a judge, or the name of a class or of nli:MODEL; raises InputError as `load_judge`."""
    return Path(name) if name.startswith(NLI) or _own_class(name) else judge_file(name)


def judge_file(name: str) -> Path:
    """Return the judge file with this path, or the included one with this name ("x"); InputError if there is none."""
    return file_named("nli" if name.startswith(NLI) else name, "judges", "JUDGE")


def _own_class(name: str) -> type[OwnJudge] | None:
    """Return the custom judge class with this name; None for the name of a file."""
    if name.startswith(NLI) or Path(name).is_file():
        return None
    installed = entry_points(group=_ENTRY_POINTS, name=name)
    if not installed and ":" not in name:
        module = f"{__package__}.{name}"
        if name.isidentifier() and find_spec(module):
            import_module(module)
        classes = [one for one in OwnJudge.__subclasses__() if one.__module__ == module]
        return classes[0] if len(classes) == 1 else None
    try:
        given = next(iter(installed)).load() if installed else imported(*name.split(":", 1))
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            "--judge {name} cannot be imported: {reason}. The judge's Python module must be in the current folder,"
            " on PYTHONPATH or installed.",
            name=name,
            reason=str(error),
        ) from error
    if not (isinstance(given, type) and issubclass(given, OwnJudge)):
        raise InputError(
            "--judge {name}: this class must be a subclass of gigamind.OwnJudge.", name=name
        )
    return given


def write_judge_file(path: Path, file: JudgeFile, about: Sequence[str] = ()) -> None:
    """Write a judge file, with `about` as its comment, which reads back equal; raise EvaluationError if impossible."""
    comment = [f"# {line}".rstrip() for line in about]
    fields = file.model_dump(exclude_none=True).items()
    write_lines(
        path, [*comment, *(f"{name} = {_toml(value, wrap=True)}" for name, value in fields)]
    )


def _toml(value: object, *, wrap: bool = False) -> str:
    """Return a value in TOML; with `wrap`, each element of an array is on a line of its own."""
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value).items()
        return f"{{ {', '.join(f'{name} = {_toml(one)}' for name, one in fields)} }}"
    if isinstance(value, tuple | list):
        rows = [_toml(one) for one in cast("Sequence[object]", value)]
        return "[\n  " + ",\n  ".join(rows) + ",\n]" if wrap and rows else f"[{', '.join(rows)}]"
    return repr(value)  # the shortest digits that are read back as the same float
