"""Check that English text is plain: `python tools/plain_language.py [--commits]`; exit code 1 if anything is not.

Forbidden words (dialect and metaphors) are refused in catalogues, docs and docstrings; sentences of more than 30 words
in catalogues and the README; with --commits, subjects of more than 60 characters since COMMITS_SINCE.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from catalogue import template
from compile_catalogues import forms

ROOT = Path(__file__).parent.parent
FORBIDDEN = re.compile(
    r"\b(told|tells|telling|stands?|stood|mend(?:s|ed|ing)?|anew|surely|besides|likewise|by and by|to be had|flattery|"
    r"flattered|hold(?:s|ing)? (?:against|what|whatever)|held against|goes? on with|gone on with|as it is|is what|"
    r"talk(?:s|ed)? round|cure[sd]?|of people|those of|of others|nobody|at hand|at worst|its like|of one's own|such a|"
    r"said of|asked anew|once more|lies|liars?|seats?|lanes?|whatever it)\b(?!:)",  # "told:" names a field
    re.IGNORECASE,
)
LONGEST_SENTENCE = 30  # words
LONGEST_SUBJECT = 60  # characters
COMMITS_SINCE = "69bbc019"  # earlier subjects are history
GENERATED = {"conformance.md", "metrics.md"}
_SENTENCE_END = re.compile(
    r"(?<=[.!?:;])\s+(?=[A-Z`\"(])|\n\s*\n|\n\s*[-*|>#]|\n\s+(?=[a-z_][a-z_, ]*: )"
)
_HANGUL = re.compile("[가-힣]")
_FEWEST_WORDS = 4  # what is shorter is a label


def sentences(text: str) -> Iterator[str]:
    """Yield the English sentences of Markdown or a docstring, without code."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "CODE", text)
    for part in _SENTENCE_END.split(text):
        sentence = " ".join(part.split())
        if len(sentence.split()) >= _FEWEST_WORDS and not _HANGUL.search(sentence):
            yield sentence


def texts() -> Iterator[tuple[str, str, bool]]:
    """Yield each text with its place, and whether the length of its sentences is limited."""
    for message in template():
        for text in forms(message.id):
            yield message.locations[0][0] if message.locations else "", text, True
    yield from pages_and_docstrings()


def pages_and_docstrings() -> Iterator[tuple[str, str, bool]]:
    """Yield those of `texts` that are no messages, which take seconds to extract."""
    yield from pages()
    for file in (*ROOT.glob("gigamind/**/*.py"), *ROOT.glob("flows/*.py")):
        for text in docstrings(ast.parse(file.read_text("utf-8"))):
            yield str(file.relative_to(ROOT)), text, False


def pages() -> Iterator[tuple[str, str, bool]]:
    """Yield those of `texts` that are pages."""
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")):
        if ".ko." not in page.name and page.name not in GENERATED:
            yield str(page.relative_to(ROOT)), page.read_text("utf-8"), page == ROOT / "README.md"


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in (tree, *statements(tree)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements inside a node, nested ones included. `ast.walk` visits ten times as many nodes."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def problems() -> Iterator[str]:
    """Yield the forbidden words and the long sentences."""
    for place, text, limited in texts():
        for sentence in sentences(text):
            if word := FORBIDDEN.search(sentence):
                yield f"{place}: {word[0]!r} in {sentence!r}"
            if limited and len(sentence.split()) > LONGEST_SENTENCE:
                yield f"{place}: {len(sentence.split())} words: {sentence!r}"


def long_subjects() -> Iterator[str]:
    """Yield the subjects of commits that are too long; none where the history is not there, as in a shallow clone."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "log",
        "--no-merges",
        "--format=%s",
        f"{COMMITS_SINCE}..HEAD",
    ]
    log = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  fixed words
    for subject in log.stdout.splitlines():
        if len(subject) > LONGEST_SUBJECT:
            yield f"commit: {len(subject)} characters: {subject}"


def main(arguments: list[str]) -> int:
    """Report the problems."""
    found = [*problems(), *(long_subjects() if "--commits" in arguments else ())]
    sys.stdout.writelines(f"{problem}\n" for problem in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
