"""The tool of the catalogues: `python tools/catalogue.py COMMAND [LANGUAGE or PATH]`.

update [LANGUAGE]   merge what the code says; a reworded message keeps its translation, marked fuzzy
keep [LANGUAGE]     the same, not marked fuzzy: for rewrites whose translation is still right
check               report what is wrong, or missing in a complete language; exit code 1 if anything is
missing [PATH]      list messages of files below PATH that have no translation
"""

import ast
import inspect
import io
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from babel.messages import extract, pofile
from babel.messages.catalog import Catalog
from compile_catalogues import OF_SCRIPTS, compile_catalogue, forms, is_complete, read_catalogue
from jinja2 import Environment, nodes
from jinja2.ext import babel_extract

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gigamind"
LOCALES = PACKAGE / "locales"
# `check` demands all messages of these languages. What others lack is shown in English.
COMPLETE = {"ko"}
KEYWORDS: dict[str, Any] = {"_": None, "N_": None, "n_": (1, 2)}
PAIRS = re.compile(r"은\(는\)|이\(가\)|을\(를\)|과\(와\)|으로\(로\)|이라\(라\)|이었\(였\)")
_SIMILAR = 0.6  # of two wordings of a message, by SequenceMatcher
HELP = {"help", "short_help", "epilog"}
_JS_CALL = re.compile(r"""(?<![\w.$])(?<!function )(?:_|n_)\((?!\w+, \w+\) =>)(?=(\s*["'])?)""")
# The keys of locales/<language>.json, which the project's specification names, and their English ids.
SPECIFIED = {
    "qaCorrectness": "Correctness",
    "qaUtility": "Utility",
    "qaConfidenceHigh": "High confidence in the answer",
    "qaConfidenceMedium": "Medium confidence in the answer",
    "qaConfidenceLow": "Low confidence in the answer",
    "qaSourceCoverage": "Use of sources",
    "qaSourceCited": "Cited in the answer",
    "qaSourceNotCited": "Not cited in the answer",
    "qaGroundingIssues": "Grounding issues",
    "qaNoIssues": "No grounding issues",
}
_HEADERS = (
    rb'(?m)^"(POT-Creation-Date|PO-Revision-Date|Project-Id-Version|Report-Msgid-Bugs-To|'
    rb"Last-Translator|Language-Team|MIME-Version|Generated-By): .*\n"
)


