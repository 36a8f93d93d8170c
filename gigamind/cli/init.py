"""`gigamind init`: writes gigamind.toml from three answers."""

import json
import sys
from pathlib import Path
from typing import cast, get_args

import click

from gigamind.cli.command import command
from gigamind.cli.config import FILE
from gigamind.cli.errors import translated
from gigamind.cli.output import prints_json, tell_written
from gigamind.errors import InputError
from gigamind.wording import LanguageChoice, language_of

_HEAD = """# Options of gigamind, for commands that are called in this folder or below it. A table has the name of a
# command, and may hold any of its options (gigamind eval search --help-all). What the command line says counts
# first, then the environment (GIGAMIND_EVAL_SEARCH_TOPK=5), then this file. Paths are relative to its folder.
"""


@command(
    examples=("gigamind init", "gigamind init --notes vault --dataset queries.jsonl --lang ko"),
    configured=False,
    epilog="Exit codes: 0 file written; 1 invalid input, or gigamind.toml already exists.",
)
@click.option("--notes", metavar="FOLDER", help="the vault (folder of Markdown notes)")
@click.option("--dataset", metavar="FILE", help="queries, one JSON object per line")
@click.option("--lang", type=click.Choice(get_args(LanguageChoice)), help="language of the reports")
@prints_json
def init(*, notes: str | None, dataset: str | None, lang: str | None) -> None:
    """Create gigamind.toml in this folder so that daily commands need no options.

    Asks up to three questions, for the options that are not given.
    """
    path = Path(FILE)
    if path.exists():
        raise InputError(f"{FILE}: is there already. Edit it, or remove it first.")
    if None in {notes, dataset, lang} and not sys.stdin.isatty():
        raise InputError(
            "nobody can be asked, as there is no terminal: give --notes, --dataset and --lang"
        )
    notes = notes or _asked("Where are the notes?", "vault" if Path("vault").is_dir() else ".")
    dataset = dataset or _asked("Where are the questions?", "queries.jsonl")
    lang = lang or _asked("Reports in which language (en, ko, auto)?", language_of())
    if not Path(notes).is_dir():
        raise InputError(f"--notes {notes}: is no folder. Give that of the Markdown notes.")
    if lang not in get_args(LanguageChoice):
        raise InputError(f"--lang {lang}: must be en, ko or auto")
    path.write_text(config_text(notes, dataset, cast("LanguageChoice", lang)), encoding="utf-8")
    tell_written(path, {"options": 4}, f"Written: {FILE}\n{_following(notes, Path(dataset))}")


def config_text(notes: str, dataset: str, lang: LanguageChoice) -> str:
    """The text of gigamind.toml."""
    folder, file = (_quoted(path) for path in (notes, dataset))
    return (
        f'{_HEAD}\n[search]\nnotes = {folder}\ndataset = {file}\nlang = "{lang}"\n'
        f"\n[suggest-links]\nnotes = {folder}\n"
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML is written alike


def _asked(question: str, usual: str) -> str:
    return str(click.prompt(translated(question), default=usual, err=True)).strip()


def _following(notes: str, dataset: Path) -> str:
    if dataset.is_file():
        return "Next: gigamind eval search"
    return (
        f"{dataset} is not there yet. Write it, one question a line, or have it made for review:\n"
        f"  gigamind eval generate-queries --notes {notes} --out {dataset}\n"
        "Next: gigamind eval search"
    )