def extract_python(file: Any, keywords: Any, tags: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Yield the messages of a Python file, those of its errors, and its help texts by paragraph."""
    source: bytes = file.read()
    yield from extract.extract_python(io.BytesIO(source), keywords, tags, options)
    tree = ast.parse(source)
    for call in filter(None, map(_message_of_error, ast.walk(tree))):
        if call.keywords and _is_text(call.args[0]):
            yield call.lineno, "_", call.args[0].value, []
    for node in _help_texts(tree, re.compile(options.get("options", "$^"))):
        for paragraph in inspect.cleandoc(str(node.value)).split("\n\n"):
            yield node.lineno, "_", " ".join(paragraph.split()), ["help"]


def _message_of_error(node: Any) -> Any:
    """Return a call with the text and values of an error that a node creates; None for any other node."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    args, values = node.args, node.keywords
    if node.func.id == "LlmError":  # it has further arguments
        args, values = args[:1], [one for one in values if one.arg not in {"may_cost", None}]
    if not node.func.id.endswith("Error") or len(args) != 1 or isinstance(args[0], ast.Starred):
        return None
    return ast.copy_location(ast.Call(node.func, args, values), node)


def _help_texts(tree: ast.Module, options: re.Pattern[str]) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        texts: list[Any] = []
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            decorators = {
                ast.unparse(of).partition("(")[0].rpartition(".")[2] for of in node.decorator_list
            }
            if {"command", "group"} & decorators and isinstance(node.body[0], ast.Expr):
                texts = [node.body[0].value]
        elif isinstance(node, ast.Call):
            texts = [keyword.value for keyword in node.keywords if keyword.arg in HELP]
        elif isinstance(node, ast.ClassDef) and options.search(node.name):
            calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
            texts = [k.value for call in calls for k in call.keywords if k.arg == "description"]
        yield from filter(_is_text, texts)


def _is_text(node: Any) -> bool:
    constant = isinstance(node, ast.Constant | nodes.Const)
    return constant and isinstance(node.value, str) and bool(node.value)


def extract_jinja(file: Any, keywords: Any, tags: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Yield the messages of a template."""
    source: bytes = file.read()
    yield from babel_extract(io.BytesIO(source), list(keywords), tags, options)
    yield from extract_html(io.BytesIO(source), keywords, tags, options)


def extract_html(file: Any, keywords: Any, tags: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Yield the English ids in the attributes data-word and data-label, which a script shows."""
    del keywords, tags, options
    for match in re.finditer(r'data-(?:word|label)="([^"{]+)"', file.read().decode()):
        yield 1, "_", match[1], [OF_SCRIPTS]


@cache
def template() -> Catalog:
    """Return the messages of the code."""
    catalog = Catalog()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for mapping in project["tool"]["babel"]["mappings"]:
        pattern, method = mapping.pop("pattern"), mapping.pop("method")
        found = extract.extract_from_dir(ROOT, [(pattern, method)], {pattern: mapping}, KEYWORDS)
        for file, line, text, comments, context in found:
            marks = [*comments, OF_SCRIPTS] if file.endswith(".js") else comments
            catalog.add(text, None, [(file, line)], auto_comments=marks, context=context)
    return catalog


def _po(language: str) -> Path:
    return LOCALES / language / "LC_MESSAGES" / "gigamind.po"


def read(language: str) -> Catalog:
    """Return the catalogue of a language."""
    return read_catalogue(_po(language), language)


def write_specified(language: str) -> None:
    """Write locales/<language>.json from the catalogue."""
    texts = {str(text.id): str(text.string) for text in read(language) if is_complete(text)}
    words = {name: texts.get(text, text) for name, text in SPECIFIED.items()}
    content = json.dumps({"ai": words}, ensure_ascii=False, indent=2)
    (LOCALES / f"{language}.json").write_text(f"{content}\n", "utf-8")


def content(catalog: Catalog) -> bytes:
    """Return a .po of which git shows small changes: sorted, unwrapped, without places in the code or dates."""
    catalog.fuzzy, catalog.header_comment = False, "# Written by `make catalogue`."
    for message in catalog:  # Babel takes "95 % interval" for a %-format
        formats = {"python-format"} | (
            {"python-brace-format"} if "help" in message.auto_comments else set()
        )
        message.flags -= formats
    out = io.BytesIO()
    pofile.write_po(
        out, catalog, width=0, sort_output=True, no_location=True, include_previous=True
    )
    return re.sub(_HEADERS, b"", out.getvalue())


def merged(language: str, *, keep: bool = False) -> Catalog:
    """Return a catalogue with the messages of the code.

    A reworded message takes the translation of the most similar old message with the same places.
    """
    current, known = template(), read(language)
    gone = [m for m in known if m.id and current.get(m.id, m.context) is None]
    for message in [m for m in current if m.id and known.get(m.id, m.context) is None]:
        places = _places(message.id)
        near = {
            SequenceMatcher(None, str(m.id), str(message.id)).ratio(): m
            for m in gone
            if m.string and _places(m.id) == places and m.pluralizable == message.pluralizable
        }
        if near and max(near) >= _SIMILAR:
            best = near[max(near)]
            gone.remove(best)
            flags, previous = (set[str](), ()) if keep else ({"fuzzy"}, best.id)
            known.add(
                message.id, best.string, flags=flags, previous_id=previous, context=message.context
            )
    known.update(current, no_fuzzy_matching=True)
    known.obsolete.clear()  # git keeps them
    return known


def update(language: str, *, keep: bool = False) -> None:
    """Merge the messages of the code into a catalogue, and compile it."""
    catalog = content(merged(language, keep=keep))
    _po(language).parent.mkdir(parents=True, exist_ok=True)
    _po(language).write_bytes(catalog)
    compile_catalogue(_po(language), read(language))
    write_specified(language)


def missing_prompts(language: str) -> Iterator[str]:
    """Yield the prompts of judges and generators that a language lacks; a judge in it needs its own prompts."""
    for english in sorted(ROOT.glob("prompts/*/v*/en.jinja")):
        if not english.with_stem(language).is_file():
            yield f"prompt to write: {english.with_stem(language).relative_to(ROOT)} (from en.jinja)"


def missing(language: str, below: str = "") -> Iterator[str]:
    """Yield the messages of files below a path that have no translation."""
    known = read(language)
    for message in (m for m in template() if m.id):
        translated = known.get(message.id, message.context)
        files = sorted({str(file) for file, _line in message.locations})
        if any(file.startswith(below) for file in files) and not (
            translated and is_complete(translated)
        ):
            yield f"{language}: missing or fuzzy: {message.id!r} ({', '.join(files)})"


def problems(language: str) -> Iterator[str]:
    """Yield what keeps a catalogue from being safe, up to date and, if it must be, complete."""
    if content(merged(language)) != _po(language).read_bytes():
        yield f"{language}: not up to date: run `make catalogue`"
    if language in COMPLETE:
        yield from missing(language)
    current = template()
    for message in (m for m in read(language) if m.id):
        here = current.get(message.id, message.context)
        if here is None or "help" in here.auto_comments:
            continue
        wanted = _places(message.id)
        for form in filter(None, forms(message.string)):
            if _places(form) not in (
                wanted,
                wanted - {"n"},
            ):  # the form for one may leave the number out
                yield f"{language}: places: {message.id!r} -> {form!r}"
            if PAIRS.search(form) and any(
                str(file).endswith(".js") for file, _line in here.locations
            ):
                yield f"{language}: the script of a page cannot choose a particle: {form!r}"


def _places(text: str | Iterable[str]) -> set[str]:
    try:
        parsed = [part for form in forms(text) for part in Formatter().parse(form)]  # type: ignore[arg-type]
        return {name for _literal, name, _form, _conversion in parsed if name is not None}
    except ValueError:  # braces in an example of help
        return set()


def lint() -> Iterator[str]:
    """Yield calls that Babel leaves out or cuts without a word."""
    for suffix, check in (
        ("py", _python_problems),
        ("jinja", _jinja_problems),
        ("js", _js_problems),
    ):
        for path in sorted(PACKAGE.rglob(f"*.{suffix}")):
            yield from (
                f"{path.relative_to(ROOT)}{problem}" for problem in check(path.read_text("utf-8"))
            )


def _python_problems(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    errors = {a.name for of in imports if of.module == "gigamind.errors" for a in of.names}
    names = {alias.name for of in imports if of.module == "gigamind.i18n" for alias in of.names}
    marks = names & KEYWORDS.keys()
    loops = (node.target for node in ast.walk(tree) if isinstance(node, ast.comprehension))
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))
    in_strings = {part for string in strings for part in ast.walk(string)}
    in_loops = {part for target in loops for part in ast.walk(target)}  # a scope of their own
    for node in ast.walk(tree):
        at = f":{getattr(node, 'lineno', 0)}"
        bound = node.arg if isinstance(node, ast.arg) else ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in in_loops:
            bound = node.id
        if bound in marks:
            yield f"{at}: {bound} is bound here, which hides the function in the whole scope"
        error = _message_of_error(node)
        if error and error.func.id in errors:
            if _is_text(error.args[0]) and not error.keywords:
                yield f"{at}: a text without values is translated only in _()"
            elif error.keywords:
                yield from (f"{at}: {problem}" for problem in _call_problems(error, "_"))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in marks:
            if node in in_strings:
                yield f"{at}: {node.func.id}() inside an f-string is not extracted"
            yield from (f"{at}: {problem}" for problem in _call_problems(node, node.func.id))


def _jinja_problems(source: str) -> Iterator[str]:
    for call in Environment(autoescape=True).parse(source).find_all(nodes.Call):
        is_mark = isinstance(call.node, nodes.Name) and call.node.name in KEYWORDS
        if is_mark and not all(map(_is_text, call.args)):
            yield f":{call.lineno}: {call.node.name}() takes literal text"


def _js_problems(source: str) -> Iterator[str]:
    calls = [*_JS_CALL.finditer(source)]
    options = {"parse_template_string": True}
    file = io.BytesIO(source.encode())
    found = [*extract.extract("javascript", file, KEYWORDS, options=options)]
    if len(calls) != len(found) or not all(call[1] for call in calls):
        yield (
            f": {len(calls)} calls, Babel finds {len(found)}:"
            " literals only, no _() inside _(), no values inside `${}`"
        )


def _call_problems(call: ast.Call, name: str) -> Iterator[str]:
    if len(call.args) != (1 if name == "_" else 2) or not all(map(_is_text, call.args)):
        yield f"{name}() takes literal text: no f-string, %, +, condition or name"
        return
    given = {str(keyword.arg) for keyword in call.keywords}
    places = _places([a.value for a in call.args[name == "c_" :]])  # type: ignore[attr-defined]
    if "None" not in given and places | {"n"} != given | {"n"}:
        yield f"places {sorted(places)}, values {sorted(given)}"


def languages() -> list[str]:
    """Return the languages that have a catalogue."""
    return sorted(path.parts[-3] for path in LOCALES.glob("*/LC_MESSAGES/*.po"))


def main(command: str, argument: str = "") -> int:
    """Run one command."""
    if command in {"update", "keep"}:
        for language in [argument] if argument else languages():
            update(language, keep=command == "keep")
            write_specified("en")
            left = len([*missing(language)])
            report = f"{_po(language).relative_to(ROOT)}: {left} messages to translate"
            sys.stdout.writelines(f"{line}\n" for line in (report, *missing_prompts(language)))
        return 0
    if command == "missing":
        found = [problem for language in languages() for problem in missing(language, argument)]
    else:
        found = [*lint(), *(problem for language in languages() for problem in problems(language))]
        for language in set(languages()) - COMPLETE:
            left = len([*missing(language)])
            sys.stdout.write(f"{language}: {left} messages are shown in English\n")
    sys.stdout.writelines(f"{problem}\n" for problem in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
